"""Binding of a plan to a target: the envelope, and what the target's dialect adds to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bpir.dialects import plan as plan
from bpir.dialects.bind import Deployment, Target, as_expr
from bpir.dialects.bp import Assume, ExprAttr, product, relations_attribute
from bpir.dialects.concrete import envelope as concrete
from bpir.dialects.concrete.contract import (
    COMMAND_OF_KIND,
    IMPLEMENTED,
    aligned,
    fingerprint,
    implementation,
    implementation_keys,
    offsets,
    plan_fingerprint,
)
from bpir.dialects.concrete.extension import extension_of
from bpir.dialects.levels import ConcretePlanIR, ModuleIR, PortablePlanIR
from bpir.dialects.plan import Buffer, Section, Task
from bpir.ir.attributes import I64, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, Source, Span, fail, note
from bpir.ir.expressions.expression import Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.property_parts import symbol_of
from bpir.ir.relations.facts import Relation
from bpir.passes.base import DerivationPass, option
from bpir.passes.context import PassContext
from bpir.passes.distribution.distribution import new_module
from bpir.passes.inputs import Binding, inputs_of


class BindTargetPass(DerivationPass[PortablePlanIR, ConcretePlanIR]):
    r"""Binds a plan to the target that the file names, of whatever kind: commands, buffers with offsets, what the target's dialect adds.

    Boundary: portable-plan IR to concrete-plan IR.

    Input invariant: a plan whose tasks are in the order of their dependencies; a `bind.target` and a `bind.deployment`, in the file
    or in the one that `target_file` names.

    Equations (for every task $i$ and buffer $i$, in the order of the plan):

    - E1: $W_i^{concrete} = W_i^{plan}$
    - E2: $a_i = \max(16, r_i)$, with $r_i$ the larger of the buffer's and the target's alignment
    - E3: $o_0 = 0$
    - E4: $o_i = \lceil (o_{i-1} + s_{i-1}) / a_i \rceil a_i$

    Conserved: tasks (one command each), dependencies, buffers and their sizes, what reads and writes them, work.

    Deviations from the papers: none; a deterministic reference contract. Buffers never share memory, whatever their lifetimes.

    Evidence (structural verifier and cross-boundary predicates): the rules of the envelope (concrete.R1 to R8), of the target's
    dialect and of the boundary (those of bind-queue, R1 to R17), each with a module that it refuses; the layout and what the target's
    dialect adds are a canonical construction, which the gate states in its own words; layouts are compared with integer arithmetic on
    random sizes. E1 to E4 are proved from this text against bound plans in `tests/project/equations/`. Unverified: no machine has
    run a bound plan; the target is a reference, not a product.

    Example:

        $ bp-opt examples/gpt2.bpir --pass=distribute-inference --pass=plan-inference --pass='bind-symbols{B=1 c=1024}' \
            --pass='bind-target{target_file=examples/targets/slot_machine.bpir}'

    References: none; the contract is `dialects/concrete/contract.py` and the dialect of the target.
    """

    name = "bind-target"
    reads = ("target", "deployment")
    kind: ClassVar[str] = ""  # of the targets that the pass binds to; any if empty

    chosen_target: str | None = option("the bind.target to use, where there are several", "symbol", name="target")
    chosen_deployment: str | None = option("the bind.deployment to use, where there are several", "symbol", name="deployment")
    target_file: str | None = option("a file with a bind.target, or a bind.deployment, to use as if it stood in the module")
    devices: Expr | None = option("number of devices", "expression")
    memory: Expr | None = option("bytes of memory of each device", "expression")

    def run(self, ir: PortablePlanIR, context: PassContext) -> ConcretePlanIR:
        if ir.stages:
            message = "a plan of stages can't be bound yet: each device would run a part of it, microbatch after microbatch"
            raise fail(message, ir.stages[0].span, note("bp-report says what a device of each stage holds"))
        others = self._others(ir, context)
        machine = context.target(self.kind, self.chosen_target, others)
        deployment = context.deployment(self.chosen_deployment, others)
        deployment.expr("devices", f"pass '{self.name}'")
        kind = Target(machine.operation).kind
        extension = extension_of(kind)
        if extension is None:
            raise fail(f"nothing is known of targets of the kind '{kind}'", machine.operation.span)
        place = context.place("memory", "devices") or deployment.operation.span
        envelope = _Envelope(ir, Target(machine.operation), Deployment(deployment.operation), place)
        commands = envelope.commands()
        return ConcretePlanIR(
            new_module(
                ir.module,
                [
                    *inputs_of(ir.module, machine, deployment),
                    *self._enough_devices(ir, deployment),
                    *envelope.machine(),
                    *envelope.sections(),
                    *envelope.buffers(),
                    *commands,
                    *extension.operations(commands),
                ],
            )
        )

    def _enough_devices(self, plan: PortablePlanIR, deployment: Binding) -> list[Operation]:
        """The assumption about devices: one for each rank of the mesh, if that is neither proved nor refuted."""
        table = plan.symbols
        mesh = next(iter(plan.meshes), None)
        devices = as_expr(deployment.fields.get("devices"))
        if mesh is None or devices is None:  # a plan that says no mesh, its gate judges
            return []
        numbers = {name: constant(value) for name, value in table.bindings.items()}
        ranks = product(mesh.axes.values()).substitute(numbers)
        enough = Relation("greater", (devices + 1).substitute(numbers), ranks)
        decided = table.facts.greater(enough.left, ranks).proved or table.facts.at_least(ranks, enough.left).proved
        return [] if decided else [Assume.build(properties={"relations": relations_attribute([enough])})]

    def _others(self, ir: PortablePlanIR, context: PassContext) -> list[Operation]:
        """The targets and deployments of the file that an option names."""
        if self.target_file is None:
            return []
        span = context.place("target_file")
        other = ModuleIR(read_file(self.target_file, span))
        found = [o for o in other.operations if isinstance(o.declaration, Target | Deployment)]
        if not found:
            raise fail(f"'{self.target_file}' has no bind.target and no bind.deployment", span)
        names = {symbol_of(o): o for o in ir.operations if symbol_of(o)}
        for operation in found:
            twice = names.get(symbol_of(operation))
            if twice is not None:
                raise fail(f"the module has a @{symbol_of(operation)} already", operation.span, note("it is here", twice.span))
        return found


def read_file(path: str, span: Span | None) -> Operation:
    """The module of a file that an option names (its text is bytes decoded as latin-1, so is the path).

    Raises:
        DiagnosticError: it can't be read, or is malformed.
    """
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.parser import parse_module
    from bpir.verifiers.ssa import operations as structure

    try:
        with open(path.encode("latin-1"), "rb") as file:
            text = file.read().decode("latin-1")
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "the name is not usable"
        raise fail(f"cannot read '{path}': {reason}", span) from None
    module = parse_module(Source(path, text))
    problems = structure.verify(module)
    if problems:
        raise DiagnosticError(*problems)
    return module


class _Envelope:
    """The envelope that every target has, for one plan, one target and one deployment."""

    def __init__(self, plan: PortablePlanIR, machine: Target, deployment: Deployment, place: Span | None) -> None:
        self.plan, self.target, self.deployment, self.place = plan, machine, deployment, place
        self.numbers = {name: constant(value) for name, value in plan.symbols.bindings.items()}
        self.devices = f"{deployment.symbol}.devices"
        self.memory = f"{deployment.symbol}.memory"

    def machine(self) -> list[Operation]:
        """The record of a binding: plan, target, deployment, devices, memory. Bound numbers are put in."""
        abi = as_expr(self.target.fields.get("abi"))
        header: dict[str, Attribute] = {
            "source_fingerprint": StringAttr(plan_fingerprint(self.plan.operations)),
            "target": _reference(self.target.symbol),
            "abi": _integer(abi.integer or 0 if abi is not None else 0),
            "target_fingerprint": StringAttr(fingerprint(self.target.operation)),
            "deployment": _reference(self.deployment.symbol),
            "deployment_fingerprint": StringAttr(fingerprint(self.deployment.operation)),
        }
        devices: dict[str, Attribute] = {"sym_name": StringAttr(self.devices), "count": self._field("devices")}
        region: dict[str, Attribute] = {"sym_name": StringAttr(self.memory), "devices": _reference(self.devices)}
        if "memory" in self.deployment.fields:
            region["size"] = self._field("memory")
        return [
            concrete.Plan.build(properties=header, span=self.target.span),
            concrete.Devices.build(properties=devices, span=self.place),
            concrete.Region.build(properties=region, span=self.place),
        ]

    def _field(self, name: str) -> Attribute:
        value = as_expr(self.deployment.fields[name])
        assert value is not None
        return ExprAttr(value.substitute(self.numbers))

    def buffers(self) -> list[Operation]:
        """Every buffer of the plan at its offset, in the order of the plan."""
        least = as_expr(self.target.fields.get("alignment"))
        target = (least.integer if least is not None else None) or 1
        alignments = [aligned(buffer.alignment, target) for buffer in self.plan.buffers]
        buffers = self.plan.buffers
        places = offsets([buffer.size for buffer in buffers], alignments, [buffer.times for buffer in buffers])
        found = []
        for buffer, alignment, offset in zip(self.plan.buffers, alignments, places, strict=True):
            properties = buffer.attributes(Buffer.symbol, Buffer.role, Buffer.storage, Buffer.times, Buffer.size)
            properties |= {"region": _reference(self.memory), "alignment": _integer(alignment)}
            properties |= {"offset": ExprAttr(offset), "source": StringAttr(buffer.symbol)}
            found.append(concrete.Buffer.build(properties=properties, span=buffer.span))
        return found

    def sections(self) -> list[Operation]:
        """Every section of the plan, with the commands of its tasks."""
        copied = (Section.symbol, Section.times, Section.after, Section.takes, Section.carries)
        found = []
        for section in self.plan.sections:
            properties = section.attributes(*copied)
            properties[concrete.Section.commands.name] = section.operation.properties[Section.tasks.name]
            found.append(concrete.Section.build(properties=properties, span=section.span))
        return found

    def commands(self) -> list[Operation]:
        """A command for each task, in the order of the plan.

        Raises:
            DiagnosticError: the target does not implement a task; all such tasks are reported.
        """
        from bpir.ir.diagnostic import DiagnosticError

        found: list[Operation] = []
        missing: list[Diagnostic] = []
        copied = (Task.symbol, Task.kind_of_work, Task.phase, Task.after, Task.work, Task.matmul, Task.reads, Task.writes)
        implements = self.target.implements
        for task in self.plan.tasks:
            kind = COMMAND_OF_KIND[task.kind]
            properties = task.attributes(*copied)
            properties["source"] = StringAttr(task.symbol)
            if kind in IMPLEMENTED:
                reference = implementation(task, implements)
                if reference is None:
                    missing.extend(self._not_implemented(task))
                    continue
                properties["implementation"] = StringAttr(reference)
            if kind == concrete.TRANSFER:
                properties[concrete.Transfer.devices.name] = task.operation.properties[Task.ranks.name]
            found.append(concrete.COMMANDS[kind].build(properties=properties, span=task.span))
        if missing:
            raise DiagnosticError(*missing)
        return found

    def _not_implemented(self, task: Task) -> Iterable[Diagnostic]:
        listed = " or ".join(dict.fromkeys(f"'{key} = ...'" for key in implementation_keys(task)))
        where = note(f"add {listed} to what it implements", self.target.span)
        yield from fail(f"the target @{self.target.symbol} has no implementation of @{task.symbol}", task.span, where).diagnostics


def _reference(name: str) -> SymbolRefAttr:
    return SymbolRefAttr((name,))


def _integer(value: int) -> IntegerAttr:
    return IntegerAttr(value, I64)
