"""Whether the stages of a pipeline are those that a strategy asks for: rules stages.R1 to stages.R5, of both kinds of distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
from bpir.verifiers.rulebooks import STAGES
from bpir.verifiers.statements import Statement

_MOST = 1 << 16
"""Layers that are dealt out one by one."""


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
        where: list[Place] = [*self.target.stages, *self.target.borders, *self.target.blocks, self.target.module]
        if stages is None or chunks is None:
            self.findings.refuse("R1", where[0], "nothing says how many stages the strategy asks for", undecided=True)
            return
        chunks = chunks if stages > 1 else 1
        parts = stages * chunks
        found, once = self.target.stages, self.findings.facts.equal(self.sizes["microbatches"], ONE).proved
        expected = 0 if parts == 1 and once else parts
        if len(found) != expected:
            self.findings.refuse("R1", where[0], f"the module has {len(found)} stages, and the strategy asks for {expected}")
            return
        whole = networks(self.model)
        if expected and not whole:
            self.findings.refuse("R1", where[0], "the model has no network that stages could be cut from")
            return
        for index, stage in enumerate(found):
            if (stage.chunk, stage.place) != divmod(index, stages):
                wanted = f"stage {index % stages}" + (f" chunk {index // stages}" if index >= stages else "")
                self.findings.refuse("R1", stage, f"expected {wanted} at this place: stages are in the order of the network")
                break
        if expected:
            self._runs(whole[0], found)
            self._microbatches(found, stages, chunks)
        self._border(whole[0] if whole else None, parts)

    # --- what each runs

    @STAGES.rule("R2", "each layer of the network is run by one stage, in its order: stage k of P runs ceildiv(L - k, P) of L, or as said")
    def _runs(self, network: Operation, found: Sequence[Stage]) -> None:
        parts = len(found)
        layers = [call for call in calls(network) if _is_layer(call)]
        if not layers:
            self.findings.refuse(
                "R2", found[0], "the network has no layer, a call that gives what it takes", note("the network", network.span)
            )
            return
        if self.shares and len(self.shares) != parts:
            self.findings.refuse("R2", found[0], f"the strategy says the layers of {len(self.shares)} stages, and there are {parts}")
            return
        wanted = self._of_one_layer(network, layers[0], found) if len(layers) == 1 else self._of_several_layers(network, layers, found)
        for stage, runs in zip(found, wanted, strict=False):
            self._same_runs(stage, runs, network)

    def _of_one_layer(self, network: Operation, layer: Operation, found: Sequence[Stage]) -> list[list[Run]]:
        """What each stage runs of a repeated layer; nothing, and a finding, where it is not known to be enough for all."""
        parts, count = len(found), times_of(layer)
        if self.shares:
            self.allowed.add(Relation("equal", count, constant(sum(self.shares))))  # which R6 proves
            rows: list[Expr] = [constant(share) for share in self.shares]
        else:
            self.allowed.add(Relation("greater", count, constant(parts - 1)))
            statement = Statement(count, ">", constant(parts - 1))
            message = f"nothing says that there are as many layers as stages, {count.text} > {parts - 1}: record it with bp.assume"
            verdict = statement.decide(self.findings.facts)
            if not self.findings.claim("R2", found[0], message, "the number of layers", statement, verdict):
                return []
            rows = [ceildiv(count - index, constant(parts)) for index in range(parts)]
        return [self._by_rule(network, layer, times, index, parts) for index, times in enumerate(rows)]

    def _of_several_layers(self, network: Operation, layers: Sequence[Operation], found: Sequence[Stage]) -> list[list[Run]]:
        """What each stage runs of layers whose numbers are known; nothing, and a finding, where they can't be shared."""
        parts = len(found)
        numbers = [_number(times_of(call), self.findings.facts) for call in layers]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or not parts <= sum(known) <= _MOST:
            what = "it is not known how many layers there are" if len(known) < len(numbers) else f"there are {sum(known)} layers"
            self.findings.refuse("R2", found[0], f"{what}, which {parts} stages can't share", undecided=len(known) < len(numbers))
            return []
        if self.shares and sum(self.shares) != sum(known):
            self.findings.refuse("R2", found[0], f"the strategy shares out {sum(self.shares)} layers, and there are {sum(known)}")
            return []
        least, more = divmod(sum(known), parts)  # the first have one layer more where they don't share alike
        quota = list(self.shares) or [least + (place < more) for place in range(parts)]
        return _dealt(network, dict(zip(layers, known, strict=True)), quota)

    @staticmethod
    def _by_rule(network: Operation, layer: Operation, times: Expr, index: int, parts: int) -> list[Run]:
        """What one part runs of a network with one call of layers, of which it has so many."""
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
        if [name for name, _ in runs] != [name for name, _ in wanted]:
            ours, theirs = (", ".join(f"@{name}" for name, _ in each) or "nothing" for each in (runs, wanted))
            self.findings.refuse("R2", stage, f"the stage runs {ours}; expected {theirs}", there)
            return
        for (name, found), (_, times) in zip(runs, wanted, strict=True):
            self.findings.equal("R2", stage, f"how often the stage runs @{name}", found, times, there)

    # --- how often, and what it holds

    @STAGES.rule("R3", "a step runs as many microbatches as the strategy says")
    @STAGES.rule("R4", "of as many are activations in flight as the schedule, 1F1B or interleaved, has between forward and backward")
    def _microbatches(self, found: Sequence[Stage], stages: int, chunks: int) -> None:
        count = self.sizes["microbatches"]
        number = _number(count, self.findings.facts)
        if chunks > 1 and number is None:
            self.allowed.add(Relation("divides", constant(stages), count))
        for index, stage in enumerate(found):
            chunk, place = divmod(index, stages)
            self.findings.equal("R3", stage, "the number of microbatches", stage.microbatches, count)
            if not self.training:
                expected = count
            elif chunks == 1:
                expected = minimum(count, stages - place)
            elif number is not None:
                expected = constant(_started(place, stages, chunks, number).count(chunk))
            else:  # a multiple of the stages; with two rounds there is all that there is with more
                expected = minimum(count, _started(place, stages, chunks, 2 * stages).count(chunk))
            self.findings.equal("R4", stage, "the number of microbatches in flight", stage.in_flight, expected)

    # --- what goes from one to the next

    @STAGES.rule("R5", "the residual stream goes from each stage to the next, and its gradient back, each in one transfer")
    def _border(self, network: Operation | None, parts: int) -> None:
        borders = self.target.borders
        if len(borders) != int(parts > 1):
            where: Place = borders[-1] if borders else next(iter(self.target.stages), self.target.module)
            self.findings.refuse("R5", where, f"the module has {len(borders)} borders of stages, expected {int(parts > 1)}")
            return
        if not borders or network is None:
            return
        blocks = {block.source: block for block in self.target.blocks}
        layer = next((call for call in calls(network) if _is_layer(call)), None)
        block = blocks.get(callees(layer)[0]) if layer is not None else None
        if block is not None and layer is not None:  # refused elsewhere
            self._border_of(borders[0], network, block)
            self._transfers(borders[0], block, arguments_of(block.operation)[: len(layer.operands)])

    def _transfers(self, border: Block, block: Block, stream: tuple[Type, ...]) -> None:
        """The border takes the residual stream in each phase, and returns what it has sent of it."""
        mesh = self.target.mesh_of(block)
        bytes = total(t.local(mesh.axes).bytes for t in stream if isinstance(t, TensorType)) if mesh is not None else ONE
        phases = _phases(block, self.training)
        transfers = [task for task in border.tasks if isinstance(task, Transfer)]
        if [task.phase for task in transfers] != phases or len(transfers) != len(border.tasks):
            self.findings.refuse("R5", border, f"the border has not one transfer in each of the phases {', '.join(phases)}")
            return
        arguments = list(border.arguments)
        for task in transfers:
            given, arguments = arguments[: len(stream)], arguments[len(stream) :]
            self._transfer(task, given, stream, border)
            self.findings.components("R5", task, "work", f"of '{task.label}'", task.work, transfer_work(bytes))
        sent: list[Value] = [value for task in transfers for value in task.operation.results]
        if arguments or border.returned != sent:
            self.findings.refuse("R5", border, "the border does not return what it has sent, and nothing else")

    def _border_of(self, border: Block, network: Operation, block: Block) -> None:
        """The border is of the network, on the mesh and under the strategy of a block, and has the name `border`, or what is free."""
        if border.source != name_of(network) or border.mesh != block.mesh or border.strategy != block.strategy:
            self.findings.refuse(
                "R5", border, f"the border is not of the network @{name_of(network)} on the mesh and under the strategy of its blocks"
            )
        taken = {*(block.symbol for block in self.target.blocks), name_of(network)}
        name = "border"
        while name in taken:
            name += ".between"
        if border.symbol != name:
            self.findings.refuse("R5", border, f"the border is called @{border.symbol}, expected @{name}")

    def _transfer(self, task: Transfer, given: list[Value], stream: tuple[Type, ...], border: Block) -> None:
        """A transfer sends the residual stream along the stages; its name and its source are those of the border."""
        if task.operation.operands != given or types_of(given) != stream:
            self.findings.refuse("R5", task, f"'{task.label}' does not send the residual stream, {', '.join(t.text for t in stream)}")
        if task.axis != "pipeline":
            self.findings.refuse("R5", task, f"'{task.label}' goes along the axis '{task.axis}', and stages are along 'pipeline'")
        if task.label != f"transfer.{task.phase}":
            self.findings.refuse("R5", task, f"the transfer is called '{task.label}', expected 'transfer.{task.phase}'")
        if task.source != border.source:
            self.findings.refuse("R5", task, f"'{task.label}' comes from '{task.source}', expected '{border.source}'")


def _phases(block: Block, training: bool) -> list[str]:
    return ["forward", "activation_gradient"] if training else [block.tasks[0].phase if block.tasks else "decode"]


def _is_layer(call: Operation) -> bool:
    """Whether a call gives what it takes: the residual stream."""
    return types_of(call.operands) == types_of(call.results)


def _number(value: Expr, facts: Facts) -> int | None:
    return value.substitute({name: constant(number) for name, number in facts.bindings.items()}).integer


def _dealt(network: Operation, counts: Mapping[Operation, int], quota: Sequence[int]) -> list[list[Run]]:
    """What each part runs, layer by layer: so many as its quota says."""
    rows: list[list[tuple[Operation, int]]] = [[] for _ in quota]
    place = taken = 0
    for call in calls(network):
        for _ in range(counts.get(call, 0)):
            if taken == quota[place]:
                place, taken = place + 1, 0
            taken += 1
            if rows[place] and rows[place][-1][0] is call:
                rows[place][-1] = (call, rows[place][-1][1] + 1)
            else:
                rows[place].append((call, 1))
        if call not in counts:
            rows[place].append((call, 0))
    return [[run for call, number in row for run in _named(call, number)] for row in rows]


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
