"""The operations of the block that is made: what is known of each before it has a name."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from bpir.importer.stablehlo.axes import Axis
from bpir.importer.stablehlo.graph import Node
from bpir.ir.diagnostic import Span


@attrs.define(eq=False)
class Made:
    """A value of the block: an argument of it, or the result of an operation.

    Attributes:
        axes: batch, tokens, then its features.
    """

    axes: list[Axis]
    by: Step | None = None


@attrs.define(eq=False)
class Step:
    """An operation of the block.

    Attributes:
        kind: that of a model operation, or `scores`, `values` and `altered`, which attention takes in.
        features: of a linear, the axes that each result gets.
        bias: whether a linear has one.
        over: the axis that a norm is over, if that is not all of the features.
        window: how many tokens attention sees, if not all; `masked` says whether it sees only those before.
    """

    kind: str
    operands: list[Made]
    results: list[Made] = attrs.field(factory=list)
    span: Span | None = None
    features: list[list[Axis]] = attrs.field(factory=list)
    bias: bool = False
    over: Axis | None = None
    turned: int = 0
    window: int = 0
    masked: bool = False
    softcap: bool = False
    factor: float = 1.0
    layer: str = ""
    node: Node | None = None  # of what is `altered`

    @property
    def result(self) -> Made:
        """Its only result."""
        return self.results[0]


@attrs.frozen(eq=False)
class Seen:
    """A value as a tensor of the graph shows it: which of its axes each dimension is, none where the size is 1."""

    value: Made
    dims: Sequence[tuple[Axis, ...]]


def needed(results: Sequence[Made]) -> list[Step]:
    """The operations that the results need, operands first."""
    found: dict[Step, None] = {}
    stack = [(value.by, False) for value in reversed(results)]
    while stack:
        step, ready = stack.pop()
        if step is None or step in found:
            continue
        if ready:
            found[step] = None
        else:
            stack.append((step, True))
            stack += [(operand.by, False) for operand in reversed(step.operands)]
    return list(found)
