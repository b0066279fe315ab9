"""The `plan` dialect: tasks with exact work, what they require, and buffers; portable, so without devices, addresses or time.

Tasks and buffers are symbols of one flat name space (dots belong to the name). The order of the tasks is the order of
the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from bpir.dialects.bp import ExprAttr, Vector, Work, vector_action
from bpir.dialects.dist.parts import Components, MeshAxes
from bpir.dialects.dist.tasks import PHASES, MemoryFacts
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr
from bpir.ir.declaration import ATTRIBUTE_BODIES, GRAMMARS, Fragment, OperationDeclaration, ParseContext, Piece, Report
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.dialect import Dialect, declare
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.syntax import (
    Body,
    Clause,
    Part,
    Property,
    Reference,
    References,
    SymbolName,
    Text,
    Word,
    Words,
    references,
    strings,
)

declare(Dialect("plan", "plan", "PortablePlanIR", uses=("dist",)))

TASK_KINDS = ("compute", "collective", "transfer", "barrier", "host")
ROLES = ("input", "output", "constant", "state", "workspace", "activation", "gradient", "optimizer")
STORAGE = ("device_local", "persistent", "transient")
RESOURCES = ("compute", "memory", "network")
OBJECTIVES = RESOURCES


@attrs.frozen(eq=False)
class Resources(Vector):
    """`#plan.resources<compute = ..., memory = ..., network = ...>`: projections of a task's work.

    compute = ops, memory = read + write (bytes), network = msg (bytes).
    """

    mnemonic = "plan.resources"
    compute: Expr
    memory: Expr
    network: Expr


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


@attrs.frozen(eq=False)
class Role(Part):
    """`: state<persistent>`: the role and the storage class of a buffer."""

    def names(self) -> tuple[str, ...]:
        return ("role", "storage")

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
        draft.properties["role"], draft.properties["storage"] = map(StringAttr, value)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        yield f" : {text_of(operation, 'role')}<{text_of(operation, 'storage')}>"


@attrs.frozen(eq=False)
class Integers(Property):
    """`[3, 5]` or `256`: integers."""

    array: bool = False

    def fragment(self, rule: str) -> Fragment:
        if not self.array:
            return Fragment(f"{rule}: integer -> {rule}_is\n", {rule + "_is": lambda c, v, s: IntegerAttr(_i64(v[0], s), I64)})
        return Fragment(
            f'{rule}: "[" integer ("," integer)* "]" -> {rule}_is\n',
            {rule + "_is": lambda c, v, s: ArrayAttr(tuple(IntegerAttr(_i64(n, s), I64) for n in v))},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        if isinstance(attribute, IntegerAttr):
            yield str(attribute.value)
        elif isinstance(attribute, ArrayAttr):
            yield "[" + ", ".join(str(v.value) for v in attribute.values if isinstance(v, IntegerAttr)) + "]"

    def expected(self, attribute: Attribute) -> str:
        if not self.array:
            return "" if _is_number(attribute) else "a 64-bit integer that is not negative"
        good = isinstance(attribute, ArrayAttr) and attribute.values and all(map(_is_number, attribute.values))
        return "" if good else "an array of 64-bit integers that are not negative"


def _is_number(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.type is I64 and attribute.value >= 0


def _i64(value: int, span: Span) -> int:
    if not 0 <= value < 2**63:
        raise fail("expected a 64-bit number", span)
    return value


class Buffer(OperationDeclaration):
    """`plan.buffer @attention.kv_cache : state<persistent> align 256 live [2, 3]`, then its size and tasks.

    The size is in bytes on one rank, exact and symbolic. `live` names the first and the last task that use it, counted from 0; a buffer
    lives at least from one to the other. `producers` write it, `consumers` read it (left out for a workspace, where every task without
    another buffer puts its values).
    """

    name = "plan.buffer"
    syntax = (
        SymbolName(),
        Role(),
        Clause("align", (Integers("alignment"),), optional=False, line=False),
        Clause("live", (Integers("live", True),), optional=False, line=False),
        Clause("size", (Body("size", "bp_expr_body"),), optional=False),
        Clause("from", (Text("source"),)),
        Clause("producers", (References("producers"),)),
        Clause("consumers", (References("consumers"),)),
    )
    required = ("sym_name", "role", "storage", "size", "alignment", "live")
    optional = ("source", "producers", "consumers")

    def verify(self, operation: Operation, report: Report) -> None:
        if text_of(operation, "role") not in ROLES or text_of(operation, "storage") not in STORAGE:
            report.error(operation, "unknown role or storage class of a buffer")
        alignment = number_of(operation, "alignment")
        if alignment <= 0 or alignment & (alignment - 1):
            report.error(operation, f"the alignment of a buffer is a power of two, not {alignment}")


class Task(OperationDeclaration):
    """`plan.task @attention.core.decode compute attention from "attention.core.decode"`, then clauses: one task of one rank.

    `after` names the tasks whose results it needs; `work` is that of the distributed task, `resources` are its projections, `matmul` is
    the part of the operations that matrix products do; `requires` names capabilities, `alternatives` target-neutral ways to do it. A
    transfer moves what it reads on one rank to what it writes on another: `between [0, 1]`.
    """

    name = "plan.task"
    syntax = (
        SymbolName(),
        Word("kind", TASK_KINDS),
        Word("operation"),
        Clause("from", (Text("source"),)),
        Clause("phase", (Word("phase"),), line=False),
        Clause("after", (References("after"),)),
        Clause("between", (Integers("ranks", True),)),
        Components("work", "work", "bp_work_body"),
        Components("resources", "resources", "plan_resources_body", optional=True),
        Clause("matmul", (Body("matmul", "bp_expr_body"),)),
        Clause("reads", (References("reads"),)),
        Clause("writes", (References("writes"),)),
        Clause("requires", (Words("requires"),)),
        Clause("alternatives", (Words("alternatives"),)),
    )
    required = ("sym_name", "kind", "operation", "work")
    optional = ("source", "phase", "after", "ranks", "resources", "matmul", "reads", "writes", "requires", "alternatives")

    def verify(self, operation: Operation, report: Report) -> None:
        phase = text_of(operation, "phase")
        if phase and phase not in PHASES:
            report.error(operation, f"unknown phase '{phase}'{suggestion(phase, PHASES)}")


class Mesh(OperationDeclaration):
    """`plan.mesh <["tensor"=t]> strategy @tp`: the plan is one rank's of this mesh, which the strategy spans.

    A deployment needs as many devices as the mesh has ranks.
    """

    name = "plan.mesh"
    syntax = (MeshAxes(sign=""), Clause("strategy", (Reference("strategy"),), optional=False, line=False))
    required = ("axes", "strategy")


class Concurrent(OperationDeclaration):
    """`plan.concurrent @attention.qkv.group [@attention.query.decode, ...]`: tasks with the same dependencies, free to run at once."""

    name = "plan.concurrent"
    syntax = (SymbolName(), References("tasks"))
    required = ("sym_name", "tasks")


class Objective(OperationDeclaration):
    """`plan.objective minimize [memory, network, compute]`: the resources in order of importance.

    Decode reads every weight for one token (memory first); prefill reuses it for every token (compute first).
    """

    name = "plan.objective"
    syntax = (Clause("minimize", (Words("minimize"),), optional=False, line=False),)
    required = ("minimize",)

    def verify(self, operation: Operation, report: Report) -> None:
        words = strings(operation.properties.get("minimize"))
        for word in words:
            if word not in OBJECTIVES:
                report.error(operation, f"unknown resource '{word}'{suggestion(word, OBJECTIVES)}")
        if len(set(words)) != len(words):
            report.error(operation, "an objective names a resource twice")


class Memory(MemoryFacts):
    """`plan.memory "attention.query" dropped [activation]`, then the bytes: the memory facts of a layer, as distribution found them."""

    name = "plan.memory"
    syntax = MemoryFacts.parts


class BlockActivations(OperationDeclaration):
    """`plan.activations "block"`, then the bytes: the activations of a block."""

    name = "plan.activations"
    syntax = (Text("layer"), Components("facts", "holds", "dist_activations_body"))
    required = ("layer", "facts")


def text_of(operation: Operation, name: str) -> str:
    """A string property; empty if absent."""
    value = operation.properties.get(name)
    return value.value if isinstance(value, StringAttr) else ""


def number_of(operation: Operation, name: str) -> int:
    """An integer property; 0 if absent."""
    value = operation.properties.get(name)
    return value.value if isinstance(value, IntegerAttr) else 0


def symbol_of(operation: Operation) -> str:
    value = operation.properties.get("sym_name")
    return value.value if isinstance(value, StringAttr) else ""


def expr_of(operation: Operation, name: str) -> Expr:
    """An expression property; 0 if absent."""
    value = operation.properties.get(name)
    return value.expr if isinstance(value, ExprAttr) else ZERO


def names_of(operation: Operation, name: str) -> tuple[str, ...]:
    """The symbols of a list property, without `@`."""
    return references(operation.properties.get(name))


def live_of(operation: Operation) -> tuple[int, ...]:
    return numbers_of(operation, "live")


def numbers_of(operation: Operation, name: str) -> tuple[int, ...]:
    """The values of a property that is an array of integers; none if absent."""
    value = operation.properties.get(name)
    if not isinstance(value, ArrayAttr):
        return ()
    return tuple(v.value for v in value.values if isinstance(v, IntegerAttr))
