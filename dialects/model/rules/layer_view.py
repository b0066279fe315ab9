"""What a convention sees of a layer: the choices of the strategy, and the part of the layer on a rank."""

from __future__ import annotations

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.expressions.expression import ONE, ZERO, Expr, total
from bpir.ir.records import Interned


class Choices(metaclass=Interned):
    """The choices of a strategy for training.

    Attributes:
        ranks: the tensor-parallel degree `t`.
        zero: the ZeRO stage: what the replicas share out among them of optimizer states (1), kept gradients (2), weights (3).
        sequence_parallel: the token axis is sharded between tensor-parallel regions (Korthikanti et al. 2022, section 4.2.2).
        recompute: `none`, `attention`, `core_attention` or `full`.
        master_copy: whether the optimizer keeps an fp32 copy of the weights; None if the strategy does not say.
        f32_gradients: whether gradients of weights are kept and reduced in f32, whatever the weights are.
    """

    ranks: Expr
    zero: int
    sequence_parallel: bool
    recompute: str
    all_gather_redo: bool
    fused_activation: bool
    master_copy: bool | None
    f32_gradients: bool = False


class LayerView(metaclass=Interned):
    """One rank's view of a layer, for a convention. Layers that repeat have the same one.

    Attributes:
        kind: the model operation's name, `fork`, `input_collective` or `output_collective`.
        rule: the model operation, None for forks and collectives.
        local: the local operands and results of forward (for a fork its value; for a collective its operand and result).
        uses: of a fork, how many.
        gradients: of a fork, how many distinct gradients its sum reads: two uses may have the same one.
        copies: how many ranks hold the same weights: replicas of the batch.
        shares: of each weight the elements of a rank that shares them with those; empty where one rank holds the weights alone.
    """

    kind: str
    rule: ModelOperation | None
    local: Local
    uses: int = 1
    gradients: int = 1
    copies: Expr = ONE
    shares: tuple[Expr, ...] = ()

    @property
    def operand(self) -> TensorType:
        return self.local.operands[0]

    @property
    def result(self) -> TensorType:
        return self.local.results[0]

    @property
    def results_bytes(self) -> Expr:
        """The bytes of all results, without a mask."""
        return total(type.bytes for type in self.local.results)

    @property
    def mask(self) -> Expr:
        """The bytes of the dropout mask: one an element."""
        return self.operand.elements if self.rule is not None and self.rule.masked else ZERO

    @property
    def weights(self) -> Expr:
        return self.rule.weights(self.local) if self.rule is not None else ZERO

    @property
    def owned(self) -> Expr:
        """The elements of weights of its own: not of those that are tied to another layer's."""
        return ZERO if self.local.says("tied") else self.weights

    @property
    def share(self) -> Expr:
        """The elements of weights that a rank has where the ranks that hold the same ones share them."""
        return total(self.shares) if self.shares else self.weights

    @property
    def differentiable(self) -> tuple[TensorType, ...]:
        """The operands that have a gradient: not numbers of rows, and not those that the operation takes as constants."""
        constants = self.rule.constants if self.rule is not None else ()
        return tuple(type for index, type in enumerate(self.local.operands) if not type.is_index and index not in constants)

    @property
    def element(self) -> Expr:
        """The bytes of an element of the weights; of the operand where there are none."""
        types = self.rule.weight_types(self.local) if self.rule is not None else ()
        return types[0].element_bytes if types else self.operand.element_bytes

    @property
    def whole(self) -> TensorType:
        """Of a collective, the side that is not sharded."""
        return self.result if self.kind == "input_collective" else self.operand
