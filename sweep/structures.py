"""The structures of a sweep: each set of tasks that the grid asks for, derived and gated once, with its symbols left open.

What is derived becomes text, so that it can go to another process and means the same there: an expression for each column, and the
relations without which a point has no value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import attrs

from bpir.dialects.bp import symbol_table
from bpir.dialects.levels import PortablePlanIR
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.effort import BASE, allow, limited
from bpir.ir.expressions.bounds import nonnegative, positive
from bpir.ir.expressions.expression import ONE, Expr, constant, symbol, total
from bpir.ir.operation import Operation
from bpir.sweep.subject import Subject, Swept

Value = int | str

KEYS = ("devices", "totals", "memory", "job", "ranks")
"""The keys of a report that are columns, with what is below them."""


@attrs.frozen
class Structure:
    """Some of the choices of a grid, made, and the numbers that are left to be swept.

    Attributes:
        options: the options of the derivation.
        fixed: the value of each name of the grid that is the same at all points.
        axes: the symbols that are swept, each with its numbers.
        names: the name of the grid for each of these symbols.
        numbers: of symbols that stand for a name with one value only.
    """

    options: Mapping[str, str]
    fixed: Mapping[str, Value]
    axes: Mapping[str, tuple[int, ...]]
    names: Mapping[str, str]
    numbers: Mapping[str, int]

    @property
    def points(self) -> int:
        return prod(map(len, self.axes.values()))


@attrs.frozen
class Derived:
    """What is known of a structure, as text.

    Attributes:
        columns: the expression of each column.
        devices: the memory of the devices of a pipeline that may be the fullest, where there are several.
        relations: what must hold at a point: what it is called, and the kind and sides of each relation.
        refused: why it can't be derived; empty if it was.
    """

    columns: Mapping[str, str] = attrs.field(factory=dict)
    devices: tuple[Mapping[str, str], ...] = ()
    relations: tuple[tuple[str, str, str, str], ...] = ()
    refused: str = ""


def structures(swept: Sequence[Swept]) -> Iterator[Structure]:
    """All structures of a grid, in the order of its values."""
    choices = [list(_choices(one)) for one in swept]
    for chosen in itertools.product(*choices):
        options: dict[str, str] = {}
        fixed: dict[str, Value] = {}
        axes: dict[str, tuple[int, ...]] = {}
        names: dict[str, str] = {}
        numbers: dict[str, int] = {}
        for one, values in zip(swept, chosen, strict=True):
            if one.symbol and (len(values) > 1 or not one.option):
                axes[one.symbol] = tuple(value for value in values if isinstance(value, int))
                names[one.symbol] = one.name
                setting: Value = one.symbol
            else:
                setting = fixed[one.name] = values[0]
                if one.symbol and isinstance(values[0], int):
                    numbers[one.symbol] = values[0]
            if one.option:
                options[one.option] = str(setting)
        yield Structure(options, fixed, axes, names, numbers)


def _choices(swept: Swept) -> Iterator[tuple[Value, ...]]:
    """The values of a name, those together that have the same tasks."""
    values = swept.axis.values
    if not swept.symbol:
        yield from ((value,) for value in values)
    elif swept.divides and 1 in values:
        yield (1,)
        if len(values) > 1:
            yield tuple(value for value in values if value != 1)
    else:
        yield values


def derive(subject: Subject, prepared: Operation, structure: Structure, numbers: Mapping[str, int]) -> Derived:
    """The columns and relations of a structure.

    Args:
        prepared: the module with the symbols of the grid.
        numbers: for symbols that are not swept.
    """
    allow(2 * BASE)
    try:
        with limited(BASE):
            return _derived(planned(subject, prepared, structure.options), structure, numbers)
    except DiagnosticError as refusal:
        first = next((d for d in refusal.diagnostics if d.severity == "error"), refusal.diagnostics[0])
        return Derived(refused=first.message)


def planned(subject: Subject, module: Operation, options: Mapping[str, str]) -> Operation:
    """The plan of the subject under these options, accepted by the gates of both passes.

    Raises:
        DiagnosticError: it can't be derived.
    """
    from bpir.ir.printer import print_module
    from bpir.passes.manager import PassManager
    from bpir.passes.pipeline import parse_pipeline

    pipeline = pipeline_text(subject, options)
    return PassManager(parse_pipeline(Source("<sweep>", pipeline)), print_module).run(module)


def pipeline_text(subject: Subject, options: Mapping[str, str]) -> str:
    """The passes that lead to a plan, as `--pass-pipeline` takes them."""
    given = dict(options)
    if "tensor" not in given and "tensor" not in subject.given:
        given["tensor"] = "1"
    distribute, plan = subject.passes
    return f"{distribute}{{{' '.join(f'{name}={value}' for name, value in given.items())}}},{plan}"


def _derived(plan: Operation, structure: Structure, numbers: Mapping[str, int]) -> Derived:
    table = symbol_table(plan)
    values = {name: constant(number) for name, number in {**structure.numbers, **table.bindings, **numbers}.items()}
    columns, devices = columns_of(plan, values)
    said = []
    for relation in dict.fromkeys((*table.relations, *table.assumptions)):
        left, right = relation.left.substitute(values), relation.right.substitute(values)
        if structure.axes.keys() >= {*left.symbols, *right.symbols}:  # others are about symbols that nothing uses
            said.append((relation.text, relation.kind, left.text, right.text))
    return Derived(texts_of(columns), tuple(map(texts_of, devices)), tuple(said))


def texts_of(columns: Mapping[str, Expr]) -> dict[str, str]:
    """Expressions as text."""
    return {name: value.text for name, value in columns.items()}


MEMORY = "job.memory."
"""What the columns of the fullest device begin with."""


def columns_of(plan: Operation, values: Mapping[str, Expr]) -> tuple[dict[str, Expr], list[dict[str, Expr]]]:
    """The columns that a plan gives: the ranks of its mesh as `devices`, and the keys of its report.

    Of inference, where all of the memory is there at once, its sum is `memory.total`; `messages.total` are the bytes of all messages of a
    step, of all ranks where the report knows them, else of one.

    Returns:
        The columns, and the memory of each device of a pipeline that may be the fullest: where there are several, which one it is depends
        on the point.
    """
    from bpir.tools.reports.collect import collect
    from bpir.tools.reports.report_json import document

    report = collect(plan).bound(values)
    said = document(report)
    stages = [{f"{MEMORY}{name}": value for name, value in stage.items()} for stage in (report.job.stages if report.job else ())]
    said.get("job", {}).pop("stages", None)
    found = dict(flat({"devices": _devices(plan).substitute(values), **said}))
    if "memory.kv_cache" in found:
        found["memory.total"] = total(found[f"memory.{part}"] for part in ("weights", "kv_cache", "workspace"))
    found["messages.total"] = found.get("job.work.total.msg", found["totals.msg"])
    fullest = may_be_fullest(stages)
    if fullest:
        found = {name: value for name, value in found.items() if not name.startswith(MEMORY)} | fullest[0]
    return found, fullest if len(fullest) > 1 else []


def may_be_fullest(stages: Sequence[dict[str, Expr]]) -> list[dict[str, Expr]]:
    """The devices without those that another one, before it, is seen to be as full as, or behind it, to be fuller."""
    kept: list[dict[str, Expr]] = []
    for stage in {id(stage): stage for stage in stages}.values():
        size = stage[f"{MEMORY}total"]
        if any(nonnegative(other[f"{MEMORY}total"] - size) for other in kept):
            continue
        kept = [other for other in kept if not positive(size - other[f"{MEMORY}total"])]
        kept.append(stage)
    return kept


def _devices(plan: Operation) -> Expr:
    """The ranks of a plan's mesh."""
    found = ONE
    for mesh in PortablePlanIR(plan).meshes[:1]:
        for size in mesh.axes.values():
            found = found * size
    return found


def flat(report: Mapping[str, Any]) -> Iterator[tuple[str, Expr]]:
    """The expressions of a report by their keys, joined by dots; places in a list are numbers."""
    pending = [(key, report[key]) for key in reversed(KEYS) if key in report]
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(f"{name}.{key}", below) for key, below in reversed(list(value.items()))]
        elif isinstance(value, list | tuple):
            pending += [(f"{name}.{place}", below) for place, below in reversed(list(enumerate(value)))]
        elif isinstance(value, Expr):
            yield name, value
        elif type(value) is int:
            yield name, constant(value)


def point_symbols(structure: Structure) -> dict[str, Expr]:
    """The expression of each name of the grid that has a number: its symbol, or the number that it has everywhere."""
    found: dict[str, Expr] = {name: constant(value) for name, value in structure.fixed.items() if isinstance(value, int)}
    return {**found, **{name: symbol(axis) for axis, name in structure.names.items()}}
