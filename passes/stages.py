"""How a network is cut into the stages of a pipeline, and how often a step runs it: read from a strategy, in one place."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects.bind import as_expr
from bpir.dialects.network import networks
from bpir.ir.diagnostic import Span, fail
from bpir.ir.expression import ONE, Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.records import Record
from bpir.ir.relations import Facts
from bpir.passes.inputs import Binding

FIELDS = ("pipeline", "interleaving", "microbatches")
"""The fields of a strategy that say it."""


class Schedule(metaclass=Record):
    """`stages` devices, one behind another, with `chunks` parts of the network each, and `microbatches` runs of it in a step."""

    stages: int
    chunks: int
    microbatches: Expr


def schedule_of(strategy: Binding, facts: Facts, module: Operation, spans: Mapping[str, Span]) -> Schedule:
    """The schedule that a strategy says.

    Args:
        spans: where fields stand that are options of the pass.

    Raises:
        DiagnosticError: the numbers of stages or chunks are not known; or the module has no network, which they are about.
    """
    sizes = {name: as_expr(strategy.fields.get(name)) or ONE for name in FIELDS}
    said = next((name for name in ("pipeline", "microbatches") if not facts.equal(sizes[name], ONE).proved), None)
    if said is not None and not networks(module):
        what = {"microbatches": "how often a network runs in a step"}.get(said, "how a network is cut into stages")
        message = f"'{said} = {sizes[said].text}' says {what}, and the module has no network"
        raise fail(f"{message}: add a model.network that calls the blocks", spans.get(said, strategy.operation.span))
    return Schedule(
        _number("pipeline", sizes["pipeline"], facts, spans.get("pipeline", strategy.operation.span)),
        _number("interleaving", sizes["interleaving"], facts, spans.get("interleaving", strategy.operation.span)),
        sizes["microbatches"],
    )


def _number(name: str, size: Expr, facts: Facts, place: Span | None) -> int:
    value = size.substitute({symbol: constant(number) for symbol, number in facts.bindings.items()}).integer
    if value is None:
        message = f"'{name} = {size.text}' must be a number: each stage has tasks of its own"
        raise fail(f"{message}; bind {', '.join(size.symbols)}", place)
    return value
