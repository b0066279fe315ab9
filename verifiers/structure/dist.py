"""The structure of a distributed module: references of its blocks, axes of its values, forms of its tasks (rules dist.R1 to dist.R5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain

from bpir.dialects.bind import Strategy, Workload, as_word
from bpir.dialects.bp import TensorType
from bpir.dialects.dist.placement import Group, Placement
from bpir.dialects.dist.tasks import Block, Compute, Mesh, Task
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.dialects.network import calls, networks
from bpir.ir.diagnostic import Diagnostic, error, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.syntax_part import Range
from bpir.verifiers.distribution.network_calls import runs
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR
from bpir.verifiers.model_operations import tensors_of
from bpir.verifiers.rulebooks import DIST
from bpir.verifiers.ssa.distinct_properties import counts_of, expected_count
from bpir.verifiers.stages.rows import verify_shares


def verify(module: Operation) -> list[Diagnostic]:
    """Everything that is wrong with the blocks of a distributed module by themselves."""
    ir = DistributedTaskIR(module)
    found: list[Diagnostic] = []
    for whole in networks(module)[:1]:
        found.extend(verify_shares(ir.symbols.facts, ir.stages, {n: (whole, t) for n, t in runs(calls(whole)).items()}, "block"))
    for block in (*ir.blocks, *ir.borders):
        found.extend(_references(ir, block))
        found.extend(_layouts(ir, block))
        found.extend(_forms(block))
    return found


def _layouts(ir: DistributedTaskIR, block: Block) -> list[Diagnostic]:
    """The faults in how the values of a block lie on its mesh, if it has one."""
    mesh = ir.mesh_of(block)
    if mesh is None:
        return []
    found = list(_axes(block, mesh.axes))
    for placement in ir.placements if not found else ():
        found.extend(_placed(block, placement))
    for placement in ir.placements:
        found.extend(_between(ir, block, placement))
    return found


@DIST.rule("R1", "a block names a mesh, a workload and a strategy of the module")
def _references(ir: DistributedTaskIR, block: Block) -> Iterable[Diagnostic]:
    for part, name, kind, known in (
        (Block.mesh, block.mesh, Mesh.name, _symbols(ir.meshes)),
        (Block.workload, block.workload, Workload.name, _symbols(ir.workloads)),
        (Block.strategy, block.strategy, Strategy.name, _symbols(ir.strategies)),
    ):
        if name not in known and block.says(part):
            yield error(f"the module has no {kind} @{name}{suggestion(name, known)} [dist.R1]", block.span)


def _symbols(named: Iterable[Mesh | Workload | Strategy]) -> list[str]:
    return [each.symbol for each in named]


@DIST.rule("R2", "each axis of a value is on the block's mesh")
def _axes(block: Block, mesh: Mapping[str, object]) -> Iterable[Diagnostic]:
    right: set[TensorType] = set()
    for operation, type in _tensors(block):
        if type not in right:
            wrong = _unknown_axes(operation, type, mesh)
            yield from wrong
            if not wrong:
                right.add(type)


def _unknown_axes(operation: Operation, type: TensorType, mesh: Mapping[str, object]) -> list[Diagnostic]:
    unknown = [axis for axis in _axes_of(type) if axis not in mesh]
    return [error(f"the mesh has no axis '{axis}'{suggestion(axis, mesh)} [dist.R2]", operation.span) for axis in unknown]


def _axes_of(type: TensorType) -> Iterable[str]:
    """The mesh axes that a type names, each once."""
    return dict.fromkeys((*chain.from_iterable(type.axes), *type.unreduced, *type.shared))


@DIST.rule(
    "R4",
    "a dimension is sharded as the module's placement says: an axis that it names wherever it is, one with `between` there or nowhere, "
    "and any other over no mesh axis of the placement; the shares of a reduced gradient are its own",
)
def _placed(block: Block, placement: Placement) -> Iterable[Diagnostic]:
    rule = _Placing(placement)
    for operation, type in _tensors(block):
        if not _is_shared_out(operation):
            for message in rule.wrong(type):
                yield error(f"{message}, the placement says; found {type.text} [dist.R4]", operation.span)


def _is_shared_out(operation: Operation) -> bool:
    """Whether an operation reduces gradients, whose shares no placement says."""
    task = Task.of(operation)
    return task is not None and task.phase == "gradient_reduction"


class _Placing:
    """Where the dimensions of types lie under a placement."""

    def __init__(self, placement: Placement) -> None:
        self._groups = {axis: group for group in placement.groups for axis in group.axes}
        self._used = {group.mesh_axis for group in placement.groups}
        self._names = {size.text: axis for axis, size in placement.resized.items()}
        self._of_experts = {axis for axis, group in self._groups.items() if group.mesh_axis == EXPERT}
        self.wrong = cache(self._wrong)  # thousands of values are of a few types

    def _wrong(self, type: TensorType) -> tuple[str, ...]:
        """The axes that lie otherwise, and where they must lie."""
        places = enumerate(zip(type.dims, type.axes, strict=True))
        return tuple(message for place, (dim, on) in places for message in self._wrong_dimension(place, dim, on))

    def _wrong_dimension(self, place: int, dim: Expr, on: Iterable[str]) -> Iterator[str]:
        axis = self._names.get(dim.text, dim.text)
        axes = tuple(mesh_axis for mesh_axis in on if mesh_axis in self._used)
        group = self._groups.get(axis)
        if not self._is_of_experts(place, axis, axes) and (group is not None or dim.symbols == (dim.text,)):
            yield from _elsewhere(axis, axes, group)  # a placement can't name a number or a composite

    def _is_of_experts(self, place: int, axis: str, axes: tuple[str, ...]) -> bool:
        """Whether the rows of a token lie where their experts do, which are the rows of weights."""
        at_rows = place == TOKEN_RANK and axes == (EXPERT,)
        return bool(self._of_experts) and (at_rows or (axis in self._of_experts and not axes))


@DIST.rule("R5", "in training a placement has an axis with `between` exactly if the block's strategy shards the sequence")
def _between(ir: DistributedTaskIR, block: Block, placement: Placement) -> Iterable[Diagnostic]:
    in_training = any(task.phase == "forward" for task in block.tasks)
    for strategy in [one for one in ir.strategies if one.symbol == block.strategy][:1] if in_training else ():
        shards = as_word(strategy.fields.get("communication")) == "reduce_scatter_all_gather"
        if shards != _shards_between(placement):
            wanted, found = ("an axis", "none") if shards else ("no axis", "one")
            message = f"@{strategy.symbol} shards {wanted} between tensor-parallel regions, and the placement names {found} [dist.R5]"
            yield error(message, placement.span)


def _shards_between(placement: Placement) -> bool:
    """Whether a placement shards an axis between tensor-parallel regions."""
    return any(group.between and group.mesh_axis == TENSOR for group in placement.groups)


def _elsewhere(axis: str, found: tuple[str, ...], group: Group | None) -> Iterator[str]:
    """Where an axis must lie, if it lies on other axes of the mesh than its group says; between regions it may lie there or nowhere."""
    wanted = f"on '{group.mesh_axis}'" if group is not None else "whole on every rank"
    allowed = {() if group is None else (group.mesh_axis,)}
    if group is not None and group.between:
        allowed.add(())
    if found not in allowed:
        yield f"the axis {axis} lies {wanted}"


def _tensors(block: Block) -> Iterator[tuple[Operation, TensorType]]:
    """The types of the tensors of a block, each with the operation that has it."""
    for type in tensors_of(block.arguments):
        yield block.operation, type
    for task in block.operation.body:
        for type in tensors_of(task.results):
            yield task, type


@DIST.rule(
    "R3",
    "a compute task works on tensors, as many and of such ranks as the operation of its kind; a write is to "
    "states, its last operands, one a result",
)
def _forms(block: Block) -> Iterable[Diagnostic]:
    for task in Compute.each(block.operation.body):
        wrong = _no_tensor(task) or _wrong_form(task) or _no_state(task)
        if wrong:
            yield error(f"'{task.label}', a task of kind '{task.kind}', {wrong} [dist.R3]", task.span)


def _no_tensor(task: Compute) -> str:
    other = next((v.type for v in (*task.operands, *task.results) if not isinstance(v.type, TensorType)), None)
    return f"works on !bp.tensor values, found {other.text}" if other is not None else ""


def _wrong_form(task: Compute) -> str:
    """A task that is a whole operation has its form; a gradient, a sum or an update has operands and results that its gate knows."""
    rule = task.rule if task.is_whole else None
    counts = counts_of(rule) if rule is not None else None
    if rule is None or counts is None:
        return ""
    states = len(task.results) if task.writes_state else 0
    return (
        expected_count("operand", _more(counts.operands, states), len(task.operands))
        or expected_count("result", counts.results, len(task.results))
        or _wrong_rank(task, rule)
    )


def _more(counts: Range, number: int) -> Range:
    """A range of counts that is larger by a number."""
    least, most = counts
    return least + number, None if most is None else most + number


def _wrong_rank(task: Compute, rule: ModelOperation) -> str:
    tensors = tensors_of((*task.operands, *task.results)) if rule.rank else []
    wrong = next((type for type in tensors if len(type.dims) != rule.rank), None)
    return f"works on tensors of {rule.rank} dimensions, found {wrong.text}" if wrong is not None else ""


def _no_state(task: Compute) -> str:
    if not task.writes_state or len(task.states) == len(task.results):
        return ""
    return "writes states, and its last operands are not one dist.state, or what was written to one, for each result"
