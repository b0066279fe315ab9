"""Whether the stages of a pipeline are those that a strategy asks for: rules stages.R1 to stages.R5, of both kinds of distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from bpir.dialects.bind import as_expr, numbers_of
from bpir.dialects.bp import TensorType
from bpir.dialects.dist.stages import Stage, Transfer, transfer_work
from bpir.dialects.dist.tasks import Block
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import arguments_of, callees, calls, name_of, networks, times_of
from bpir.dialects.stages import Run
from bpir.ir.attributes import Attribute, Type
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, Expr, ceildiv, constant, minimum, total
from bpir.ir.operation import Operation, Value, types_of
from bpir.ir.relations.facts import Facts, Relation
from bpir.verifiers.findings import Findings
from bpir.verifiers.inputs import fields_named
from bpir.verifiers.rulebooks import STAGES
from bpir.verifiers.statements import Statement

_MOST = 1 << 16
"""Layers that are dealt out one by one."""


def verify_stages(findings: Findings, model: Operation, target: DistributedTaskIR, training: bool) -> set[Relation]:
    """Judge the stages of a distributed module; the relations that its derivation may assume for them.

    Args:
        model: the module with the network.
        training: whether the network goes back again.
    """
    if not target.blocks:
        return set()
    strategy = fields_named(target.strategies, target.blocks[0].strategy)
    return StageCheck(findings, model, target, strategy or {}, training).run()


class StageCheck:
    """Judges the stages and the border of a distributed module.

    Args:
        model: the module with the network.
        facts: what the result says of its symbols.
        training: whether the network goes back again.
    """

    def __init__(
        self, findings: Findings, model: Operation, target: DistributedTaskIR, strategy: Mapping[str, Attribute], training: bool
    ) -> None:
        self.outer = findings
        self.findings = Findings("stages", findings.facts, findings.claims)
        self.model, self.target, self.training = model, target, training
        self.sizes = {name: as_expr(strategy.get(name)) or ONE for name in ("pipeline", "interleaving", "microbatches")}
        self.shares = numbers_of(strategy.get("stages")) if self.sizes["pipeline"] is not ONE else ()
        self.allowed: set[Relation] = set()

    def run(self) -> set[Relation]:
        """Refuse what is wrong; the relations that stages may assume."""
        self._judge()
        self.outer.diagnostics += self.findings.diagnostics
        self.outer.unstated += self.findings.unstated
        return self.allowed

    @STAGES.rule("R1", "there are as many stages as the strategy says, in the order of the network, each with as many chunks")
    def _judge(self) -> None:
        stages, chunks = (_number(self.sizes[name], self.findings.facts) for name in ("pipeline", "interleaving"))
        if stages is None or chunks is None:
            self.findings.refuse("R1", self._first_place(), "nothing says how many stages the strategy asks for", undecided=True)
            return
        chunks = chunks if stages > 1 else 1
        network, found = next(iter(networks(self.model)), None), self.target.stages
        if not self._counted(stages * chunks, network):
            return
        self._ordered(found, stages)
        if found and network is not None:
            self._runs(network, found)
            self._microbatches(found, stages, chunks)
        self._border(network, stages * chunks)

    def _first_place(self) -> Place:
        """Where a finding about all stages is shown."""
        places: list[Place] = [*self.target.stages, *self.target.borders, *self.target.blocks, self.target.module]
        return places[0]

    def _counted(self, parts: int, network: Operation | None) -> bool:
        """Whether there are as many stages as the strategy asks for, and a network from which they are cut."""
        found, where = len(self.target.stages), self._first_place()
        alone = parts == 1 and self.findings.facts.equal(self.sizes["microbatches"], ONE).proved
        expected = 0 if alone else parts
        message = f"the module has {found} stages, and the strategy asks for {expected}"
        if not self.findings.require("R1", found == expected, where, message):
            return False
        message = "the model has no network that stages could be cut from"
        return self.findings.require("R1", not expected or network is not None, where, message)

    def _ordered(self, found: Sequence[Stage], stages: int) -> None:
        """Refuse the first stage that is not at its place in the order of the network."""
        for index, stage in enumerate(found):
            if (stage.chunk, stage.place) != divmod(index, stages):
                wanted = f"stage {index % stages}" + (f" chunk {index // stages}" if index >= stages else "")
                self.findings.refuse("R1", stage, f"expected {wanted} at this place: stages are in the order of the network")
                break

    # --- what each runs

    @STAGES.rule("R2", "each layer of the network is run by one stage, in its order: stage k of P runs ceildiv(L - k, P) of L, or as said")
    def _runs(self, network: Operation, found: Sequence[Stage]) -> None:
        parts = len(found)
        layers = [call for call in calls(network) if _is_layer(call)]
        message = "the network has no layer, a call that gives what it takes"
        if not self.findings.require("R2", bool(layers), found[0], message, note("the network", network.span)):
            return
        message = f"the strategy says the layers of {len(self.shares)} stages, and there are {parts}"
        if not self.findings.require("R2", len(self.shares) in (0, parts), found[0], message):
            return
        wanted = self._of_one_layer(network, layers[0], found) if len(layers) == 1 else self._of_several_layers(network, layers, found)
        for stage, runs in zip(found, wanted, strict=False):
            self._same_runs(stage, runs, network)

    def _of_one_layer(self, network: Operation, layer: Operation, found: Sequence[Stage]) -> list[list[Run]]:
        """The runs of each stage of a repeated layer; none, and a finding, where it is not known to be enough for all."""
        parts, count = len(found), times_of(layer)
        rows = self._stated_shares(count) if self.shares else self._even_shares(count, found)
        return [self._by_rule(network, layer, times, index, parts) for index, times in enumerate(rows)]

    def _stated_shares(self, count: Expr) -> list[Expr]:
        """How many layers each stage has, as the strategy says; that these are all may be assumed, and R6 proves it."""
        self.allowed.add(Relation("equal", count, constant(sum(self.shares))))
        return [constant(share) for share in self.shares]

    def _even_shares(self, count: Expr, found: Sequence[Stage]) -> list[Expr]:
        """How many of the layers each stage has, where they share alike; nothing, and a finding, where some may have none."""
        parts = len(found)
        self.allowed.add(Relation("greater", count, constant(parts - 1)))
        statement = Statement(count, ">", constant(parts - 1))
        message = f"nothing says that there are as many layers as stages, {count.text} > {parts - 1}: record it with bp.assume"
        verdict = statement.decide(self.findings.facts)
        if not self.findings.claim("R2", found[0], message, "the number of layers", statement, verdict):
            return []
        return [ceildiv(count - index, constant(parts)) for index in range(parts)]

    def _of_several_layers(self, network: Operation, layers: Sequence[Operation], found: Sequence[Stage]) -> list[list[Run]]:
        """The runs of each stage of layers whose numbers are known; none, and a finding, where they can't be shared."""
        parts = len(found)
        counts = {layer: number for layer in layers if (number := _number(times_of(layer), self.findings.facts)) is not None}
        if len(counts) < len(layers):
            message = f"it is not known how many layers there are, which {parts} stages can't share"
            self.findings.refuse("R2", found[0], message, undecided=True)
            return []
        number = sum(counts.values())
        message = f"there are {number} layers, which {parts} stages can't share"
        if not self.findings.require("R2", parts <= number <= _MOST, found[0], message):
            return []
        message = f"the strategy shares out {sum(self.shares)} layers, and there are {number}"
        if not self.findings.require("R2", sum(self.shares) in (0, number), found[0], message):
            return []
        least, more = divmod(number, parts)  # the first have one layer more where they don't share alike
        return _dealt(network, counts, list(self.shares) or [least + (place < more) for place in range(parts)])

    @staticmethod
    def _by_rule(network: Operation, layer: Operation, times: Expr, index: int, parts: int) -> list[Run]:
        """The runs of one part of a network with one call of layers, of which it has so many."""
        found: list[Run] = []
        before = True
        for call in calls(network):
            if call is layer:
                before = False
                found += [(name, times) for name in callees(call)]
            elif index == (0 if before else parts - 1):
                found += [(name, times_of(call)) for name in callees(call)]
        return found

    def _same_runs(self, stage: Stage, wanted: Sequence[Run], network: Operation) -> None:
        there = note("the network", network.span)
        origins = {block.symbol: block.source for block in self.target.blocks}
        runs = [(origins.get(name, name), times) for name, times in stage.runs]
        if _names(runs) != _names(wanted):
            self.findings.refuse("R2", stage, f"the stage runs {_listed(runs)}; expected {_listed(wanted)}", there)
            return
        for (name, found), (_, times) in zip(runs, wanted, strict=True):
            self.findings.equal("R2", stage, f"how often the stage runs @{name}", found, times, there)

    # --- how often, and what it holds

    @STAGES.rule("R3", "a step runs as many microbatches as the strategy says")
    @STAGES.rule("R4", "of as many are activations in flight as the schedule, 1F1B or interleaved, has between forward and backward")
    def _microbatches(self, found: Sequence[Stage], stages: int, chunks: int) -> None:
        count = self.sizes["microbatches"]
        if chunks > 1 and _number(count, self.findings.facts) is None:
            self.allowed.add(Relation("divides", constant(stages), count))
        for index, stage in enumerate(found):
            chunk, place = divmod(index, stages)
            self.findings.equal("R3", stage, "the number of microbatches", stage.microbatches, count)
            expected = self._in_flight(place, chunk, stages, chunks)
            self.findings.equal("R4", stage, "the number of microbatches in flight", stage.in_flight, expected)

    def _in_flight(self, place: int, chunk: int, stages: int, chunks: int) -> Expr:
        """Of how many microbatches a chunk holds activations when its device first goes back."""
        count = self.sizes["microbatches"]
        number = _number(count, self.findings.facts)
        if not self.training:
            return count
        if chunks == 1:
            return minimum(count, stages - place)
        if number is not None:
            return constant(_started(place, stages, chunks, number).count(chunk))
        # the microbatches are a multiple of the stages; with two rounds there is all that there is with more
        return minimum(count, _started(place, stages, chunks, 2 * stages).count(chunk))

    # --- what goes from one to the next

    @STAGES.rule("R5", "the residual stream goes from each stage to the next, and its gradient back, each in one transfer")
    def _border(self, network: Operation | None, parts: int) -> None:
        borders, expected = self.target.borders, int(parts > 1)
        where: list[Place] = [*borders[::-1], *self.target.stages, self.target.module]
        message = f"the module has {len(borders)} borders of stages, expected {expected}"
        if not self.findings.require("R5", len(borders) == expected, where[0], message) or not borders or network is None:
            return
        layer = next((call for call in calls(network) if _is_layer(call)), None)
        block = self._block_of(layer) if layer is not None else None
        if layer is not None and block is not None:  # refused elsewhere
            self._border_of(borders[0], network, block)
            self._transfers(borders[0], block, arguments_of(block.operation)[: len(layer.operands)])

    def _block_of(self, layer: Operation) -> Block | None:
        """The distributed block of the first block that a call of layers names."""
        name = callees(layer)[0]
        return next((block for block in reversed(self.target.blocks) if block.source == name), None)

    def _transfers(self, border: Block, block: Block, stream: tuple[Type, ...]) -> None:
        """The border takes the residual stream in each phase, and returns what it has sent of it."""
        phases = _phases(block, self.training)
        transfers = [task for task in border.tasks if isinstance(task, Transfer)]
        alone = [task.phase for task in transfers] == phases and len(transfers) == len(border.tasks)
        message = f"the border has not one transfer in each of the phases {', '.join(phases)}"
        if not self.findings.require("R5", alone, border, message):
            return
        work = transfer_work(self._bytes(block, stream))
        arguments = list(border.arguments)
        for task in transfers:
            given, arguments = arguments[: len(stream)], arguments[len(stream) :]
            self._transfer(task, given, stream, border)
            self.findings.components("R5", task, "work", f"of '{task.label}'", task.work, work)
        sent: list[Value] = [value for task in transfers for value in task.operation.results]
        returned = not arguments and border.returned == sent
        self.findings.require("R5", returned, border, "the border does not return what it has sent, and nothing else")

    def _bytes(self, block: Block, stream: tuple[Type, ...]) -> Expr:
        """The bytes of one rank's part of the residual stream of a block."""
        mesh = self.target.mesh_of(block)
        return total(t.local(mesh.axes).bytes for t in stream if isinstance(t, TensorType)) if mesh is not None else ONE

    def _border_of(self, border: Block, network: Operation, block: Block) -> None:
        """The border is of the network, on the mesh and under the strategy of a block, and has the name `border`, or what is free."""
        same = (border.source, border.mesh, border.strategy) == (name_of(network), block.mesh, block.strategy)
        message = f"the border is not of the network @{name_of(network)} on the mesh and under the strategy of its blocks"
        self.findings.require("R5", same, border, message)
        taken = {*(block.symbol for block in self.target.blocks), name_of(network)}
        name = "border"
        while name in taken:
            name += ".between"
        self.findings.require("R5", border.symbol == name, border, f"the border is called @{border.symbol}, expected @{name}")

    def _transfer(self, task: Transfer, given: list[Value], stream: tuple[Type, ...], border: Block) -> None:
        """A transfer sends the residual stream along the stages; its name and its source are those of the border."""
        label, require = task.label, partial(self.findings.require, "R5")
        sends = task.operation.operands == given and types_of(given) == stream
        require(sends, task, f"'{label}' does not send the residual stream, {', '.join(t.text for t in stream)}")
        require(task.axis == "pipeline", task, f"'{label}' goes along the axis '{task.axis}', and stages are along 'pipeline'")
        name = f"transfer.{task.phase}"
        require(label == name, task, f"the transfer is called '{label}', expected '{name}'")
        require(task.source == border.source, task, f"'{label}' comes from '{task.source}', expected '{border.source}'")


