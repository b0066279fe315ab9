"""The operations that `model.transformer_block` stands for: a GPT block (Radford et al. 2019; Brown et al. 2020)."""

from __future__ import annotations

from bpir.dialects.bp import TensorType
from bpir.dialects.model.linear import shape_attribute
from bpir.dialects.model.rules.sizes import feature_dims
from bpir.dialects.model.structure import Block as ModelBlock
from bpir.dialects.model.structure import TransformerBlock
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, UnitAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Block, Operation, Region, Value, clone


def expand(module: Operation) -> Operation:
    """A copy of the module with each macro replaced by its operations; the module itself if it has none."""
    if not any(isinstance(operation.declaration, TransformerBlock) for operation in module.walk()):
        return module
    module = clone(module)
    for operation in module.walk():
        if isinstance(operation.declaration, ModelBlock):
            _expand_block(operation)
    return module


def _expand_block(block: Operation) -> None:
    body = block.regions[0].blocks[0]
    values: dict[Value, Value] = {}
    operations: list[Operation] = []
    for operation in body.operations:
        operation.operands = [values.get(v, v) for v in operation.operands]
        macro = TransformerBlock.of(operation)
        if macro is not None:
            values[operation.results[0]] = _Expansion(macro, operations).block()
        else:
            operations.append(operation)
    block.regions[0] = Region([Block([], operations)], block)
    block.regions[0].blocks[0].arguments = body.arguments
    for argument in body.arguments:
        argument.owner = block.regions[0].blocks[0]


class _Expansion:
    def __init__(self, macro: TransformerBlock, out: list[Operation]) -> None:
        self.macro = macro
        self.out = out

    def block(self) -> Value:
        macro = self.macro
        source = macro.operands[0]
        heads = (macro.heads, macro.head_size)
        assert isinstance(source.type, TensorType)
        hidden = feature_dims(source.type)
        normed = self._one("attention.layer_norm", "layer_norm", source)
        query, key, value = (self._linear(f"attention.{part}", normed, heads) for part in ("query", "key", "value"))
        context = macro.attributes(TransformerBlock.context, TransformerBlock.dropout)
        core = self._add("attention.core", "attention", [query, key, value], context)
        output = self._dropout("attention.output_dropout", self._linear("attention.output_projection", core, hidden))
        middle = self._add("attention.residual", "add", [output, source])
        normed = self._one("mlp.layer_norm", "layer_norm", middle)
        activation = macro.activation or "gelu"
        wide = self._linear("mlp.expand", normed, (macro.feed_forward,))
        wide = self._one(f"mlp.{activation}", activation, wide)
        output = self._dropout("mlp.output_dropout", self._linear("mlp.contract", wide, hidden))
        return self._add("mlp.residual", "add", [output, middle])

    def _linear(self, layer: str, operand: Value, shape: tuple[Expr, ...]) -> Value:
        properties: dict[str, Attribute] = {"features": ArrayAttr((shape_attribute(shape),))}
        if self.macro.bias:
            properties["bias"] = UnitAttr()
        return self._add(layer, "linear", [operand], properties)

    def _dropout(self, layer: str, operand: Value) -> Value:
        return self._one(layer, "dropout", operand) if self.macro.dropout else operand

    def _one(self, layer: str, kind: str, operand: Value) -> Value:
        return self._add(layer, kind, [operand])

    def _add(self, layer: str, kind: str, operands: list[Value], properties: dict[str, Attribute] | None = None) -> Value:
        declaration = DECLARATIONS["model." + kind]
        operation = Operation(
            declaration.name,
            operands,
            properties={"layer": StringAttr(layer), **(properties or {})},
            span=self.macro.span,
            declaration=declaration,
        )
        types = declaration.infer(operation) or []
        operation.results = [Value(t, operation, i) for i, t in enumerate(types)]
        self.out.append(operation)
        return operation.results[0]
