"""The operations of the `dist` dialect: a mesh, sharded values, compute and collective tasks with work."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from bpir.dialects import model as model
from bpir.dialects.bp import Work
from bpir.dialects.bp.parts import Integer
from bpir.dialects.dist import forms
from bpir.dialects.dist.facts import BlockActivations, Memory
from bpir.dialects.dist.parts import Amount, Components, MeshAxes
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.network import Called
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration, Problems
from bpir.ir.diagnostic import suggestion
from bpir.ir.operation import Operation, Value
from bpir.ir.property_parts import Flag, Reference, SymbolName, Text, Word, Words
from bpir.ir.syntax import Clause, EntryRegion, Operands, ResultTypes

PHASES = (
    "forward",
    "recompute",
    "recommunication",
    "activation_gradient",
    "weight_gradient",
    "gradient_reduction",
    "optimizer",
    "prefill",
    "decode",
)
WHOLE = ("forward", "recompute", "prefill", "decode")
"""The phases in which a compute task does a whole model operation."""


class Mesh(OperationDeclaration):
    """`dist.mesh @mesh = <["tensor"=t]>`: the logical mesh; axes in order, each with its size (as Shardy and JAX spell it)."""

    name = "dist.mesh"
    in_module = True
    symbol = SymbolName()
    axes = MeshAxes()
    syntax = (symbol, axes)


class Block(Called):
    """`dist.block @block from "block" on @mesh (%x: T) { ... }`: the tasks of one rank, in an order that respects data flow."""

    name = "dist.block"
    in_module = True
    isolated = True
    symbol = SymbolName()
    source = Text()
    mesh = Reference()
    workload = Reference()
    strategy = Reference()
    syntax = (
        symbol,
        Clause("from", (source,), optional=False, line=False),
        Clause("on", (mesh,), optional=False, line=False),
        Clause("workload", (workload,), line=False),
        Clause("strategy", (strategy,), optional=False, line=False),
        EntryRegion(),
    )

    @cached_property
    def tasks(self) -> list[Task]:
        """The tasks, in order."""
        return Task.each(self.operation.body)

    @cached_property
    def states(self) -> list[State]:
        """A value that outlives the run."""
        return State.each(self.operation.body)

    @cached_property
    def shares(self) -> list[Shares]:
        """The shares of weights."""
        return Shares.each(self.operation.body)

    @cached_property
    def memory(self) -> list[Memory]:
        """The memory facts of layers."""
        return Memory.each(self.operation.body)

    @cached_property
    def activations(self) -> list[BlockActivations]:
        """The activations of a training step."""
        return BlockActivations.each(self.operation.body)

    @property
    def is_training(self) -> bool:
        """Whether it is a training step."""
        return bool(self.activations)

    @property
    def arguments(self) -> list[Value]:
        """The values that come in."""
        return self.operation.arguments

    @property
    def ending(self) -> Return:
        """The operation that returns the results."""
        return Return(self.operation.body[-1])

    @property
    def returned(self) -> list[Value]:
        """The results."""
        return self.ending.operands

    def verify(self, operation: Operation, report: Problems) -> None:
        names: dict[str, Operation] = {}
        for child in operation.body:
            if child.dialect != self.dialect:
                report.error(child, f"'{child.name}' can't be in a dist.block: only operations of the dist dialect can")
            named = Task.of(child) or State.of(child) or Shares.of(child)
            name = named.label if named is not None else ""
            if name and name in names:
                report.error(child, f"task '{name}' is named twice", Problems.note(names[name], "first named here"))
            names.setdefault(name, child)
        if not operation.body or Return.of(operation.body[-1]) is None:
            report.error(operation, "a dist.block ends with 'dist.return'")


class Return(OperationDeclaration):
    """`dist.return %y`: the results of the block, or of the network."""

    name = "dist.return"
    holders = ("dist.block", "dist.border", "dist.network")
    syntax = (Operands(),)
    terminator = True


TRAINING_KINDS = ("fork", "adam")
"""Kinds of compute tasks that are no operation of a model."""


class State(OperationDeclaration):
    """`%K, %V = dist.state "attention.kv_cache" from "attention.core" : T, T`: values that outlive the run; one buffer of a plan."""

    name = "dist.state"
    label = Text("task")
    source = Text()
    syntax = (label, Clause("from", (source,), optional=False, line=False), ResultTypes())


class Shares(OperationDeclaration):
    """`%w = dist.shares "mlp.expand.shares" of "mlp.expand" from "mlp.expand" : T`: of each weight of a layer the share that a rank has.

    Source: Rajbhandari et al. 2019, section 5.3 (stage 3 of ZeRO).
    """

    name = "dist.shares"
    label = Text("task")
    layer = Text()
    source = Text()
    syntax = (
        label,
        Clause("of", (layer,), optional=False, line=False),
        Clause("from", (source,), optional=False, line=False),
        ResultTypes(),
    )


class Task(OperationDeclaration):
    """A task of one rank: a name, a phase, the model operation that it comes from, exact work."""

    label = Text("task")
    phase = Word()
    source = Text()
    work = Components(kind=Work, keyword="work", start="bp_work_body")
    weights = Amount()  # elements, of a compute task
    weight_bytes = Amount()  # what they take, where their format is another than that of activations
    tied = Text()  # the layer that the weights belong to, where that is another
    gathered = Integer()  # how many weights a compute task reads that were gathered for it: its last operands
    matmul = Amount()  # operations that matrix products do, of a compute task
    effects = Words()  # on a state, of a compute task
    unread = Flag()  # of a compute task
    experts = forms.experts  # of a compute task, where tokens go
    form = forms.form  # of a compute task, where it is not the first of its operation
    other_form = forms.other_form  # another one
    other_work = forms.other_work  # and what that would do
    kind_of_plan: ClassVar[str] = "compute"  # of what kind the task of a plan is

    @property
    def operands(self) -> list[Value]:
        """The operands, without gathered weights."""
        operands = self.operation.operands
        return operands[: len(operands) - self.gathered] if self.gathered else operands

    @property
    def gathered_weights(self) -> list[Value]:
        """The gathered weights that it reads."""
        return self.operation.operands[len(self.operands) :]

    @cached_property
    def layer(self) -> str:
        """The name without its phase."""
        return self.label.removesuffix("." + self.phase)

    @property
    def owner(self) -> str:
        """The layer that the weights belong to: its own, or the one that it is tied to."""
        return self.tied or self.layer

    @property
    def kind_of_work(self) -> str:
        """The model operation that a compute task is a part of, or the collective (`all_reduce`)."""
        return self.operation.kind

    @property
    def rule(self) -> ModelOperation | None:
        """The declaration of the model operation that a compute task is a part of: its work rules."""
        return None

    @property
    def overwritable(self) -> tuple[int, ...]:
        """The operands that its result may be written over, where they die there; of several lanes, by their places in a result's."""
        operands = self.operation.operands
        return self.rule.overwritable(operands[0].type) if self.rule is not None and operands else ()

    @property
    def needed(self) -> list[Task]:
        """The tasks that give what it reads, once a use."""
        return Task.each(v.producer for v in self.operation.operands if v.producer is not None)

    @property
    def read(self) -> list[Value]:
        """The values that it reads: its operands without the states that it writes."""
        states = len(self.operation.results) if self.writes_state else 0
        return self.operation.operands[: len(self.operation.operands) - states]

    @property
    def writes_state(self) -> bool:
        """Whether the task writes states: its last operands, one a result."""
        return False

    @property
    def states(self) -> list[Value]:
        """Those of the last operands, one a result, that are states: of a `dist.state`, or what a task wrote to one."""
        count = len(self.operation.operands) - len(self.operation.results)
        return [v for v in self.operation.operands[max(count, 0) :] if is_state(v)]

    def verify(self, operation: Operation, report: Problems) -> None:
        phase = Task(operation).phase
        if phase not in PHASES:
            report.error(operation, f"unknown phase '{phase}'{suggestion(phase, PHASES)}")
        forms.verify_other_form(operation, report)


