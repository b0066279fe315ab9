"""Whether a distributed network calls what the model's network calls: the same blocks, in the same order, as many times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.dist.network import Network
from bpir.dialects.dist.tasks import Block
from bpir.dialects.network import blocks, callees, calls, name_of, networks, times_of
from bpir.ir.diagnostic import note
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Interned
from bpir.verifiers.rules import Findings


class Rules(metaclass=Interned):
    """Under which labels the rules of networks are raised."""

    calls: str
    runs: str


def verify_network(findings: Findings, rules: Rules, source: Operation, target: Operation) -> None:
    """Refuse a distributed network that is not that of the model. The structure of both is sound."""
    models, found = networks(source), networks(target)
    for network in found:
        if Network(network).source not in map(name_of, models):
            message = f"the network comes from '{Network(network).source}', which is no network of the model"
            findings.refuse(rules.calls, network, message)
    for model in models:
        ours = [network for network in found if Network(network).source == name_of(model)]
        if not ours:
            findings.refuse(rules.calls, model, f"the network '{name_of(model)}' of the model is not distributed")
        for network in ours:
            _Network(findings, rules, model, network, {name: Block(block).source for name, block in blocks(target).items()}).verify()


class _Network:
    """The images of the values of one network."""

    def __init__(self, findings: Findings, rules: Rules, model: Operation, network: Operation, origins: Mapping[str, str]) -> None:
        self.findings = findings
        self.rules = rules
        self.model = model
        self.network = network
        self.origins = origins  # the model's block that each distributed block is derived from
        self.images: dict[Value, Value] = {}

    def verify(self) -> None:
        before = len(self.findings.diagnostics)
        self._images(self.network, _arguments(self.model), _arguments(self.network), "arguments")
        theirs, ours = list(calls(self.model)), list(calls(self.network))
        if len(theirs) != len(ours):
            self._refuse(self.network, f"the network has {len(ours)} calls, that of the model {len(theirs)}", self.model)
        for source, call in zip(theirs, ours, strict=False):
            self._call(source, call)
        if len(self.findings.diagnostics) == before:
            self._operands(self.model.body[-1], self.network.body[-1])
        self._runs(theirs, ours)

    def _call(self, source: Operation, call: Operation) -> None:
        wanted, found = callees(source), tuple(self.origins.get(name, "") for name in callees(call))
        if found != wanted:
            said, expected = (", ".join(f"'{name}'" for name in names) for names in (found, wanted))
            self._refuse(call, f"the call is of what comes from {said}, in the model of {expected}", source)
        what = f"the number of repetitions of {', '.join('@' + name for name in callees(call))}"
        here = note("the call of the model", source.span)
        self.findings.equal(self.rules.calls, call, what, times_of(call), times_of(source), here)
        self._operands(source, call)
        self._images(call, source.results, call.results, "results")

    def _operands(self, source: Operation, call: Operation) -> None:
        for index, (value, given) in enumerate(zip(source.operands, call.operands, strict=False)):
            if value in self.images and self.images[value] is not given:
                self._refuse(call, f"operand {index} is not the image of what the model's network gives there", source)
        if len(source.operands) != len(call.operands):
            self._refuse(call, f"'{call.name}' has {len(call.operands)} operands, in the model {len(source.operands)}", source)

    def _images(self, call: Operation, sources: list[Value], images: list[Value], what: str) -> None:
        if len(sources) != len(images):
            self._refuse(call, f"'{call.name}' has {len(images)} {what}, in the model {len(sources)}", self.model)
        self.images.update(zip(sources, images, strict=False))

    def _runs(self, theirs: Iterable[Operation], ours: Iterable[Operation]) -> None:
        """The passes through each block in all, whichever call they are of."""
        wanted = runs(theirs)
        found: dict[str, Expr] = {}
        for name, count in runs(ours).items():
            origin = self.origins.get(name, "")
            found[origin] = found.get(origin, ZERO) + count
        for name in dict.fromkeys((*wanted, *found)):
            what = f"the number of passes through what comes from '{name}'"
            self.findings.equal(self.rules.runs, self.network, what, found.get(name, ZERO), wanted.get(name, ZERO))

    def _refuse(self, operation: Operation, message: str, there: Operation) -> None:
        self.findings.refuse(self.rules.calls, operation, message, note("in the model", there.span))


def runs(found: Iterable[Operation]) -> dict[str, Expr]:
    """How often calls run each block, by its name."""
    counted: dict[str, Expr] = {}
    for call in found:
        for name in callees(call):
            counted[name] = counted.get(name, ZERO) + times_of(call)
    return counted


def _arguments(network: Operation) -> list[Value]:
    return network.regions[0].blocks[0].arguments
