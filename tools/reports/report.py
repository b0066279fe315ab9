"""The contents of a report as plain values: work by task, memory, facts of layers, parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import attrs

from bpir.ir.expressions.error import ExpressionError
from bpir.ir.expressions.expression import ONE, ZERO, Expr, constant, maximum, total
from bpir.ir.records import fields

Fact = Expr | bool

MEANINGS = {
    "weights": "the weights of this rank",
    "kv_cache": "K and V of all visible tokens",
    "kv_cache_per_token": "K and V of one token, in all layers",
    "workspace": "values inside a step, which share the space",
    "activation_working": "what gradients read, kept or made again",
    "activation_stored": "the part of it kept from forward to backward",
    "activation_checkpoint": "inputs kept instead, under recompute = full",
    "weight_gradients": "this rank's share of the weight gradients",
    "weight_gradients_unsharded": "all of them in fp32, before they are shared out",
    "activation_gradients": "what all activation gradients write",
    "optimizer": "Adam's moments and any fp32 master weights",
    "peak": "the most held at once, in the plan's order",
}
"""The contents of each row of the memory, in a phrase."""

DIGITS = 4000
"""The most digits of a number that a report spells out."""


@attrs.frozen
class Work:
    """A work vector; `matmul` is the part of `ops` that is in matrix products."""

    ops: Expr = ZERO
    read: Expr = ZERO
    write: Expr = ZERO
    msg: Expr = ZERO
    matmul: Expr = ZERO


@attrs.frozen
class TaskRow:
    """One task and the work of one run of it."""

    name: str
    layer: str
    phase: str
    work: Work
    collective: str | None = None  # what kind of collective it is, if it is one
    moves: str | None = None  # `transfer`, `barrier` or `host`, if it is neither computation nor collective
    source: str = ""  # the layer or task that it is from
    after: tuple[str, ...] = ()  # the tasks whose results it needs
    reads: tuple[str, ...] = ()  # buffers
    writes: tuple[str, ...] = ()
    times: Expr = ONE  # how often it is run
    block: str = ""  # the block of a network that it is of
    operation: str = ""  # what it does, as `linear` or `fork`
    routing: tuple[Expr, Expr, Expr, Expr] | None = None  # tokens, experts that each is sent to, experts in all, and on this rank

    @property
    def expected_experts(self) -> Expr | str | None:
        """The distinct experts of this rank that tokens are expected to be sent to under uniform routing; None where a number is missing.

        `E/ep*(1 - (1 - k/E)**(T*ep))`: each expert is left out by a token with `1 - k/E`. Of more than `DIGITS` digits, as that expression.
        """
        numbers = [value.integer for value in self.routing or ()]
        if len(numbers) != 4 or None in numbers:
            return None
        tokens, top, experts, here = (number or 0 for number in numbers)
        left_out = 1 - Fraction(top, experts)
        if tokens * len(str(left_out.denominator)) > DIGITS:
            return f"{here} - {here}*({left_out})**{tokens}"
        return constant(here * (1 - left_out**tokens))

    def bound(self, values: Mapping[str, Expr]) -> TaskRow:
        """The same with expressions in place of symbols."""
        work = Work(**{name: value.substitute(values) for name, value in vector(self.work).items()})
        routing = self.routing
        if routing is not None:
            tokens, top, experts, here = (value.substitute(values) for value in routing)
            routing = tokens, top, experts, here
        return attrs.evolve(self, work=work, times=self.times.substitute(values), routing=routing)

    @property
    def in_all(self) -> Work:
        """The work of all its runs."""
        if self.times is ONE:
            return self.work
        return Work(**{name: self.times * value for name, value in vector(self.work).items()})

    @property
    def kind(self) -> str:
        return self.moves or ("compute" if self.collective is None else "collective")


@attrs.frozen
class AllRanks:
    """The work of all ranks of tensor parallelism and all replicas together, which is the sum of its parts
    (`tools/reports/report_ranks.py`).
    """

    count: Expr
    model: Work
    replicated: Work
    reduced: Work

    def parts(self) -> dict[str, Work]:
        """The parts by name, and their sum."""
        named = {"model": self.model, "replicated": self.replicated, "reduced": self.reduced}
        return {**named, "total": summed(named.values())}

    def bound(self, values: Mapping[str, Expr]) -> AllRanks:
        """The same with expressions in place of symbols."""
        works = (Work(**{n: v.substitute(values) for n, v in vector(w).items()}) for w in (self.model, self.replicated, self.reduced))
        return AllRanks(self.count.substitute(values), *works)


@attrs.frozen
class BufferRow:
    """One buffer of a plan: its size in bytes on one rank, the first and the last task that use it, and how many there are."""

    name: str
    role: str
    storage: str
    size: Expr
    live: tuple[int, ...] = ()
    times: Expr = ONE


@attrs.frozen
class SectionRow:
    """One section of a plan, or a call of a distributed network: how often it runs, and its tasks, by their places."""

    name: str
    times: Expr
    tasks: tuple[int, ...]
    after: tuple[str, ...] = ()


@attrs.frozen
class BlockParameters:
    """The weights of a block of a network: how many such blocks the model has, and the elements of each layer of one."""

    count: Expr
    layers: Mapping[str, Expr]

    @property
    def elements(self) -> Expr:
        """The elements of one of them."""
        return total(self.layers.values())


@attrs.frozen
class Parameters:
    """The weights of a whole model, in elements; what is tied is counted once, where its table is.

    Attributes:
        blocks: the blocks that the network calls, by name.
        embedding: the elements of the tables of tokens.
        head: the weights of the matrix product that gives what the network returns; 0 where these are a table of tokens.
    """

    blocks: Mapping[str, BlockParameters]
    embedding: Expr
    head: Expr

    @property
    def total(self) -> Expr:
        """The elements of all blocks."""
        return total(block.count * block.elements for block in self.blocks.values())


NOT_DERIVED = {
    "kernel workspaces": "what matrix products, attention and collectives need for themselves",
    "allocator": "its fragments, and what it keeps for later",
    "device context": "the driver's, the code of the kernels",
    "statistics of norms": "in f32, 8 bytes a token of a layer norm, 4 of an RMS norm, in each layer",
}
"""What a device holds besides, of which nothing is derived."""


@attrs.frozen
class Job:
    """A whole training or serving job.

    Attributes:
        stages: the memory of a device of each stage of the pipeline, in bytes by what it holds, with their `total`.
        microbatches: how often forward and backward run in a step.
        messages: bytes; `tensor_forward` and `tensor_backward` are sums over one block, `pipeline_forward` and `pipeline_backward` one
            message, `weight_gathers` the weights that a microbatch gathers of one block from their shares, `data_parallel` the gradients
            of the weights of one block.
        work: of a step over all ranks, stages and replicas: the `total`, and where it is known what of it the `model` alone would do, and
            what is `extra`.
        fused_attention: of each stage in training the `total`, were a fused kernel to compute attention, which writes no scores; nothing
            where no block has attention, or that is not known.
        fused_kernels: the same, were gated activations and the sums of gradients in f32 fused too (`docs/memory.md`).
    """

    stages: tuple[Mapping[str, Expr], ...]
    microbatches: Expr
    messages: Mapping[str, Expr]
    work: Mapping[str, Work] = attrs.field(factory=dict)
    fused_attention: tuple[Expr, ...] = ()
    fused_kernels: tuple[Expr, ...] = ()

    @property
    def is_staged(self) -> bool:
        """Whether there are several stages, or microbatches: else the report of the plan says all but the fullest moment."""
        return len(self.stages) > 1 or self.microbatches is not ONE

    @property
    def memory(self) -> Mapping[str, Expr]:
        """That of the fullest device; where symbols leave open which that is, the largest total alone."""
        if all(stage == self.stages[0] for stage in self.stages):
            return self.stages[0]
        totals = [stage["total"] for stage in self.stages]
        numbers = [value.constant for value in totals]
        if all(number is not None for number in numbers):
            return max(self.stages, key=lambda stage: stage["total"].constant or 0)
        try:
            return {"total": maximum(*dict.fromkeys(totals))}
        except ExpressionError:
            return {}

    def bound(self, values: Mapping[str, Expr]) -> Job:
        """The same with expressions in place of symbols."""

        def exprs(named: Mapping[str, Expr]) -> dict[str, Expr]:
            return {name: value.substitute(values) for name, value in named.items()}

        known = {id(stage): exprs(stage) for stage in self.stages}  # stages that are alike are one object
        work = {name: Work(**exprs(vector(each))) for name, each in self.work.items()}
        return attrs.evolve(
            self,
            stages=tuple(known[id(s)] for s in self.stages),
            microbatches=self.microbatches.substitute(values),
            messages=exprs(self.messages),
            work=work,
            fused_attention=tuple(held.substitute(values) for held in self.fused_attention),
            fused_kernels=tuple(held.substitute(values) for held in self.fused_kernels),
        )


@attrs.frozen
class Report:
    """Everything there is to say about a module.

    Attributes:
        module: the name of the module.
        level: `model`, `dist`, `plan` or `concrete`.
        tasks: the tasks in the order of the module; none at level `model`.
        memory: bytes by name, such as `weights` and `kv_cache`.
        held: bytes that a rank in training holds at once, at the tasks that may be the fullest (`tools/reports/peak.py`).
        layers: facts by layer, such as `weight_bytes` and `activation_stored`.
        parameters: numbers of elements by layer; only of a model that is one block without a network.
        network: the parameters of a model of several blocks.
        buffers: those of a plan.
        sections: those of a plan of a network, in order.
        per_token: the bytes of K and V of one token of one sequence, in all layers of a rank; None where that is not known.
        ranks: the work of all ranks of tensor parallelism, where there are several and the text says what one would do.
        job: the memory and the messages of the whole job, of a network.
        numbers: what has been put in for symbols.
    """

    module: str
    level: str
    tasks: tuple[TaskRow, ...] = ()
    memory: Mapping[str, Expr] = attrs.field(factory=dict)
    held: tuple[Expr, ...] = ()
    layers: Mapping[str, Mapping[str, Fact]] = attrs.field(factory=dict)
    parameters: Mapping[str, Expr] = attrs.field(factory=dict)
    network: Parameters | None = None
    buffers: tuple[BufferRow, ...] = ()
    sections: tuple[SectionRow, ...] = ()
    per_token: Expr | None = None
    ranks: AllRanks | None = None
    job: Job | None = None
    numbers: Mapping[str, Expr] = attrs.field(factory=dict)

    def bound(self, values: Mapping[str, Expr]) -> Report:
        """The report with expressions in place of symbols."""

        def fact(value: Fact) -> Fact:
            return value if isinstance(value, bool) else value.substitute(values)

        def exprs(named: Mapping[str, Expr]) -> dict[str, Expr]:
            return {name: value.substitute(values) for name, value in named.items()}

        def sized(row: BufferRow) -> BufferRow:
            return attrs.evolve(row, size=row.size.substitute(values), times=row.times.substitute(values))

        def counted(blocks: Mapping[str, BlockParameters]) -> dict[str, BlockParameters]:
            return {name: BlockParameters(block.count.substitute(values), exprs(block.layers)) for name, block in blocks.items()}

        whole = self.network
        if whole is not None:
            whole = Parameters(counted(whole.blocks), whole.embedding.substitute(values), whole.head.substitute(values))
        return attrs.evolve(
            self,
            tasks=tuple(t.bound(values) for t in self.tasks),
            memory=exprs(self.memory),
            held=tuple(value.substitute(values) for value in self.held),
            layers={layer: {name: fact(value) for name, value in facts.items()} for layer, facts in self.layers.items()},
            parameters=exprs(self.parameters),
            network=whole,
            buffers=tuple(sized(row) for row in self.buffers),
            per_token=self.per_token.substitute(values) if self.per_token is not None else None,
            sections=tuple(attrs.evolve(row, times=row.times.substitute(values)) for row in self.sections),
            ranks=self.ranks.bound(values) if self.ranks is not None else None,
            job=self.job.bound(values) if self.job is not None else None,
            numbers={**self.numbers, **values},
        )

    def memory_and_peak(self) -> dict[str, Expr]:
        """The memory and, in training, the `peak`; no peak while too many sizes with symbols may be the largest."""
        if not self.held:
            return dict(self.memory)
        numbers = [value.integer for value in self.held if value.integer is not None]
        symbolic = [value for value in dict.fromkeys(self.held) if value.integer is None]
        largest = [constant(max(numbers))] if numbers else []
        try:
            return {**self.memory, "peak": maximum(*symbolic, *largest)}
        except ExpressionError:
            return dict(self.memory)

    def memory_in_full(self) -> dict[str, Expr]:
        """The memory, with what a token takes of the cache."""
        found: dict[str, Expr] = {}
        for name, value in self.memory_and_peak().items():
            found[name] = value
            if name == "kv_cache" and self.per_token is not None:
                found["kv_cache_per_token"] = self.per_token
        return found

    def symbols(self) -> set[str]:
        """The symbols that occur."""
        found = [value for task in self.tasks for value in vector(task.work).values()]
        found += [*self.memory.values(), *self.held, *self.parameters.values()]
        found += [*(task.times for task in self.tasks), *(buffer.times for buffer in self.buffers)]
        found += [v for facts in self.layers.values() for v in facts.values() if not isinstance(v, bool)]
        if self.network is not None:
            found += [self.network.total]
        if self.ranks is not None:
            found += [self.ranks.count]
        if self.job is not None:
            found += _of_job(self.job)
        return {name for value in found for name in value.symbols}


def _of_job(job: Job) -> list[Expr]:
    """The expressions of a job."""
    found = [job.microbatches, *(value for stage in job.stages for value in stage.values())]
    return found + [value for work in job.work.values() for value in vector(work).values()]


def vector(work: Work) -> dict[str, Expr]:
    """The components of the work by name."""
    return {name: getattr(work, name) for name in fields(Work)}


def summed(works: Iterable[Work]) -> Work:
    """The sum of work vectors."""
    rows = [vector(work) for work in works]
    return Work(**{name: total(row[name] for row in rows) for name in fields(Work)})


def by_section(report: Report) -> dict[str, list[Work]]:
    """The work of each section of a plan, over all its runs."""
    return {row.name: [attrs.evolve(report.tasks[place], times=row.times).in_all for place in row.tasks] for row in report.sections}


def by_block(report: Report) -> dict[str, list[Work]]:
    """The work of each block of a network, over all its runs."""
    return {name: [task.in_all for task in tasks] for name, tasks in grouped(report.tasks, lambda task: task.block).items()}


def with_total(values: Mapping[str, Expr]) -> dict[str, Expr]:
    """The values and, as `total`, their sum, unless there is a `total` among them."""
    return {**values} if "total" in values else {**values, "total": total(values.values())}


def grouped(tasks: Iterable[TaskRow], key: Callable[[TaskRow], str]) -> dict[str, list[TaskRow]]:
    """The tasks by a key, keys and tasks in order of appearance."""
    found: dict[str, list[TaskRow]] = {}
    for task in tasks:
        found.setdefault(key(task), []).append(task)
    return found