def _phases(block: Block, training: bool) -> list[str]:
    return ["forward", "activation_gradient"] if training else [block.tasks[0].phase if block.tasks else "decode"]


def _is_layer(call: Operation) -> bool:
    """Whether a call gives what it takes: the residual stream."""
    return types_of(call.operands) == types_of(call.results)


def _number(value: Expr, facts: Facts) -> int | None:
    return value.substitute({name: constant(number) for name, number in facts.bindings.items()}).integer


def _names(runs: Sequence[Run]) -> list[str]:
    return [name for name, _ in runs]


def _listed(runs: Sequence[Run]) -> str:
    return ", ".join(f"@{name}" for name, _ in runs) or "nothing"


class _Deal:
    """Deals out the layers of a network in its order: to each part as many as its quota says."""

    def __init__(self, quota: Sequence[int]) -> None:
        self.quota = quota
        self.rows: list[list[tuple[Operation, int]]] = [[] for _ in quota]
        self.place = self.taken = 0

    def layer(self, call: Operation) -> None:
        """Give one layer of a call to the part whose turn it is."""
        if self.taken == self.quota[self.place]:
            self.place, self.taken = self.place + 1, 0
        self.taken += 1
        row = self.rows[self.place]
        if row and row[-1][0] is call:
            row[-1] = (call, row[-1][1] + 1)
        else:
            row.append((call, 1))

    def other(self, call: Operation) -> None:
        """Give a call of no layers to the part whose turn it is."""
        self.rows[self.place].append((call, 0))


