"""The `plan` dialect: tasks with exact work, what they require, and buffers; portable, so without devices, addresses or time.

Tasks and buffers are symbols of one flat name space (dots belong to the name). The order of the tasks is the order of
the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

from bpir.dialects import sections
from bpir.dialects.bp import Vector, Work, vector_action
from bpir.dialects.bp.parts import Integer, Times, i64, is_number
from bpir.dialects.dist import forms
from bpir.dialects.dist.facts import ActivationFacts, MemoryFacts
from bpir.dialects.dist.parts import Amount, Components, MeshAxes
from bpir.dialects.dist.tasks import PHASES
from bpir.dialects.stages import StageRow, stage_syntax
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr
from bpir.ir.declaration import ATTRIBUTE_BODIES, GRAMMARS, Fragment, OperationDeclaration, ParseContext, Piece, Problems
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.dialect import Dialect, declare
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Property, Reference, References, SymbolName, Text, Word, Words
from bpir.ir.syntax import Clause
from bpir.ir.syntax_part import Part

declare(Dialect("plan", "plan", "PortablePlanIR", uses=("dist",)))

TASK_KINDS = ("compute", "collective", "transfer", "barrier", "host")
ROLES = ("input", "output", "constant", "state", "workspace", "activation", "gradient", "optimizer")
STORAGE = ("device_local", "persistent", "transient")
RESOURCES = ("compute", "memory", "network")
OBJECTIVES = RESOURCES
_V = TypeVar("_V", bound=Vector)


class Resources(Vector):
    """`#plan.resources<compute = ..., memory = ..., network = ...>`: projections of a task's work.

    compute = ops, memory = read + write (bytes), network = msg (bytes).
    """

    mnemonic = "plan.resources"
    compute: Expr
    memory: Expr
    network: Expr


@cache
def resources_of_work(work: Work) -> Resources:
    """`Q_compute = ops`, `Q_memory = read + write`, `Q_network = msg`."""
    return Resources(work.ops, work.read + work.write, work.msg)


GRAMMARS["plan"] = [
    Fragment(
        'plan_resources_body: (bp_work_item ("," bp_work_item)*)? -> plan_resources_body\n',
        {"plan_resources_body": vector_action(Resources, "resource")},
    )
]
ATTRIBUTE_BODIES["plan.resources"] = "plan_resources_body"


class Role(Part):
    """`: state<persistent>`: the role and the storage class of a buffer."""

    parts: tuple[Property[str], Property[str]]  # of the role and of the storage class

    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    def fragment(self, rule: str) -> Fragment:
        def action(context: ParseContext, values: list[Any], span: Span) -> Any:
            for word, choices, what in ((values[0], ROLES, "role"), (values[1], STORAGE, "storage class")):
                if word not in choices:
                    raise fail(
                        f"unknown {what} '{word}', expected one of: {', '.join(choices)}{suggestion(word, choices)}",
                        span,
                    )
            return values

        return Fragment(f'{rule}: ":" word "<" word ">" -> {rule}_is\n', {rule + "_is": action})

    def read(self, value: Any, draft: Any) -> None:
        draft.properties.update(zip(self.names(), map(StringAttr, value), strict=True))

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        role, storage = (part.value(operation.properties.get(part.name)) for part in self.parts)
        yield f" : {role}<{storage}>"


class Integers(Property[tuple[int, ...]]):
    """`[3, 5]`: integers."""

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f'{rule}: "[" integer ("," integer)* "]" -> {rule}_is\n',
            {rule + "_is": lambda c, v, s: ArrayAttr(tuple(IntegerAttr(i64(n, s), I64) for n in v))},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        if isinstance(attribute, ArrayAttr):
            yield "[" + ", ".join(str(v.value) for v in attribute.values if isinstance(v, IntegerAttr)) + "]"

    def expected(self, attribute: Attribute) -> str:
        good = isinstance(attribute, ArrayAttr) and attribute.values and all(map(is_number, attribute.values))
        return "" if good else "an array of 64-bit integers that are not negative"

    def value(self, attribute: Attribute | None) -> tuple[int, ...]:
        values = attribute.values if isinstance(attribute, ArrayAttr) else ()
        return tuple(v.value for v in values if isinstance(v, IntegerAttr))


def _text(attribute: Attribute | None) -> str:
    return attribute.value if isinstance(attribute, StringAttr) else ""


def _of_several(operation: Operation) -> bool:
    """Whether the operation is of one block of several, as its origin says: `layer/mlp.gate`. Of these short things share a line."""
    source, symbol = (_text(operation.properties.get(name)) for name in ("source", "sym_name"))
    block = source.partition("/")[0]
    return bool(block) and symbol.startswith(f"{block}.")


class Beside(Clause):
    """A clause that is on the line before it where the operation is of one block of several."""

    def before(self, operation: Operation) -> str:
        return " " if _of_several(operation) else super().before(operation)


class Short(Components[_V]):
    """Components that share a line where the operation is of one block of several."""

    def on_one_line(self, operation: Operation) -> bool:
        return _of_several(operation)


class Section(sections.Section):
    """`plan.section @layer times L tasks [2, 17] after @embedding carries [@layer.output -> @layer.input]`: a block of a network.

    Its tasks are those from the first to the last place, counted from 0; they run `times` times, once where nothing is said. `after` names
    the sections whose results it reads; where it reads several, or one of several, `takes` says which buffer goes to which. `carries` says
    what a repetition gives to the next: of a section, or of all sections from this one to the one with the buffer that it reads. Several
    sections may run the same tasks. Sections without `after` run in the order of the text.
    """

    name = "plan.section"
    tasks = Integers()
    syntax = sections.section_syntax("tasks", tasks)

    @property
    def extent(self) -> range:
        return sections.extent(self.tasks)


class Stage(StageRow):
    """`plan.stage 0 runs [@embedding.forward, @layer.forward times ceildiv(L, 4)] microbatches n in_flight min(n, 4)`.

    What one device of a pipeline runs of the sections, in their order, and how often for each microbatch; the updates of weights once
    a step. Of a device with several chunks of the network, which take turns with those of others, each is a stage of its own: `chunk 1`.
    A step runs forward and backward `microbatches` times, and `in_flight` of them are between their forward and their backward part at
    most: what backward reads is there so often. A plan without stages is run by one device, once a step.
    """

    name = "plan.stage"
    syntax = stage_syntax()


class Buffer(OperationDeclaration):
    """`plan.buffer @attention.kv_cache : state<persistent> times L align 256 live [2, 3]`, then its size and tasks.

    The size is in bytes on one rank, exact and symbolic, of one of `times` buffers: each repetition of a section has weights and a cache
    of its own, and repetition k uses the buffer k. `live` names the first and the last task that use it, counted from 0; a buffer
    lives at least from one to the other. `producers` write it, `consumers` read it (left out for a workspace, where every task without
    another buffer puts its values).
    """

    name = "plan.buffer"
    symbol = SymbolName()
    role = Text()
    storage = Text()
    times = Times()
    size = Amount()
    alignment = Integer()
    live = Integers()
    source = Text()
    producers = References()
    consumers = References()
    syntax = (
        symbol,
        Role((role, storage)),
        Clause("times", (times,), line=False),
        Clause("align", (alignment,), optional=False, line=False),
        Clause("live", (live,), optional=False, line=False),
        Clause("size", (size,), optional=False),
        Beside("from", (source,)),
        Beside("producers", (producers,)),
        Beside("consumers", (consumers,)),
    )

    def verify(self, operation: Operation, report: Problems) -> None:
        buffer = Buffer(operation)
        if buffer.role not in ROLES or buffer.storage not in STORAGE:
            report.error(operation, "unknown role or storage class of a buffer")
        alignment = buffer.alignment
        if alignment <= 0 or alignment & (alignment - 1):
            report.error(operation, f"the alignment of a buffer is a power of two, not {alignment}")


class Task(OperationDeclaration):
    """`plan.task @attention.core.decode compute attention from "attention.core.decode"`, then clauses: one task of one rank.

    `after` names the tasks whose results it needs; `work` is that of the distributed task, `resources` are its projections, `matmul` is
    the part of the operations that matrix products do; `requires` names capabilities, `alternatives` target-neutral ways to do it.
    `experts`, `form` and `otherwise` are those of the distributed task: where tokens go, and what another form would do. A transfer
    moves what it reads on one rank to what it writes on another: `between [0, 1]`, or from each rank `along "pipeline"`, an axis of the
    mesh, to the one behind it (in a task of backward to the one before it).
    """

    name = "plan.task"
    symbol = SymbolName()
    kind = Word(choices=TASK_KINDS)
    kind_of_work = Word("operation")
    work = Short(kind=Work, keyword="work", start="bp_work_body")
    source = Text()
    phase = Word()
    after = References()
    ranks = Integers()
    along = Text()
    resources = Short(kind=Resources, keyword="resources", start="plan_resources_body", optional=True)
    matmul = Amount()
    reads = References()
    writes = References()
    requires = Words()
    alternatives = Words()
    experts = forms.experts
    form = forms.form
    other_form = forms.other_form
    other_work = forms.other_work
    syntax = (
        symbol,
        kind,
        kind_of_work,
        Beside("from", (source,)),
        Clause("phase", (phase,), line=False),
        Clause("after", (after,)),
        Clause("between", (ranks,)),
        Clause("along", (along,)),
        work,
        resources,
        Beside("matmul", (matmul,)),
        forms.EXPERTS,
        forms.FORM,
        Clause("reads", (reads,)),
        Beside("writes", (writes,)),
        Beside("requires", (requires,)),
        Beside("alternatives", (alternatives,)),
        forms.OTHERWISE,
    )

    def verify(self, operation: Operation, report: Problems) -> None:
        phase = Task(operation).phase
        if phase and phase not in PHASES:
            report.error(operation, f"unknown phase '{phase}'{suggestion(phase, PHASES)}")
        forms.verify_other_form(operation, report)


class Mesh(OperationDeclaration):
    """`plan.mesh <["tensor"=t]> strategy @tp`: the plan is one rank's of this mesh, which the strategy spans.

    A deployment needs as many devices as the mesh has ranks.
    """

    name = "plan.mesh"
    axes = MeshAxes(sign="")
    strategy = Reference()
    syntax = (axes, Clause("strategy", (strategy,), optional=False, line=False))


class Concurrent(OperationDeclaration):
    """`plan.concurrent @attention.qkv.group [@attention.query.decode, ...]`: tasks with the same dependencies, free to run at once."""

    name = "plan.concurrent"
    symbol = SymbolName()
    tasks = References()
    syntax = (symbol, tasks)


class Objective(OperationDeclaration):
    """`plan.objective minimize [memory, network, compute]`: the resources in order of importance.

    Decode reads every weight for one token (memory first); prefill reuses it for every token (compute first).
    """

    name = "plan.objective"
    minimize = Words()
    syntax = (Clause("minimize", (minimize,), optional=False, line=False),)

    def verify(self, operation: Operation, report: Problems) -> None:
        words = Objective(operation).minimize
        for word in words:
            if word not in OBJECTIVES:
                report.error(operation, f"unknown resource '{word}'{suggestion(word, OBJECTIVES)}")
        if len(set(words)) != len(words):
            report.error(operation, "an objective names a resource twice")


class Memory(MemoryFacts):
    """`plan.memory "attention.query" dropped [activation]`, then the bytes: the memory facts of a layer, as distribution found them."""

    name = "plan.memory"
    syntax = (MemoryFacts.layer, Clause("dropped", (MemoryFacts.dropped,), line=False), MemoryFacts.facts)


class BlockActivations(ActivationFacts):
    """`plan.activations "block"`, then the bytes: the activations of a block."""

    name = "plan.activations"
    syntax = (ActivationFacts.layer, ActivationFacts.facts)
