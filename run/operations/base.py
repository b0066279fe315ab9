"""The table of semantics: what each kind of operation computes, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from bpir.dialects.model.rules.reads import Read
from bpir.run.call import Array, Call

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node

T = TypeVar("T")
TOKEN_RANK = 2  # batch and tokens come first
SEMANTICS: dict[str, Semantics] = {}
"""By kind, the name of the operation without its dialect. A class that names its kind enters itself."""


class Semantics:
    """The semantics of one kind of operation. A new operation is one subclass.

    Attributes:
        gradient_reads: what the activation gradient reads after dY.
        weight_gradient_reads: what the weight gradient reads after dY.
        roles: names of the operands, which a part of a linear that makes one takes (`attention.query`).
        in_place: the operands that the result may overwrite where they die; of an operation with lanes, each result its own operand.
        lanes: whether each result comes from its own operand alone, and there are as many of them as of operands.
        activation: whether `fused_activation` makes it move no bytes.
        constants: the operands that have no gradient.
        maximum: whether of its parts on several ranks the maximum is taken, not the sum.
        own_sizes: the names of the sizes that its weights alone have, such as the rows of a table.
        forms: flags that say how it is done; a distributed task says it for itself.
        by_experts: whether that size counts experts, each of which lies where its rows do.
    """

    kind: ClassVar[str] = ""
    gradient_reads: ClassVar[tuple[Read, ...]] = ()
    weight_gradient_reads: ClassVar[tuple[Read, ...]] = ()
    roles: ClassVar[tuple[str, ...]] = ()
    in_place: ClassVar[tuple[int, ...]] = ()
    activation: ClassVar[bool] = False
    constants: ClassVar[tuple[int, ...]] = ()
    maximum: ClassVar[bool] = False
    own_sizes: ClassVar[tuple[str, ...]] = ()
    by_experts: ClassVar[bool] = False
    forms: ClassVar[tuple[str, ...]] = ()
    lanes: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if cls.kind:
            SEMANTICS[cls.kind] = cls()

    def expand(self, builder: Builder, node: Node) -> list[int]:
        """Add the steps of one operation of a model, and return its results. One step, unless it falls apart."""
        count = len(node.operands) if self.lanes else 1
        first = builder.step(self.kind, node, node.operands, results=count)
        return list(range(first, first + count))

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        """The dimensions of each weight from those of the operand and the result, and its own: of sizes, or of the axes that shard them."""
        return ()

    def forward(self, call: Call) -> list[Array]:
        """The results; of a dropout the mask as well."""
        raise NotImplementedError

    def gradient(self, call: Call) -> list[Array]:
        """The gradient of each operand that has one, from dY (of each result) and what `gradient_reads` says."""
        raise NotImplementedError

    def weight_gradient(self, call: Call) -> list[Array]:
        """The gradient of each weight, from dY (of each result) and what `weight_gradient_reads` says."""
        raise NotImplementedError
