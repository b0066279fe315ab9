"""A change of layout between ranks of experts, which a derivation puts between operations: no operation that a model has."""

from __future__ import annotations

from bpir.dialects.bp import Work
from bpir.dialects.model.rules.layers import layer_of, origin_of
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import I64, IntegerAttr, StringAttr
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value

BATCH = 0
"""The dimension that ranks of experts share where there are none; `TOKEN_RANK` is that of rows, which lie where their experts do."""


class Exchange(ModelOperation):
    """The same tensor, sharded at another dimension: linear, and its gradient goes back the same way."""

    tensors = "b s k H* -> b s k H*"
    passes_sums = True

    @staticmethod
    def way(operation: Operation) -> tuple[int, int]:
        """The dimensions at which the operand and the result are sharded."""
        ends = [operation.properties[name] for name in ("from", "to")]
        given, taken = (end.value if isinstance(end, IntegerAttr) else 0 for end in ends)
        return given, taken

    def forward(self, local: Local) -> Work:
        operand, result = local.operands[0], local.results[0]
        return Work(ZERO, operand.bytes, result.bytes, operand.bytes)

    def gradient_message(self, local: Local) -> Expr:
        return local.operands[0].bytes


EXCHANGE = Exchange.__new__(Exchange)


def exchange(value: Value, to_experts: bool, layer: str, source: Operation) -> Operation:
    """The exchange of a value, called after an operation of experts that reads or makes it."""
    ends = (BATCH, TOKEN_RANK) if to_experts else (TOKEN_RANK, BATCH)
    properties = {"layer": StringAttr(layer), "from": IntegerAttr(ends[0], I64), "to": IntegerAttr(ends[1], I64)}
    found = Operation("model.all_to_all", [value], properties=properties, span=source.span, declaration=EXCHANGE)
    found.results = [Value(value.type, found, 0, f"{value.name}_moved" if value.name else None)]
    found.attributes["source"] = StringAttr(origin_of(source) or layer_of(source))
    return found
