"""The operations of the `dist` dialect: a mesh, sharded values, compute and collective tasks with work."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from bpir.dialects import model as model
from bpir.dialects.bp import TensorType, Work
from bpir.dialects.dist import forms
from bpir.dialects.dist.facts import BlockActivations, Memory
from bpir.dialects.dist.parts import Amount, CollectiveAxes, Components, MeshAxes
from bpir.dialects.model.base import ModelOperation, gather_work, reduction_work
from bpir.dialects.network import Called
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration, Report
from bpir.ir.diagnostic import suggestion
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.syntax import Clause, EntryRegion, Flag, Operands, Reference, ResultTypes, SymbolName, Text, Word, Words

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
        """What outlives the run."""
        return State.each(self.operation.body)

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

    def verify(self, operation: Operation, report: Report) -> None:
        names: dict[str, Operation] = {}
        for child in operation.body:
            if child.dialect != self.dialect:
                report.error(child, f"'{child.name}' can't stand in a dist.block: only operations of the dist dialect can")
            named = Task.of(child) or State.of(child)
            name = named.label if named is not None else ""
            if name and name in names:
                report.error(child, f"task '{name}' is named twice", Report.note(names[name], "first named here"))
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


class Task(OperationDeclaration):
    """A task of one rank: a name, a phase, the model operation that it comes from, exact work."""

    label = Text("task")
    phase = Word()
    source = Text()
    work = Components(kind=Work, keyword="work", start="bp_work_body")
    weights = Amount()  # elements, of a compute task
    weight_bytes = Amount()  # what they take, where their format is another than that of activations
    tied = Text()  # the layer that the weights belong to, where that is another
    matmul = Amount()  # operations that matrix products do, of a compute task
    effects = Words()  # on a state, of a compute task
    unread = Flag()  # of a compute task
    experts = forms.experts  # of a compute task, where tokens go
    form = forms.form  # of a compute task, where it is not the first of its operation
    other_form = forms.other_form  # another one
    other_work = forms.other_work  # and what that would do
    kind_of_plan: ClassVar[str] = "compute"  # of what kind the task of a plan is

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
        """What it reads: its operands without the states that it writes."""
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

    def verify(self, operation: Operation, report: Report) -> None:
        phase = Task(operation).phase
        if phase not in PHASES:
            report.error(operation, f"unknown phase '{phase}'{suggestion(phase, PHASES)}")


class Compute(Task):
    """`%y = dist.compute "mlp.gelu.decode" gelu %x : T`, then clauses: the model operation `gelu` on one rank's part.

    `weights` counts the elements of weights on this rank, `bytes` says what they take where they are stored in another format than
    activations are, `tied` names the layer that they belong to, where that is another; `matmul` is the part of the operations that matrix
    products do; `effects` says whether the task reads or writes a state. Besides the model's operations training has `fork` (the sum of a
    value's gradients) and `adam` (the update of a layer's weights), which has no result. `unread` marks a repeated task of which backward
    reads nothing: the product with V under `recompute = core_attention`, whose result is kept. `experts` says how many tokens go to how
    many experts, `form absorbed` that an operation is done in another way than its first, `otherwise` what another way would do.
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

    def verify(self, operation: Operation, report: Report) -> None:
        super().verify(operation, report)
        task = Compute(operation)
        if task.rule is None and task.kind not in TRAINING_KINDS:
            report.error(operation, f"unknown kind of task '{task.kind}'{suggestion(task.kind, (*kinds(), *TRAINING_KINDS))}")
        if task.unread and task.phase != "recompute":
            report.error(operation, "only a task of the phase recompute can be unread")
        for effect in task.effects:
            if effect not in ("read", "write"):
                report.error(operation, f"unknown effect '{effect}', expected read or write")


class Collective(Task):
    """A task in which the ranks of a mesh axis take part; `work` has the logical bytes of the message."""

    axes = CollectiveAxes()
    kind_of_plan = "collective"
    elements = Flag()  # whether it works on equal shares of the elements, whatever the dimensions
    reduces: ClassVar[bool] = False
    joins: ClassVar[bool] = False  # several tensors in one message, by their dimensions too
    in_place: ClassVar[tuple[int, ...]] = ()  # the operands that its result may be written over, where they die there

    @property
    def overwritable(self) -> tuple[int, ...]:
        return self.in_place

    @property
    def mesh_axes(self) -> list[str]:
        """The mesh axes of all dimensions, in order."""
        return [axis for axes in self.axes for axis in axes]

    def verify(self, operation: Operation, report: Report) -> None:
        super().verify(operation, report)
        names = Collective(operation).mesh_axes
        if len(set(names)) != len(names):
            report.error(operation, f"'{self.name}' names a mesh axis twice")
            return
        if len(operation.operands) != len(operation.results):
            counts = f"{len(operation.operands)} operand(s) and {len(operation.results)} result(s)"
            report.error(operation, f"'{self.name}' has one result for each operand, found {counts}")
            return
        if len(operation.operands) > 1 and not self.joins and not Collective(operation).elements:
            report.error(operation, f"'{self.name}' sends several tensors in one message only by their 'elements'")
            return
        for operand, result in zip(operation.operands, operation.results, strict=True):
            self._verify_types(operation, operand.type, result.type, report)

    def _verify_types(self, operation: Operation, operand: Attribute, result: Attribute, report: Report) -> None:
        names = Collective(operation).mesh_axes
        if not isinstance(operand, TensorType) or not isinstance(result, TensorType):
            report.error(operation, f"'{self.name}' works on !bp.tensor values")
            return
        expected = self.result(operand, operation)
        if expected is None:
            over = ", ".join(f'"{name}"' for name in names) or "no axis"
            need = "a partial sum over them (unreduced={...})" if self.reduces else "sharded as its axes say"
            if Collective(operation).elements and not self.reduces:
                need = "shared by its elements over them (shared={...})"
            report.error(operation, f"'{self.name}' over {over} needs an operand that is {need}, found {operand.text}")
        elif expected is not result:
            report.error(operation, f"the axes of '{self.name}' lead from {operand.text} to {expected.text}, not to {result.text}")

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        """The type that the collective gives; None if the operand does not fit."""
        raise NotImplementedError

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        """The work on one rank, from the local operand and result and the number of ranks that take part."""
        raise NotImplementedError


