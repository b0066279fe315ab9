"""What a derivation is given: the workload and the strategy that the file binds, and the options that override their fields."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from bpir.dialects.bind import STRATEGY, WORKLOAD, Field, as_expr, fields_of
from bpir.dialects.bp import ExprAttr
from bpir.ir.attributes import Attribute, StringAttr, SymbolRefAttr, dictionary
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import fail, note, suggestion
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation
from bpir.passes.base import Pass
from bpir.passes.levels import top_level


@attrs.frozen
class Binding:
    """One chosen binding: its symbol, its fields with the pass's options over them, and the operation as the result holds it."""

    name: str
    fields: Mapping[str, Attribute]
    operation: Operation

    @property
    def reference(self) -> SymbolRefAttr:
        return SymbolRefAttr((self.name,))

    def expr(self, field: str, why: str) -> Expr:
        """The expression of a field.

        Raises:
            DiagnosticError: the field is not given; `why` says what needs it.
        """
        value = as_expr(self.fields.get(field))
        if value is None:
            kind = self.operation.name.partition(".")[2]
            raise fail(
                f"{why} needs '{field}': give it in bind.{kind} ({field} = ...) or as the pass option {field}=...",
                self.operation.span,
            )
        return value


def workload(module: Operation, current: Pass, kind: str) -> Binding:
    """The workload of a kind (`inference`, `training`) that the pass is to use."""
    return _choose(module, current, "workload", WORKLOAD, kind)


def strategy(module: Operation, current: Pass) -> Binding:
    """The strategy that the pass is to use."""
    return _choose(module, current, "strategy", STRATEGY, "")


def _choose(module: Operation, current: Pass, what: str, table: tuple[Field, ...], kind: str) -> Binding:
    candidates = [
        operation for operation in top_level(module) if operation.name == f"bind.{what}" and kind in ("", _text(operation, "kind"))
    ]
    wanted = getattr(current, what, None)
    overrides = _overrides(current, table)
    if wanted is not None:
        named = [c for c in candidates if _text(c, "sym_name") == wanted]
        if not named:
            known = [_text(c, "sym_name") for c in candidates]
            raise fail(f"there is no bind.{what} @{wanted}{suggestion(wanted, known)}", current.spans.get(what))
        candidates = named
    if len(candidates) > 1:
        raise fail(
            f"the file has {len(candidates)} candidates for bind.{what}: choose one with the pass option {what}=@NAME",
            candidates[1].span,
            *(note(f"@{_text(c, 'sym_name')} is one of them", c.span) for c in candidates),
        )
    found = candidates[0] if candidates else None
    if found is None and not overrides:
        example = "@decode inference {phase = decode}" if what == "workload" else "@tp {tensor = t}"
        raise fail(
            f"pass '{current.name}' needs a {what}: add 'bind.{what} {example}' to the file, or give its fields as pass options",
            module.span,
        )
    name = _text(found, "sym_name") if found is not None else what
    fields = {**(fields_of(found) if found is not None else {}), **overrides}
    properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "fields": dictionary(fields.items())}
    if kind:
        properties["kind"] = StringAttr(kind)
    span = found.span if found is not None else module.span
    operation = Operation(f"bind.{what}", properties=properties, span=span, declaration=DECLARATIONS[f"bind.{what}"])
    return Binding(name, fields, operation)


def _overrides(current: Pass, table: tuple[Field, ...]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for field in table:
        value = getattr(current, field.name, None)
        if value is None:
            continue
        if isinstance(value, Expr):
            found[field.name] = ExprAttr(value)
        else:
            found[field.name] = StringAttr(str(value).lower() if isinstance(value, bool) else value)
    return found


def _text(operation: Operation, name: str) -> str:
    value = operation.properties.get(name)
    return value.value if isinstance(value, StringAttr) else ""


def inputs_of(module: Operation, *chosen: Binding) -> list[Operation]:
    """The operations that a result keeps: symbols, numbers and bindings, with the chosen bindings in the place of the written ones."""
    replacing = {(c.operation.name, c.name): c.operation for c in chosen}
    kept = []
    for operation in top_level(module):
        if operation.name.partition(".")[0] in ("bp", "bind"):
            kept.append(replacing.pop((operation.name, _text(operation, "sym_name")), operation))
    return kept + list(replacing.values())
