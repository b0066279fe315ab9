"""A network in numbers: its calls in order, each on what the one before gave, and in training back again on gradients.

The calls are those of the distributed network; what it returns is compared with what the network of the model gives, call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from bpir.dialects.bp import TensorType
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import BACKWARD, FORWARD, callees, calls, part_of, times_of
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, fail
from bpir.ir.operation import Operation, Value
from bpir.run.call import Array
from bpir.run.numbers import Numbers
from bpir.run.ranks.mesh import Mesh
from bpir.run.stages import Part, parts_of, wrong_flights, wrong_transfers

if TYPE_CHECKING:
    from bpir.run.check import BlockCheck, Outcome  # which runs networks

MOST = 64
"""Runs of blocks that are tried: each is compared task by task."""
CLOSE = 1e-9
"""The amount by which a network may differ from the model's: both run the same operations of the model."""


@attrs.frozen(eq=False)
class _Step:
    """A call of a part of some blocks, on values, so often; `given` and `results` are values of the network, or their gradients."""

    call: Operation
    part: str
    blocks: tuple[str, ...]
    given: Sequence[object]
    results: Sequence[object]
    times: int = 0  # how often, where a stage runs a part of the call


def run_network(
    model: Operation, network: Operation, check: Callable[[str], BlockCheck], ir: DistributedTaskIR, numbers: Numbers
) -> list[Outcome]:
    """Run a distributed network, and each of its calls on simulated ranks; what was found, by block.

    Args:
        check: the check of a block of the model, by its name.
        ir: the distributed module, whose stages, if it has some, run the calls part by part.

    Raises:
        DiagnosticError: blocks run too often.
    """
    origins = {block.symbol: block.source for block in ir.blocks}
    ours = [_Step(c, part_of(c), tuple(origins.get(n, n) for n in callees(c)), c.operands, c.results) for c in calls(network)]
    training = any(step.part for step in ours)
    found, expected = _Chain(check, numbers), _Chain(check, numbers)
    cut = _Cut(ours, ir, origins, numbers)
    found.run(cut.steps)
    expected.run(_steps(model, training))
    outcomes = _by_block(found.runs)
    if ir.stages:
        outcomes[-1].against += [*cut.wrong, *cut.crossings(found.values, found.runs[-1].mesh, training)]
    wanted = [expected.values.get(key) for key in _returned(model, training)]
    for index, value in enumerate(network.body[-1].operands):
        if index < len(wanted) and not _close(found.values.get(value), wanted[index]):
            message = f"as result {index} the network returns something else than the model's network"
            outcomes[-1].against.append(error(message, network.body[-1].span))
    return outcomes


class _Cut:
    """The calls of a network as its stages run them; as they stand where there are no stages, or these run something else."""

    def __init__(self, steps: list[_Step], ir: DistributedTaskIR, origins: dict[str, str], numbers: Numbers) -> None:
        self.steps, self.ir, self.numbers = steps, ir, numbers
        self.wrong: list[Diagnostic] = []
        self.crossing: list[tuple[str, Sequence[object]]] = []
        if not ir.stages:
            return
        forward = [step for step in steps if step.part != BACKWARD]
        backward = [step for step in steps if step.part == BACKWARD]
        try:
            parts = parts_of(ir.stages, [(s.blocks, numbers.size(times_of(s.call))) for s in forward], origins, numbers)
        except DiagnosticError as failure:
            self.wrong += failure.diagnostics
            return
        back = [attrs.evolve(part, call=len(forward) - 1 - part.call) for part in reversed(parts)] if backward else []
        self.steps = [*self._pieces("forward", forward, parts), *self._pieces(BACKWARD, backward, back)]

    def _pieces(self, way: str, steps: list[_Step], parts: Sequence[Part]) -> list[_Step]:
        """Each call in the parts that stages run, each on what the one before gave."""
        found: list[_Step] = []
        for index, part in enumerate(parts):
            step = steps[part.call]
            begins = index == 0 or parts[index - 1].call != part.call
            ends = index == len(parts) - 1 or parts[index + 1].call != part.call
            given = step.given if begins else found[-1].results
            results = step.results if ends else [(way, index, place) for place in range(len(step.results))]
            found.append(attrs.evolve(step, given=given, results=results, times=part.times))
            if index and parts[index - 1].stage != part.stage:
                self.crossing.append((way, given))
        return found

    def crossings(self, values: dict[object, Array], mesh: Mesh, training: bool) -> list[Diagnostic]:
        """What is wrong with what crosses the borders, and with what stages hold."""
        sent = [(way, values[key]) for way, keys in self.crossing for key in keys if key in values]
        wrong = [found for border in self.ir.borders for found in wrong_transfers(border, mesh, sent, self.numbers)]
        return [*wrong, *wrong_flights(self.ir, self.numbers, training)]


def _steps(model: Operation, training: bool) -> list[_Step]:
    """The calls of a model's network; in training then the same in reverse."""
    forward = [_Step(c, FORWARD if training else "", callees(c), c.operands, c.results) for c in calls(model)]
    if not training:
        return forward
    backward = [_Step(s.call, BACKWARD, s.blocks[::-1], _gradients(s.call.results), _gradients(s.call.operands)) for s in forward[::-1]]
    return [*forward, *backward]


def _gradients(values: Iterable[Value]) -> list[object]:
    return [(value, "gradient") for value in values if not (isinstance(value.type, TensorType) and value.type.is_index)]


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
            for name in step.blocks * (step.times or self.numbers.size(times_of(step.call))):
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
