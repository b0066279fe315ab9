"""Whether a distributed network calls what the model's network calls: the same blocks, in the same order, as many times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.network import Network
from bpir.dialects.dist.tasks import Block
from bpir.dialects.network import BACKWARD, FORWARD, blocks, callees, calls, name_of, networks, part_of, times_of
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Interned
from bpir.verifiers.findings import Findings


class CallLabels(metaclass=Interned):
    """Under which labels the rules of networks are raised."""

    calls: str
    runs: str


_Meaning = tuple[Value, bool]
"""A value of the model's network, or (True) its gradient."""


class _Step:
    """A call that the distributed network must have: of which part of which blocks, on what, and what comes out."""

    def __init__(
        self, source: Operation, part: str, names: tuple[str, ...], operands: Sequence[_Meaning], results: Sequence[_Meaning]
    ) -> None:
        self.source, self.part, self.callees, self.operands, self.results = source, part, names, operands, results


def verify_network(findings: Findings, rules: CallLabels, source: Operation, target: Operation, training: bool = False) -> None:
    """Refuse a distributed network that is not that of the model. The structure of both is sound.

    In training the calls are those of the model forward, and then the same backward, in reverse, on gradients.
    """
    models, found = networks(source), networks(target)
    known = set(map(name_of, models))
    for network in found:
        name = Network(network).source
        message = f"the network comes from '{name}', which is no network of the model"
        findings.require(rules.calls, name in known, network, message)
    origins = {name: Block(block).source for name, block in blocks(target).items()}
    for model in models:
        ours = [network for network in found if Network(network).source == name_of(model)]
        message = f"the network '{name_of(model)}' of the model is not distributed"
        findings.require(rules.calls, bool(ours), model, message)
        for network in ours:
            message = f"the network @{name_of(network)} is not called as that of the model, '{name_of(model)}'"
            findings.require(rules.calls, name_of(network) == name_of(model), network, message)
            _Network(findings, rules, model, network, origins, training).verify()


class _Network:
    """The meanings of the values of one network."""

    def __init__(
        self, findings: Findings, rules: CallLabels, model: Operation, network: Operation, origins: Mapping[str, str], training: bool
    ) -> None:
        self.findings = findings
        self.rules = rules
        self.model = model
        self.network = network
        self.origins = origins  # the model's block that each distributed block is derived from
        self.training = training
        self.meanings: dict[_Meaning, Value] = {}

    def verify(self) -> None:
        before = len(self.findings.diagnostics)
        given, returned = _values(self.model.arguments), _values(self.model.body[-1].operands)
        gradients = [(value, True) for value, _ in returned] if self.training else []
        self._mean(self.network, [*given, *gradients], self.network.arguments, "arguments")
        steps, ours = self._steps(), list(calls(self.network))
        if len(steps) != len(ours):
            self._refuse(self.network, f"the network has {len(ours)} calls, that of the model {len(steps)}", self.model)
        for step, call in zip(steps, ours, strict=False):
            self._call(step, call)
        if len(self.findings.diagnostics) == before:
            back = _gradients(self.model.arguments) if self.training else []
            self._operands(self.network.body[-1], [*returned, *back], self.model.body[-1])
        self._runs(steps, ours)

    def _steps(self) -> list[_Step]:
        theirs = list(calls(self.model))
        part = FORWARD if self.training else ""
        forward = [_Step(call, part, callees(call), _values(call.operands), _values(call.results)) for call in theirs]
        if not self.training:
            return forward
        backward = [
            _Step(call, BACKWARD, callees(call)[::-1], _gradients(call.results), _gradients(call.operands)) for call in reversed(theirs)
        ]
        return [*forward, *backward]

    def _call(self, step: _Step, call: Operation) -> None:
        source = step.source
        found = tuple(self.origins.get(name, "") for name in callees(call))
        ours, expected = (", ".join(f"'{name}'" for name in names) for names in (found, step.callees))
        if found != step.callees:
            self._refuse(call, f"the call is of what comes from {ours}, in the model of {expected}", source)
        if part_of(call) != step.part:
            ours, expected = (part or "of the whole block" for part in (part_of(call), step.part))
            self._refuse(call, f"the call is {ours}, expected {expected}", source)
        what = f"the number of repetitions of {', '.join('@' + name for name in callees(call))}"
        here = note("the call of the model", source.span)
        self.findings.equal(self.rules.calls, call, what, times_of(call), times_of(source), here)
        self._operands(call, step.operands, source)
        self._mean(call, step.results, call.results, "results")

    def _operands(self, call: Operation, meanings: Sequence[_Meaning], source: Operation) -> None:
        for index, (meaning, given) in enumerate(zip(meanings, call.operands, strict=False)):
            if self.meanings.get(meaning, given) is not given:
                what = "the gradient of what" if meaning[1] else "the image of what"
                self._refuse(call, f"operand {index} is not {what} the model's network gives there", source)
        if len(meanings) != len(call.operands):
            self._refuse(call, f"'{call.name}' has {len(call.operands)} operands, in the model {len(meanings)}", source)

    def _mean(self, call: Operation, meanings: Sequence[_Meaning], images: Sequence[Value], what: str) -> None:
        if len(meanings) != len(images):
            self._refuse(call, f"'{call.name}' has {len(images)} {what}, in the model {len(meanings)}", self.model)
        self.meanings.update(zip(meanings, images, strict=False))

    def _runs(self, steps: Sequence[_Step], ours: Iterable[Operation]) -> None:
        """The passes through each part of each block in all, whichever call they are of."""
        wanted: dict[tuple[str, str], Expr] = {}
        for step in steps:
            _count(wanted, step.part, step.callees, times_of(step.source))
        found: dict[tuple[str, str], Expr] = {}
        for call in ours:
            _count(found, part_of(call), [self.origins.get(name, "") for name in callees(call)], times_of(call))
        for part, name in dict.fromkeys((*wanted, *found)):
            what = f"the number of passes {part + ' ' if part else ''}through what comes from '{name}'"
            self.findings.equal(self.rules.runs, self.network, what, found.get((part, name), ZERO), wanted.get((part, name), ZERO))

    def _refuse(self, operation: Operation, message: str, there: Operation) -> None:
        self.findings.refuse(self.rules.calls, operation, message, note("in the model", there.span))


def _values(values: Iterable[Value]) -> list[_Meaning]:
    return [(value, False) for value in values]


def _gradients(values: Iterable[Value]) -> list[_Meaning]:
    """The gradients of values; whole numbers, such as token ids, have none."""
    return [(value, True) for value in values if not (isinstance(value.type, TensorType) and value.type.is_index)]


def _count(counted: dict[tuple[str, str], Expr], part: str, names: Iterable[str], times: Expr) -> None:
    for name in names:
        counted[part, name] = counted.get((part, name), ZERO) + times


def runs(found: Iterable[Operation]) -> dict[str, Expr]:
    """The number of times that calls run each block, by its name; in training a forward and a backward call count as one."""
    counted: dict[tuple[str, str], Expr] = {}
    for call in found:
        if part_of(call) != BACKWARD:
            _count(counted, "", callees(call), times_of(call))
    return {name: count for (_, name), count in counted.items()}
