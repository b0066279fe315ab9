"""The levels as types: thin views of a module, each of which knows what its level has.

    ModelIR --distribute-*--> DistributedTaskIR --plan-*--> PortablePlanIR --bind-*--> ConcretePlanIR

A view changes nothing and copies nothing; it looks at the module once, when it is first asked. A derivation is a function from one of these
types to the next, so that a type checker refuses derivations in the wrong order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeVar

from bpir.dialects.bp import SymbolTable, symbol_table
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.operation import Operation, top_level

if TYPE_CHECKING:
    from bpir.dialects import bind, plan
    from bpir.dialects.concrete import envelope as concrete
    from bpir.dialects.dist import placement, stages
    from bpir.dialects.dist import tasks as dist
    from bpir.dialects.dist.facts import ActivationFacts, MemoryFacts
    from bpir.dialects.model import structure as model

_V = TypeVar("_V", bound=OperationDeclaration)


class ModuleIR:
    """A module of any level: its operations, its symbols, and the inputs of derivations.

    Attributes:
        module: the operation that is looked at.
    """

    level: ClassVar[str] = ""

    def __init__(self, module: Operation) -> None:
        self.module = module

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """The operations that are in no other operation than modules."""
        return top_level(self.module)

    @cached_property
    def symbols(self) -> SymbolTable:
        """The declared symbols, their relations and numbers, and what was assumed."""
        return symbol_table(self.module)

    @property
    def title(self) -> str:
        """The name of the module; empty if it has none."""
        from bpir.dialects.builtin import Module

        return Module(self.module).symbol

    def each(self, declaration: type[_V]) -> list[_V]:
        """The operations that the class declares, or one below it, in order."""
        found = [(declared, operations) for declared, operations in self._declared.items() if isinstance(declared, declaration)]
        if len(found) > 1:
            return declaration.each(self.operations)
        return [declared.__class__(operation) for declared, operations in found for operation in operations]

    @cached_property
    def _declared(self) -> dict[OperationDeclaration, list[Operation]]:
        """The operations of each declaration: a module has thousands of a few, and each of the lists below is of one or two."""
        found: dict[OperationDeclaration, list[Operation]] = {}
        for operation in self.operations:
            if operation.declaration is not None:
                found.setdefault(operation.declaration, []).append(operation)
        return found

    @cached_property
    def workloads(self) -> list[bind.Workload]:
        """The workload: what is run."""
        from bpir.dialects.bind import Workload

        return self.each(Workload)

    @cached_property
    def strategies(self) -> list[bind.Strategy]:
        """The strategy: how the model is spread over ranks."""
        from bpir.dialects.bind import Strategy

        return self.each(Strategy)

    @cached_property
    def targets(self) -> list[bind.Target]:
        """The machines that are known."""
        from bpir.dialects.bind import Target

        return self.each(Target)

    @cached_property
    def deployments(self) -> list[bind.Deployment]:
        """The deployment: where a plan may run."""
        from bpir.dialects.bind import Deployment

        return self.each(Deployment)


class ModelIR(ModuleIR):
    """A model: blocks of operations on symbolic tensors."""

    level = "model"

    @cached_property
    def blocks(self) -> list[model.Block]:
        """The blocks, in order."""
        from bpir.dialects.model.structure import Block

        return self.each(Block)

    @cached_property
    def expanded(self) -> ModelIR:
        """The model with each macro replaced by the operations that it stands for; itself if it has none."""
        from bpir.dialects.model.macro import expand

        module = expand(self.module)
        return self if module is self.module else ModelIR(module)


class DistributedTaskIR(ModuleIR):
    """One rank's tasks of each block, on a mesh, under a placement of axes."""

    level = "dist"

    @cached_property
    def meshes(self) -> list[dist.Mesh]:
        """The meshes, in order."""
        from bpir.dialects.dist.tasks import Mesh

        return self.each(Mesh)

    @cached_property
    def placements(self) -> list[placement.Placement]:
        """The operation that says which axes lie on the mesh; at most one in a sound module."""
        from bpir.dialects.dist.placement import Placement

        return self.each(Placement)

    @cached_property
    def blocks(self) -> list[dist.Block]:
        """The blocks, in order."""
        from bpir.dialects.dist.stages import Border
        from bpir.dialects.dist.tasks import Block

        return [block for block in self.each(Block) if not isinstance(block, Border)]

    @cached_property
    def borders(self) -> list[stages.Border]:
        """What goes from one stage of a pipeline to the next; one at most in a sound module."""
        from bpir.dialects.dist.stages import Border

        return self.each(Border)

    @cached_property
    def stages(self) -> list[stages.Stage]:
        """The stages of a pipeline, in the order of the network; none of a module that one device runs once a step."""
        from bpir.dialects.dist.stages import Stage

        return self.each(Stage)

    def mesh_of(self, block: dist.Block) -> dist.Mesh | None:
        """The mesh that a block is on; None if the module has none of its name."""
        return next((mesh for mesh in self.meshes if mesh.symbol == block.mesh), None)

    def reduces_early(self, block: dist.Block) -> bool:
        """Whether the strategy of a block has gradients of weights reduced in backward, not before the optimizer."""
        from bpir.dialects.replicas import reduces_in_backward

        return any(reduces_in_backward(strategy.fields) for strategy in self.strategies if strategy.symbol == block.strategy)

    @cached_property
    def is_training(self) -> bool:
        """Whether a block of it is a training step."""
        return any(block.is_training for block in self.blocks)


