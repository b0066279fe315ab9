"""The envelope of a concrete plan: what every target has. Devices, memory, buffers with addresses, commands. No time.

Commands stand in an order that respects their dependencies, buffers in the order of their offsets.
"""

from __future__ import annotations

from typing import Any, ClassVar

from bpir.dialects.dist.parts import Components
from bpir.dialects.dist.tasks import PHASES
from bpir.dialects.plan import ROLES, STORAGE, Integers, Role, number_of, numbers_of, text_of
from bpir.ir.attributes import SymbolRefAttr
from bpir.ir.declaration import OperationDeclaration, Report
from bpir.ir.diagnostic import suggestion
from bpir.ir.operation import Operation
from bpir.ir.syntax import Body, Clause, Reference, References, SymbolName, Text, Word


class Plan(OperationDeclaration):
    """`concrete.plan`, then what was bound to what: fingerprints of the plan, of the target with its ABI revision, of the deployment.

    The fingerprint of the plan covers its tasks and buffers except for their order, sizes and work, which rules compare.
    """

    name = "concrete.plan"
    syntax = (
        Clause("source", (Text("source_fingerprint"),), optional=False),
        Clause(
            "target",
            (Reference("target"), Clause("abi", (Integers("abi"),), optional=False, line=False), Text("target_fingerprint")),
            optional=False,
        ),
        Clause("deployment", (Reference("deployment"), Text("deployment_fingerprint")), optional=False),
    )
    required = ("source_fingerprint", "target", "abi", "target_fingerprint", "deployment", "deployment_fingerprint")


class Devices(OperationDeclaration):
    """`concrete.devices @node.devices count <8>`: alike, counted from 0; each runs the commands as its own rank."""

    name = "concrete.devices"
    syntax = (SymbolName(), Clause("count", (Body("count", "bp_expr_body"),), optional=False, line=False))
    required = ("sym_name", "count")


class Region(OperationDeclaration):
    """`concrete.region @node.memory on @node.devices size <80*2**30>`: bytes of memory on each device.

    Without a size the region claims nothing of what fits into it.
    """

    name = "concrete.region"
    syntax = (
        SymbolName(),
        Clause("on", (Reference("devices"),), optional=False, line=False),
        Clause("size", (Body("size", "bp_expr_body"),), line=False),
    )
    required = ("sym_name", "devices")
    optional = ("size",)


class Buffer(OperationDeclaration):
    """`concrete.buffer @workspace : workspace<transient> in @node.memory align 256`, then where it lies, how long it is, what it is from.

    Offset and size are bytes: numbers, or canonical expressions of symbols that have none yet.
    """

    name = "concrete.buffer"
    syntax = (
        SymbolName(),
        Role(),
        Clause("in", (Reference("region"),), optional=False, line=False),
        Clause("align", (Integers("alignment"),), optional=False, line=False),
        Clause("offset", (Body("offset", "bp_expr_body"),), optional=False),
        Clause("size", (Body("size", "bp_expr_body"),), optional=False),
        Clause("from", (Text("source"),), optional=False),
    )
    required = ("sym_name", "role", "storage", "region", "alignment", "offset", "size", "source")

    def verify(self, operation: Operation, report: Report) -> None:
        if text_of(operation, "role") not in ROLES or text_of(operation, "storage") not in STORAGE:
            report.error(operation, "unknown role or storage class of a buffer")
        alignment = number_of(operation, "alignment")
        if alignment <= 0 or alignment & (alignment - 1):
            report.error(operation, f"the alignment of a buffer is a power of two, not {alignment}")


class Command(OperationDeclaration):
    """One command of a rank: bound 1:1 to a task of the plan, with the task's work, dependencies and buffers."""

    required: ClassVar[tuple[str, ...]] = ("sym_name", "operation", "source", "work")
    optional: ClassVar[tuple[str, ...]] = ("phase", "after", "matmul", "reads", "writes")

    def verify(self, operation: Operation, report: Report) -> None:
        phase = text_of(operation, "phase")
        if phase and phase not in PHASES:
            report.error(operation, f"unknown phase '{phase}'{suggestion(phase, PHASES)}")


def _command(*parts: Any) -> tuple[Any, ...]:
    return (
        SymbolName(),
        Word("operation"),
        *parts,
        Clause("from", (Text("source"),), optional=False),
        Clause("phase", (Word("phase"),), line=False),
        Clause("after", (References("after"),)),
        Components("work", "work", "bp_work_body"),
        Clause("matmul", (Body("matmul", "bp_expr_body"),)),
        Clause("reads", (References("reads"),)),
        Clause("writes", (References("writes"),)),
    )


_BY = Clause("by", (Text("implementation"),), optional=False, line=False)
_IMPLEMENTED = (*Command.required, "implementation")


class Launch(Command):
    """`concrete.launch @mlp.gelu.decode gelu by "qm.map"`: runs an implementation of the target on the device."""

    name = "concrete.launch"
    syntax = _command(_BY)
    required = _IMPLEMENTED


class Collective(Command):
    """`concrete.collective @mlp.output_collective.decode all_reduce by "qm.all_reduce"`: the devices of a group take part."""

    name = "concrete.collective"
    syntax = _command(_BY)
    required = _IMPLEMENTED


class Transfer(Command):
    """`concrete.transfer @send transfer between [0, 1]`: moves bytes from one device to another one."""

    name = "concrete.transfer"
    syntax = _command(Clause("between", (Integers("devices", True),), optional=False, line=False))
    required = (*Command.required, "devices")


class Barrier(Command):
    """`concrete.barrier @step barrier`: nothing after it begins before all that it is after has ended."""

    name = "concrete.barrier"
    syntax = _command()


class HostCall(Command):
    """`concrete.host_call @sample sample by "qm.host"`: runs an implementation of the target on the host."""

    name = "concrete.host_call"
    syntax = _command(_BY)
    required = _IMPLEMENTED


def is_command(operation: Operation) -> bool:
    return isinstance(operation.declaration, Command)


def kind_of(command: Operation) -> str:
    """`launch`, `collective`, `transfer`, `barrier` or `host_call`."""
    return command.name.partition(".")[2]


def devices_of(transfer: Operation) -> tuple[int, ...]:
    """The source and the destination of a transfer."""
    return numbers_of(transfer, "devices")


def reference_of(operation: Operation, name: str) -> str:
    """The symbol that a property refers to, without `@`; empty if absent."""
    value = operation.properties.get(name)
    return value.root if isinstance(value, SymbolRefAttr) else ""