def _dealt(network: Operation, counts: Mapping[Operation, int], quota: Sequence[int]) -> list[list[Run]]:
    """The runs of each part, layer by layer: as many as its quota says."""
    deal = _Deal(quota)
    for call in calls(network):
        for _ in range(counts.get(call, 0)):
            deal.layer(call)
        if call not in counts:
            deal.other(call)
    return [[run for call, number in row for run in _named(call, number)] for row in deal.rows]


def _named(call: Operation, number: int) -> Iterator[Run]:
    return ((name, constant(number) if number else times_of(call)) for name in callees(call))


def _started(place: int, stages: int, chunks: int, microbatches: int) -> list[int]:
    """The chunks that a device has run forward when it first goes back, as Megatron-LM's interleaved schedule has it.

    Device `place` warms up with `2(p - place - 1) + (v - 1)p` forward runs, and one more is before its first backward run; it takes
    turns between its chunks after every `p` microbatches.
    """
    wanted = 2 * (stages - place - 1) + (chunks - 1) * stages + 1
    order: list[int] = []
    started = [0] * chunks
    chunk = 0
    while len(order) < wanted and sum(started) < microbatches * chunks:
        for _ in range(min(stages, microbatches - started[chunk])):
            order.append(chunk)
            started[chunk] += 1
        chunk = (chunk + 1) % chunks
    return order[:wanted]
