"""The envelope of a concrete plan: what every target has. Devices, memory, buffers with addresses, commands. No time.

Commands are in an order that respects their dependencies, buffers in the order of their offsets.
"""

from __future__ import annotations

from typing import Any

from bpir.dialects import sections
from bpir.dialects.bp import Work
from bpir.dialects.bp.parts import Integer, Times
from bpir.dialects.dist.parts import Amount, Components
from bpir.dialects.dist.tasks import PHASES
from bpir.dialects.plan import ROLES, STORAGE, Integers, Role
from bpir.ir.declaration import OperationDeclaration, Problems
from bpir.ir.diagnostic import suggestion
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Reference, References, SymbolName, Text, Word
from bpir.ir.syntax import Clause


class Plan(OperationDeclaration):
    """`concrete.plan`, then what was bound to what: fingerprints of the plan, of the target with its ABI revision, of the deployment.

    The fingerprint of the plan covers its tasks and buffers except for their order, sizes and work, which rules compare.
    """

    name = "concrete.plan"
    source_fingerprint = Text()
    target = Reference()
    abi = Integer()
    target_fingerprint = Text()
    deployment = Reference()
    deployment_fingerprint = Text()
    syntax = (
        Clause("source", (source_fingerprint,), optional=False),
        Clause("target", (target, Clause("abi", (abi,), optional=False, line=False), target_fingerprint), optional=False),
        Clause("deployment", (deployment, deployment_fingerprint), optional=False),
    )


class Devices(OperationDeclaration):
    """`concrete.devices @node.devices count <8>`: alike, counted from 0; each runs the commands as its own rank."""

    name = "concrete.devices"
    symbol = SymbolName()
    count = Amount()
    syntax = (symbol, Clause("count", (count,), optional=False, line=False))


class Region(OperationDeclaration):
    """`concrete.region @node.memory on @node.devices size <80*2**30>`: bytes of memory on each device.

    Without a size the region claims nothing of what fits into it.
    """

    name = "concrete.region"
    symbol = SymbolName()
    devices = Reference()
    size = Amount()
    syntax = (
        symbol,
        Clause("on", (devices,), optional=False, line=False),
        Clause("size", (size,), line=False),
    )


class Section(sections.Section):
    """`concrete.section @layer times L commands [2, 17] after @embedding carries [@layer.output -> @layer.input]`: a section of the plan.

    Its commands are those from the first to the last place, counted from 0: one program, that runs `times` times with the buffers of its
    repetition.
    """

    name = "concrete.section"
    commands = Integers()
    syntax = sections.section_syntax("commands", commands)

    @property
    def extent(self) -> range:
        return sections.extent(self.commands)


class Buffer(OperationDeclaration):
    """`concrete.buffer @workspace : workspace<transient> in @node.memory align 256`, then where it lies, how long it is, what it is from.

    Offset and size are bytes: numbers, or canonical expressions of symbols that have none yet. Of `times L` buffers repetition k lies one
    stride, the size rounded up to the alignment, after k-1; the offset is that of the first.
    """

    name = "concrete.buffer"
    symbol = SymbolName()
    role = Text()
    storage = Text()
    times = Times()
    region = Reference()
    alignment = Integer()
    offset = Amount()
    size = Amount()
    source = Text()
    syntax = (
        symbol,
        Role((role, storage)),
        Clause("times", (times,), line=False),
        Clause("in", (region,), optional=False, line=False),
        Clause("align", (alignment,), optional=False, line=False),
        Clause("offset", (offset,), optional=False),
        Clause("size", (size,), optional=False),
        Clause("from", (source,), optional=False),
    )

    def verify(self, operation: Operation, report: Problems) -> None:
        buffer = Buffer(operation)
        if buffer.role not in ROLES or buffer.storage not in STORAGE:
            report.error(operation, "unknown role or storage class of a buffer")
        alignment = buffer.alignment
        if alignment <= 0 or alignment & (alignment - 1):
            report.error(operation, f"the alignment of a buffer is a power of two, not {alignment}")


class Command(OperationDeclaration):
    """One command of a rank: bound 1:1 to a task of the plan, with the task's work, dependencies and buffers."""

    symbol = SymbolName()
    kind_of_work = Word("operation")
    source = Text()
    work = Components(kind=Work, keyword="work", start="bp_work_body")
    phase = Word()
    after = References()
    matmul = Amount()
    reads = References()
    writes = References()

    @property
    def kind(self) -> str:
        """`launch`, `collective`, `transfer`, `barrier` or `host_call`."""
        return self.operation.kind

    @property
    def by(self) -> str:
        """The implementation of the target that it runs; empty if it needs none."""
        return ""

    @property
    def ends(self) -> tuple[int, ...]:
        """The devices that a transfer leaves and reaches; none of other commands."""
        return ()

    def verify(self, operation: Operation, report: Problems) -> None:
        phase = Command(operation).phase
        if phase and phase not in PHASES:
            report.error(operation, f"unknown phase '{phase}'{suggestion(phase, PHASES)}")


def _command(*parts: Any) -> tuple[Any, ...]:
    return (
        Command.symbol,
        Command.kind_of_work,
        *parts,
        Clause("from", (Command.source,), optional=False),
        Clause("phase", (Command.phase,), line=False),
        Clause("after", (Command.after,)),
        Command.work,
        Clause("matmul", (Command.matmul,)),
        Clause("reads", (Command.reads,)),
        Clause("writes", (Command.writes,)),
    )


class Implemented(Command):
    """A command that runs an implementation of the target."""

    implementation = Text()

    @property
    def by(self) -> str:
        return self.implementation


_BY = Clause("by", (Implemented.implementation,), optional=False, line=False)


class Launch(Implemented):
    """`concrete.launch @mlp.gelu.decode gelu by "qm.map"`: runs an implementation of the target on the device."""

    name = "concrete.launch"
    syntax = _command(_BY)


class Collective(Implemented):
    """`concrete.collective @mlp.output_collective.decode all_reduce by "qm.all_reduce"`: the devices of a group take part."""

    name = "concrete.collective"
    syntax = _command(_BY)


class Transfer(Command):
    """`concrete.transfer @send transfer between [0, 1]`: moves bytes from one device to another one."""

    name = "concrete.transfer"
    devices = Integers()
    syntax = _command(Clause("between", (devices,), optional=False, line=False))

    @property
    def ends(self) -> tuple[int, ...]:
        return self.devices


class Barrier(Command):
    """`concrete.barrier @step barrier`: nothing after it begins before all that it is after has ended."""

    name = "concrete.barrier"
    syntax = _command()


class HostCall(Implemented):
    """`concrete.host_call @sample sample by "qm.host"`: runs an implementation of the target on the host."""

    name = "concrete.host_call"
    syntax = _command(_BY)


TRANSFER = "transfer"
"""The kind of command that moves bytes between devices."""

COMMANDS: dict[str, type[Command]] = {cls.name.partition(".")[2]: cls for cls in (Launch, Collective, Transfer, Barrier, HostCall)}
"""The command of each kind."""
