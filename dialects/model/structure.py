"""Blocks: the region that a model is written in, its end, and the macro for a whole Transformer block."""

from __future__ import annotations

from typing import Any

from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.local import tensor_type
from bpir.dialects.model.rules.operation import Expression, ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.dialects.network import Called
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration, Problems
from bpir.ir.diagnostic import fail
from bpir.ir.operation import Operation, Value
from bpir.ir.property_parts import Flag, SymbolName, Word
from bpir.ir.syntax import Clause, EntryRegion, Operands, ResultTypes


class Activation(Word):
    """`gelu`: an activation function, by the name of its operation."""

    @property
    def allowed(self) -> tuple[str, ...]:
        found = (name for name, rule in DECLARATIONS.items() if isinstance(rule, ModelOperation) and rule.fusible)
        return tuple(sorted(name.partition(".")[2] for name in found))


class Block(Called):
    """`model.block @block(%x: !bp.tensor<B x S x H, e>) { ... }`: a block of a model; its operations carry layer names."""

    name = "model.block"
    in_module = True
    symbol = SymbolName()
    syntax = (symbol, EntryRegion())
    isolated = True

    @property
    def operations(self) -> list[ModelOperation]:
        """The operations, in order, without the end of the block."""
        return ModelOperation.each(self.operation.body)

    @property
    def arguments(self) -> list[Value]:
        """The values that come in."""
        return self.operation.arguments

    @property
    def returned(self) -> list[Value]:
        """The results; none if the block has no end."""
        return self.operation.body[-1].operands if self.operation.body else []

    def verify(self, operation: Operation, report: Problems) -> None:
        layers: dict[str, Operation] = {}
        macros = [child for child in operation.body if TransformerBlock.of(child) is not None]
        for macro in macros[1:]:
            first = Problems.note(macros[0], "the first one is here")
            report.error(macro, "a model.block holds one 'model.transformer_block': a second would name the same layers again", first)
        for child in operation.body:
            if child.dialect != self.dialect:
                report.error(child, f"'{child.name}' can't be in a model.block: only operations of the model dialect can")
            layer = layer_of(child)
            if "layer" in child.properties and not layer:
                report.error(child, "the layer name must not be empty")
            if layer and layer in layers:
                report.error(child, f"layer '{layer}' is named twice", Problems.note(layers[layer], "first named here"))
            layers.setdefault(layer, child)
        if not operation.body or Return.of(operation.body[-1]) is None:
            report.error(operation, "a model.block ends with 'model.return'")


class Return(OperationDeclaration):
    """`model.return %y`: the results of the block, or of the network."""

    name = "model.return"
    holders = ("model.block", "model.network")
    syntax = (Operands(),)
    terminator = True


class TransformerBlock(ModelOperation):
    """`%y = model.transformer_block %x heads h head_size d feed_forward F context c bias dropout`: a GPT block in one line.

    `expand-blocks` replaces it by its operations: layer norm, Q, K, V, attention, projection, residual; layer norm, expand, the
    activation (GELU if not given), contract, residual (Radford et al. 2019). Layer names are those of the standard list.
    """

    name = "model.transformer_block"
    heads = Expression()
    head_size = Expression()
    feed_forward = Expression()
    activation = Activation()
    bias = Flag()
    dropout = Flag()
    syntax = (
        Operands(1, 1),
        Clause("heads", (heads,), optional=False, line=False),
        Clause("head_size", (head_size,), optional=False, line=False),
        Clause("feed_forward", (feed_forward,), optional=False, line=False),
        Clause("context", (ModelOperation.context,), line=False),
        Clause("activation", (activation,), line=False),
        bias,
        dropout,
        ResultTypes("->", inferred=True),
    )

    def infer(self, operation: Operation) -> list[Any]:
        type = tensor_type(operation, operation.operands[0])
        if len(type.dims) != TOKEN_RANK + 1:
            raise fail("'model.transformer_block' expects batch x tokens x hidden", operation.span)
        return [type]
