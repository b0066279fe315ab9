"""Operands and results of distributed tasks, each wrong in one way: every tool answers with located diagnostics, and none fails."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from support import example, run, shown
from tiers import some

from bpir.dialects.bp import TensorType
from bpir.ir.attributes import IntegerType, Type
from bpir.ir.diagnostic import Diagnostic, DiagnosticError
from bpir.ir.operation import Operation, Value, clone
from bpir.parser import parse_type
from bpir.tools.reports.collect import collect
from bpir.verifiers import derivation
from bpir.verifiers.structure import module as structure

pytestmark = pytest.mark.slow

STEPS = {
    "decode": ("distribute-inference", "plan-inference"),
    "training": ("distribute-training{tensor=t recompute=attention}", "plan-training"),
    "scattered": ("distribute-training{tensor=t communication=reduce_scatter_all_gather recompute=full}", "plan-training"),
}


@cache
def derived(step: str) -> Operation:
    return run(example("transformer_block"), STEPS[step][0])


@cache
def planned(step: str) -> Operation:
    return run(derived(step), STEPS[step][1])


def other_types(type: Type) -> Iterator[Type]:
    """A number, a tensor of another dialect, and tensors of other ranks."""
    yield IntegerType(32)
    yield parse_type("tensor<4x8xf32>")
    if isinstance(type, TensorType):
        for rank in {1, len(type.dims) - 1, len(type.dims) + 1} - {0, len(type.dims)}:
            dims, axes = ((*part, part[-1])[:rank] for part in (type.dims, (*type.axes, ())))
            yield TensorType(dims, axes[:rank] if len(axes) >= rank else (*axes, ()), type.element, type.unreduced)


def changes(module: Operation) -> Iterator[tuple[str, int, int, object]]:
    """A mistake, its operation's place in the walk, and its value; of operations that are alike, the first and the last."""
    alike: dict[object, list[int]] = {}
    operations = list(module.walk())
    for index, operation in enumerate(operations):
        if operation.name.partition(".")[0] == "dist":
            kind = (operation.name, *map(operation.properties.get, ("kind", "phase")), len(operation.operands), len(operation.results))
            alike.setdefault(kind, []).append(index)
    for index in sorted({place for found in alike.values() for place in (found[0], found[-1])}):
        operation = operations[index]
        yield from (("operand dropped", index, place, None) for place in range(len(operation.operands)))
        yield "operand added", index, 0, None
        if operation.name not in ("dist.block", "dist.return"):
            yield "operands of the return", index, 0, None
        if operation.name != "dist.block":
            yield from (("result dropped", index, place, None) for place in range(len(operation.results)))
            yield "result added", index, 0, None
        values = operation.regions[0].blocks[0].arguments if operation.regions else operation.results
        yield from (("retyped", index, place, type) for place, value in enumerate(values) for type in other_types(value.type))


def changed(module: Operation, what: str, index: int, place: int, type: object) -> Operation:
    copy = clone(module)
    operations = list(copy.walk())
    operation = operations[index]
    if what == "operand dropped":
        operation.operands.pop(place)
    elif what == "operand added":
        operation.operands.append(next(v for o in operations for r in o.regions for b in r.blocks for v in b.arguments))
    elif what == "operands of the return":
        operation.operands[:] = operations[-1].operands
    elif what == "result dropped":
        gone = operation.results.pop(place)
        for reader in operations:
            reader.operands[:] = [v for v in reader.operands if v is not gone]
        for number, value in enumerate(operation.results):
            value.index = number
    elif what == "result added":
        operation.results.append(Value(IntegerType(32), operation, len(operation.results)))
    else:
        values = operation.regions[0].blocks[0].arguments if operation.regions else operation.results
        values[place].type = type
    return copy


def answers(step: str, target: Operation) -> Iterator[Diagnostic]:
    """The messages of the tools: of the file alone, of source and file, of file and plan, as a report, of the next pass."""
    found = structure.verify(target)
    yield from found
    if found:
        return
    yield from derivation.verify(example("transformer_block"), target)
    yield from derivation.verify(target, planned(step))
    for act in (lambda: collect(target), lambda: run(target, STEPS[step][1])):
        try:
            act()
        except DiagnosticError as refusal:
            yield from refusal.diagnostics


@pytest.mark.random
@pytest.mark.parametrize("step", STEPS)
def test_no_operand_and_no_result_makes_a_tool_fail(step: str) -> None:
    root, silent = derived(step), []
    for what, index, place, type in some(changes(root)):
        where = f"{what}: {list(root.walk())[index].properties.get('task')} {place} {type}"
        try:
            errors = [d for d in answers(step, changed(root, what, index, place, type)) if d.severity == "error"]
        except Exception as crash:
            raise AssertionError(where) from crash
        if not errors:
            silent.append(where)
        assert all(d.span is not None for d in errors), where + "\n" + shown(errors)
    assert silent == []