class Compute(Task):
    """`%y = dist.compute "mlp.gelu.decode" gelu %x : T`, then clauses: the model operation `gelu` on one rank's part.

    `weights` counts the elements of weights on this rank, `bytes` says what they take where they are stored in another format than
    activations are, `tied` names the layer that they belong to, where that is another; `matmul` is the part of the operations that matrix
    products do; `effects` says whether the task reads or writes a state. Besides the model's operations training has `fork` (the sum of a
    value's gradients) and `adam` (the update of a layer's weights), which has no result. `unread` marks a repeated task of which backward
    reads nothing: the product with V under `recompute = core_attention`, whose result is kept. `experts` says how many tokens go to how
    many experts, `gathered 1` that its last operand is a weight, gathered from the ranks' shares; `form absorbed` that an operation is done
    in another way than its first, `otherwise` what another way would do.
    """

    name = "dist.compute"
    kind = Word()
    syntax = (
        Task.label,
        kind,
        Operands(),
        ResultTypes(optional=True),
        Clause("from", (Task.source,), optional=False),
        Clause("phase", (Task.phase,), optional=False, line=False),
        Clause("weights", (Task.weights,)),
        Clause("bytes", (Task.weight_bytes,), line=False),
        Clause("tied", (Task.tied,), line=False),
        Clause("gathered", (Task.gathered,), line=False),
        Clause("matmul", (Task.matmul,)),
        forms.EXPERTS,
        forms.FORM,
        Clause("effects", (Task.effects,)),
        Task.unread,
        Task.work,
        forms.OTHERWISE,
    )

    @property
    def kind_of_work(self) -> str:
        return self.kind

    @cached_property
    def rule(self) -> ModelOperation | None:
        declaration = DECLARATIONS.get("model." + self.kind)
        return declaration if isinstance(declaration, ModelOperation) else None

    @property
    def is_whole(self) -> bool:
        """Whether it does what the model operation of its kind does: it is no gradient and no update."""
        return self.phase in WHOLE

    @property
    def writes_state(self) -> bool:
        return "write" in self.effects

    def verify(self, operation: Operation, report: Problems) -> None:
        super().verify(operation, report)
        task = Compute(operation)
        if task.rule is None and task.kind not in TRAINING_KINDS:
            report.error(operation, f"unknown kind of task '{task.kind}'{suggestion(task.kind, (*kinds(), *TRAINING_KINDS))}")
        if task.unread and task.phase != "recompute":
            report.error(operation, "only a task of the phase recompute can be unread")
        for effect in task.effects:
            if effect not in ("read", "write"):
                report.error(operation, f"unknown effect '{effect}', expected read or write")


def is_state(value: Value) -> bool:
    """Whether the value is the content of a state: of a `dist.state`, or what a task wrote to one."""
    task = Task.of(value.producer)
    return task.writes_state if task is not None else State.of(value.producer) is not None


def kinds() -> list[str]:
    return [d.short_name for d in DECLARATIONS.values() if isinstance(d, ModelOperation)]
