"""`model.transformer_block`: a GPT block in one line (Radford et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from bpir.run.operations.base import SEMANTICS, Semantics

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node


class TransformerBlock(Semantics):
    """Layer norm, attention, residual; layer norm, expand, activation, contract, residual."""

    kind = "transformer_block"

    def expand(self, builder: Builder, node: Node) -> list[int]:
        macro = _Macro(builder, node)
        (x,) = node.operands
        heads, hidden = (node.sizes["heads"], node.sizes["head_size"]), node.shapes[0]
        normed = macro.add("layer_norm", "attention.layer_norm", x)
        query, key, value = (macro.add("linear", f"attention.{part}", normed, shape=heads) for part in ("query", "key", "value"))
        core = macro.add("attention", "attention.core", query, key, value)
        middle = macro.joined("attention", macro.add("linear", "attention.output_projection", core, shape=hidden), x)
        normed = macro.add("layer_norm", "mlp.layer_norm", middle)
        wide = macro.add("linear", "mlp.expand", normed, shape=(node.sizes["feed_forward"],))
        activation = node.words.get("activation", "gelu")
        wide = macro.add(activation, f"mlp.{activation}", wide)
        return [macro.joined("mlp", macro.add("linear", "mlp.contract", wide, shape=hidden), middle)]


class _Macro:
    def __init__(self, builder: Builder, node: Node) -> None:
        self.builder, self.node = builder, node

    def add(self, kind: str, layer: str, *operands: int, shape: tuple[int, ...] | None = None) -> int:
        shapes = () if shape is None else (shape,)
        node = attrs.evolve(self.node, kind=kind, layer=layer, operands=operands, shapes=shapes, roles=("",))
        return SEMANTICS[kind].expand(self.builder, node)[0]

    def joined(self, group: str, value: int, stream: int) -> int:
        """The value, dropped out where the block says so, added to the residual stream."""
        if "dropout" in self.node.says:
            value = self.add("dropout", f"{group}.output_dropout", value)
        return self.add("add", f"{group}.residual", value, stream)
