"""Properties of operations by their names: tests corrupt modules in ways that no accessor has."""

from __future__ import annotations

from bpir.dialects.bp import ExprAttr, Work
from bpir.dialects.concrete.envelope import Command
from bpir.ir.attributes import ArrayAttr, Attribute, DictAttr, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import references


def text_of(operation: Operation, name: str) -> str:
    """A string; empty if absent."""
    value = operation.properties.get(name)
    return value.value if isinstance(value, StringAttr) else ""


def symbol_of(operation: Operation) -> str:
    """The symbol that it defines."""
    return text_of(operation, "sym_name")


def name_of(operation: Operation) -> str:
    """The name of a distributed task or state."""
    return text_of(operation, "task")


def kind_of(operation: Operation) -> str:
    """The model operation of a distributed task; of others the name without the dialect."""
    compute = operation.name == "dist.compute"
    return text_of(operation, "kind") if compute else operation.name.partition(".")[2]


def number_of(operation: Operation, name: str) -> int:
    """An integer; 0 if absent."""
    value = operation.properties.get(name)
    return value.value if isinstance(value, IntegerAttr) else 0


def expr_of(operation: Operation, name: str) -> Expr:
    """An expression; 0 if absent."""
    value = operation.properties.get(name)
    return value.expr if isinstance(value, ExprAttr) else ZERO


def names_of(operation: Operation, name: str) -> tuple[str, ...]:
    """The symbols of a list."""
    return references(operation.properties.get(name))


def numbers_of(operation: Operation, name: str) -> tuple[int, ...]:
    """The integers of a list."""
    value = operation.properties.get(name)
    values = value.values if isinstance(value, ArrayAttr) else ()
    return tuple(v.value for v in values if isinstance(v, IntegerAttr))


def live_of(operation: Operation) -> tuple[int, ...]:
    """The lifetime of a buffer."""
    return numbers_of(operation, "live")


def work_of(operation: Operation) -> Work | None:
    """The work of a task or command."""
    value = operation.properties.get("work")
    return value if isinstance(value, Work) else None


def reference_of(operation: Operation, name: str) -> str:
    """A symbol that it names."""
    value = operation.properties.get(name)
    return value.root if isinstance(value, SymbolRefAttr) else ""


def fields_of(operation: Operation) -> dict[str, Attribute]:
    """The fields of a binding."""
    value = operation.properties.get("fields")
    return dict(value.entries) if isinstance(value, DictAttr) else {}


def devices_of(transfer: Operation) -> tuple[int, ...]:
    """The devices that a transfer leaves and reaches."""
    return numbers_of(transfer, "devices")


def is_command(operation: Operation) -> bool:
    """Whether it is a command of a concrete plan."""
    return isinstance(operation.declaration, Command)


def weights_of(task: Operation) -> Expr:
    """The elements of weights of a distributed task."""
    return expr_of(task, "weights")


def writes_state(task: Operation) -> bool:
    """Whether a distributed task writes states."""
    value = task.properties.get("effects")
    return isinstance(value, ArrayAttr) and StringAttr("write") in value.values
