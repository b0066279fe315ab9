"""A network in numbers: its calls in order, each on what the one before gave, and in training back again on gradients.

The calls are those of the distributed network; what it returns is compared with what the network of the model gives, call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from bpir.dialects.network import BACKWARD, FORWARD, callees, calls, part_of, times_of
from bpir.ir.diagnostic import error, fail
from bpir.ir.operation import Operation, Value
from bpir.run.call import Array
from bpir.run.numbers import Numbers

if TYPE_CHECKING:
    from bpir.run.check import BlockCheck, Outcome  # which runs networks

MOST = 64
"""Runs of blocks that are tried: each is compared task by task."""
CLOSE = 1e-9
"""What a network may return beside the model's: both run the same operations of the model."""


@attrs.frozen(eq=False)
class _Step:
    """A call of a part of some blocks, on values, so often; `given` and `results` are values of the network, or their gradients."""

    call: Operation
    part: str
    blocks: tuple[str, ...]
    given: Sequence[object]
    results: Sequence[object]


def run_network(
    model: Operation, network: Operation, check: Callable[[str], BlockCheck], origins: dict[str, str], numbers: Numbers
) -> list[Outcome]:
    """Run a distributed network, and each of its calls on simulated ranks; what was found, by block.

    Args:
        check: the check of a block of the model, by its name.
        origins: the model's block that each distributed block is of.

    Raises:
        DiagnosticError: blocks run too often.
    """
    ours = [_Step(c, part_of(c), tuple(origins.get(n, n) for n in callees(c)), c.operands, c.results) for c in calls(network)]
    training = any(step.part for step in ours)
    found, expected = _Chain(check, numbers), _Chain(check, numbers)
    found.run(ours)
    expected.run(_steps(model, training))
    outcomes = _by_block(found.runs)
    wanted = [expected.values.get(key) for key in _returned(model, training)]
    for index, value in enumerate(network.body[-1].operands):
        if index < len(wanted) and not _close(found.values.get(value), wanted[index]):
            message = f"as result {index} the network returns something else than the model's network"
            outcomes[-1].against.append(error(message, network.body[-1].span))
    return outcomes


def _steps(model: Operation, training: bool) -> list[_Step]:
    """The calls of a model's network; in training then the same in reverse."""
    forward = [_Step(c, FORWARD if training else "", callees(c), c.operands, c.results) for c in calls(model)]
    if not training:
        return forward
    backward = [_Step(s.call, BACKWARD, s.blocks[::-1], _gradients(s.call.results), _gradients(s.call.operands)) for s in forward[::-1]]
    return [*forward, *backward]


def _gradients(values: Iterable[Value]) -> list[object]:
    return [(value, "gradient") for value in values]


def _returned(model: Operation, training: bool) -> list[object]:
    values = list(model.body[-1].operands)
    return [*values, *(_gradients(model.arguments) if training else ())]


def _close(found: Array | None, expected: Array | None) -> bool:
    if found is None or expected is None:
        return found is expected
    if found.dtype.kind == "i" or expected.dtype.kind == "i":
        return found.shape == expected.shape
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=CLOSE, atol=CLOSE, equal_nan=True))


class _Chain:
    """Runs the models of blocks one after another."""

    def __init__(self, check: Callable[[str], BlockCheck], numbers: Numbers) -> None:
        self.check = check
        self.numbers = numbers
        self.values: dict[object, Array] = {}
        self.runs: list[BlockCheck] = []
        self.waiting: dict[str, list[BlockCheck]] = {}  # the runs of each block that have not gone back

    def run(self, steps: Iterable[_Step]) -> None:
        for step in steps:
            known = [self.values[key] for key in step.given if key in self.values]
            given = known if len(known) == len(step.given) else None  # what the network is given, is drawn
            for name in step.blocks * self.numbers.size(times_of(step.call)):
                given = self._back(step, name, given) if step.part == BACKWARD else self._forward(step, name, given)
            self.values.update(zip(step.results, given or (), strict=False))

    def _forward(self, step: _Step, name: str, given: list[Array] | None) -> list[Array]:
        if len(self.runs) == MOST:
            raise fail(f"the network runs blocks more than {MOST} times: give the repetitions a small number", step.call.span)
        one = self.check(name)
        self.runs.append(one)
        self.waiting.setdefault(name, []).append(one)
        return one.forward(given)

    def _back(self, step: _Step, name: str, given: list[Array] | None) -> list[Array]:
        if not self.waiting.get(name):
            raise fail(f"@{name} runs backward more often than forward", step.call.span)
        return self.waiting[name].pop().backward(given)


def _by_block(runs: Sequence[BlockCheck]) -> list[Outcome]:
    """One outcome for each block: the largest differences of all its runs, and what speaks against the first that fails."""
    found: dict[str, Outcome] = {}
    for one in runs:
        outcome = one.run()
        before = found.get(outcome.block)
        if before is None:
            found[outcome.block] = attrs.evolve(outcome, runs=1)
            continue
        before.runs += 1
        before.phases = {name: max(value, outcome.phases.get(name, 0.0)) for name, value in before.phases.items()}
        if before.gradients is not None and outcome.gradients is not None:
            before.gradients = max(before.gradients, outcome.gradients)
        before.against = before.against or outcome.against
    return list(found.values())