class PortablePlanIR(ModuleIR):
    """One rank's plan: tasks with work and requirements, and buffers; no devices and no addresses."""

    level = "plan"

    @cached_property
    def meshes(self) -> list[plan.Mesh]:
        """The mesh that the plan is one rank's of; one in a sound plan."""
        from bpir.dialects.plan import Mesh

        return self.each(Mesh)

    @cached_property
    def objectives(self) -> list[plan.Objective]:
        """The order of importance of resources; one in a sound plan."""
        from bpir.dialects.plan import Objective

        return self.each(Objective)

    @cached_property
    def tasks(self) -> list[plan.Task]:
        """The tasks, in an order that respects their dependencies."""
        from bpir.dialects.plan import Task

        return self.each(Task)

    @cached_property
    def buffers(self) -> list[plan.Buffer]:
        """The buffers, in order."""
        from bpir.dialects.plan import Buffer

        return self.each(Buffer)

    @cached_property
    def sections(self) -> list[plan.Section]:
        """The blocks that the plan runs, in order; none in a plan of one block without a network."""
        from bpir.dialects.plan import Section

        return self.each(Section)

    @cached_property
    def stages(self) -> list[plan.Stage]:
        """The stages of a pipeline, in the order of the network; none of a plan that one device runs once a step."""
        from bpir.dialects.plan import Stage

        return self.each(Stage)

    @cached_property
    def groups(self) -> list[plan.Concurrent]:
        """The groups of tasks that may run at once."""
        from bpir.dialects.plan import Concurrent

        return self.each(Concurrent)

    @cached_property
    def memory(self) -> list[MemoryFacts]:
        """The memory facts of layers."""
        from bpir.dialects.dist.facts import MemoryFacts

        return self.each(MemoryFacts)

    @cached_property
    def activations(self) -> list[ActivationFacts]:
        """The activations of a training step."""
        from bpir.dialects.dist.facts import ActivationFacts

        return self.each(ActivationFacts)


class ConcretePlanIR(ModuleIR):
    """A plan that is bound to a target and a deployment."""

    level = "concrete"

    @cached_property
    def plans(self) -> list[concrete.Plan]:
        """The record of a binding; one in a sound module."""
        from bpir.dialects.concrete.envelope import Plan

        return self.each(Plan)

    @cached_property
    def devices(self) -> list[concrete.Devices]:
        """The devices."""
        from bpir.dialects.concrete.envelope import Devices

        return self.each(Devices)

    @cached_property
    def regions(self) -> list[concrete.Region]:
        """The regions of memory."""
        from bpir.dialects.concrete.envelope import Region

        return self.each(Region)

    @cached_property
    def sections(self) -> list[concrete.Section]:
        """The blocks that it runs, in order; none of a plan without sections."""
        from bpir.dialects.concrete.envelope import Section

        return self.each(Section)

    @cached_property
    def buffers(self) -> list[concrete.Buffer]:
        """The bound buffers, in the order of their offsets."""
        from bpir.dialects.concrete.envelope import Buffer

        return self.each(Buffer)

    @cached_property
    def commands(self) -> list[concrete.Command]:
        """The commands, in an order that respects their dependencies."""
        from bpir.dialects.concrete.envelope import Command

        return self.each(Command)