def _collective_syntax(*parts: Any, most: int | None = 1) -> tuple[Any, ...]:
    return (
        Task.label,
        *parts,
        Collective.axes,
        Operands(1, most),
        ResultTypes(maximum=most),
        Clause("from", (Task.source,), optional=False),
        Clause("phase", (Task.phase,), optional=False, line=False),
        Task.work,
    )


class AllReduce(Collective):
    r"""`%z = dist.all_reduce "attention.output_collective.decode" sum [{"tensor"}] %y : T`: every rank gets the sum.

    Each of `t` ranks reduces its `N/t` of `t` parts. Local traffic: read the operand, write the result; the message is the whole tensor.
    Several operands, each with its result, are one message: the gradients of a layer's weights in the phase `gradient_reduction`.

    Equations (`N` logical elements, `t` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = N(t-1)/t$
    - E2: $\mathrm{msg} = Ne$
    - E3: $\mathrm{read} = Ne$, $\mathrm{write} = Ne$

    Source: Rabenseifner 2004; Shoeybi et al. 2019, figure 3.
    """

    name = "dist.all_reduce"
    reduction = Word(choices=("sum", "max"))
    syntax = _collective_syntax(reduction, most=None)
    reduces = True
    joins = True
    in_place = (0,)

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        axes = Collective(operation).mesh_axes
        if not axes or not set(axes) <= set(operand.unreduced):
            return None
        unreduced = tuple(a for a in operand.unreduced if a not in axes)
        return TensorType(operand.dims, operand.axes, operand.element, unreduced, operand.shared)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return reduction_work(operand, result, ranks)


class AllGather(Collective):
    r"""`%z = dist.all_gather "attention.input_collective.forward" [{}, {"tensor"}, {}] %y : T`: every rank gets all shards.

    `elements [{"data"}]` gathers tensors from equal shares of their elements, several in one message: a layer's weights.

    Equations (`N` logical elements of the gathered tensor, `t` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$
    - E2: $\mathrm{msg} = Ne$
    - E3: $\mathrm{read} = Ne/t$, $\mathrm{write} = Ne$

    Source: Korthikanti et al. 2022, figure 5.
    """

    name = "dist.all_gather"
    syntax = _collective_syntax(Collective.elements, most=None)

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        gathered = Collective(operation).axes
        if Collective(operation).elements:
            whole = TensorType(operand.dims, operand.axes, operand.element, operand.unreduced)
            return whole if gathered == (operand.shared,) and operand.shared else None
        if operand.shared or len(gathered) != len(operand.dims) or not any(gathered):
            return None
        axes = []
        for have, gone in zip(operand.axes, gathered, strict=True):
            if not set(gone) <= set(have):
                return None
            axes.append(tuple(a for a in have if a not in gone))
        return TensorType(operand.dims, tuple(axes), operand.element, operand.unreduced)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return gather_work(operand, result)


class ReduceScatter(Collective):
    r"""`%z = dist.reduce_scatter "attention.output_collective.forward" sum [{}, {"tensor"}, {}] %y : T`: each rank gets a part of the sum.

    `elements [{"data"}]` gives each rank an equal share of the elements, `ceildiv(n, D)` of `n`, of several tensors in one message: the
    gradients of a layer's weights.

    Equations (`N` logical elements of the whole tensor, `t` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = N(t-1)/t$
    - E2: $\mathrm{msg} = Ne$
    - E3: $\mathrm{read} = Ne$, $\mathrm{write} = Ne/t$

    Source: Korthikanti et al. 2022, figure 5.
    """

    name = "dist.reduce_scatter"
    reduction = Word(choices=("sum",))
    syntax = _collective_syntax(reduction, Collective.elements, most=None)
    reduces = True

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        scattered = Collective(operation).axes
        names = tuple(a for axes in scattered for a in axes)
        if operand.shared or not names or not set(names) <= set(operand.unreduced):
            return None
        rest = tuple(a for a in operand.unreduced if a not in names)
        if Collective(operation).elements:
            return TensorType(operand.dims, operand.axes, operand.element, rest, names) if len(scattered) == 1 else None
        if len(scattered) != len(operand.dims):
            return None
        axes = tuple((*have, *new) for have, new in zip(operand.axes, scattered, strict=True))
        return TensorType(operand.dims, axes, operand.element, rest)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return reduction_work(operand, result, ranks)


def is_state(value: Value) -> bool:
    """Whether the value is the content of a state: of a `dist.state`, or what a task wrote to one."""
    task = Task.of(value.producer)
    return task.writes_state if task is not None else State.of(value.producer) is not None


def kinds() -> list[str]:
    return [d.short_name for d in DECLARATIONS.values() if isinstance(d, ModelOperation)]
