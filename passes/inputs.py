"""A binding of the file as a derivation uses it, with the options of the pass that override its fields; and what a result keeps."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects import bind
from bpir.dialects.bind import as_expr
from bpir.ir.attributes import Attribute, SymbolRefAttr
from bpir.ir.diagnostic import fail
from bpir.ir.dialect import is_input
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, top_level
from bpir.ir.records import Record


class Binding(metaclass=Record):
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
            kind = self.operation.kind
            raise fail(
                f"{why} needs '{field}': give it in bind.{kind} ({field} = ...) or as the pass option {field}=...",
                self.operation.span,
            )
        return value


def inputs_of(module: Operation, *chosen: Binding) -> list[Operation]:
    """The operations that a result keeps: symbols, numbers and bindings, with the chosen bindings in the place of the written ones."""
    replacing = {(c.operation.name, c.name): c.operation for c in chosen}
    kept = []
    for operation in top_level(module):
        if is_input(operation.name):
            binding = bind.Binding.of(operation)
            key = (operation.name, binding.symbol) if binding is not None else ("", "")
            kept.append(replacing.pop(key, operation))
    return kept + list(replacing.values())
