"""Numbers that a user gives for the symbols of a module: `bp-report --bind B=1`, `module.report(B=1)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING

from bpir.ir.diagnostic import Diagnostic, Span, fail, suggestion

if TYPE_CHECKING:
    from bpir.ir.operation import Operation


def check_numbers(values: Mapping[str, int], module: Operation, place: Callable[[str], Span | None]) -> None:
    """Refuse numbers that contradict those of the module, or break what it declares and assumes.

    Args:
        place: where the number of a symbol was written; None for one that the user gives none.

    Raises:
        DiagnosticError: naming every relation that is false.
    """
    if not values:
        return
    from bpir.dialects.bp import symbol_table
    from bpir.passes.bind_symbols import check_relations

    table = symbol_table(module)
    for name, value in values.items():
        if table.bindings.get(name, value) != value:
            raise fail(f"the module binds '{name}' to {table.bindings[name]} already", place(name))
    check_relations(module, {**table.bindings, **values}, place)


def unused(values: Mapping[str, int], symbols: Set[str], spelled: str = "") -> list[Diagnostic]:
    """A warning for each name that is no symbol of a report: a misspelt one would leave its symbol in place without a word.

    Args:
        symbols: those of the report.
        spelled: what is before the name where the user wrote it.
    """
    listed = "; it has " + ", ".join(sorted(symbols)) if symbols else ""
    return [
        Diagnostic(f"{spelled}{name}: no such symbol in the report{suggestion(name, symbols) or listed}", severity="warning")
        for name in values
        if name not in symbols
    ]
