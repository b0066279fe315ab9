"""bp-report: the work, memory and parameters of a module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bpir.tools.common import Tool, only_file, read_module, report, wants_color, write_output
from bpir.tools.options import OUTPUT, Arguments, Option, UsageError

if TYPE_CHECKING:
    from bpir.ir.operation import Operation
    from bpir.tools.report import Report

OPTIONS = [
    Option(
        "format",
        value="FORMAT",
        choices=("table", "json", "csv", "markdown", "dot", "svg"),
        help="table (default), json, csv, markdown; dot, svg (a picture of the tasks)",
    ),
    Option(
        "by",
        value="GROUP",
        choices=("task", "phase", "layer", "section", "block", "total"),
        help="task (default), phase, layer, section, block, total",
    ),
    Option("bind", value="NAME=NUMBER", help="put a number for a symbol (repeat, or list: --bind B=1 S=2048)"),
    Option("one-rank", value="FILE", help="the same step derived with tensor=1: what several ranks of a number do again"),
    OUTPUT,
]

_BINDING = re.compile(r"([A-Za-z_]\w*)=([0-9]{1,1000})", re.ASCII)


def body(arguments: Arguments) -> int:
    """Read the module, and write its report."""
    values = _bindings(arguments)
    color = wants_color(arguments)
    module = read_module(only_file(arguments), color)
    from bpir.verifiers.exhaustion import placed

    with placed(module):
        write_output(_report(arguments, module, values, color), arguments.value("o"))
    return 0


def _report(arguments: Arguments, module: Operation, values: dict[str, int], color: bool) -> str:
    """The report in the format asked for."""
    if arguments.value("format") in ("dot", "svg"):
        from bpir.tools.report_dot import render_dot, render_svg

        return (render_dot if arguments.value("format") == "dot" else render_svg)(module)
    from bpir.ir.expression import constant
    from bpir.tools.collect import collect

    other = arguments.value("one-rank")
    found = collect(module, read_module(other, color) if other else None)
    _check_numbers(values, module)
    _warn_of_unused(values, found, color)
    found = found.bound({name: constant(value) for name, value in values.items()})
    return _rendered(found, arguments.value("format") or "table", arguments.value("by") or "task")


def _bindings(arguments: Arguments) -> dict[str, int]:
    """The numbers given; those that follow `--bind B=1` as further arguments are taken out of the files."""
    texts = [text for value in arguments.values("bind") for text in value.split(",")]
    if texts:
        texts += [text for text in arguments.positional if _BINDING.fullmatch(text)]
        arguments.positional = [text for text in arguments.positional if not _BINDING.fullmatch(text)]
    found: dict[str, int] = {}
    for text in texts:
        match = _BINDING.fullmatch(text)
        if not match or not int(match[2]):
            raise UsageError(f"--bind expects NAME=NUMBER with a positive integer, found '{text}'")
        if found.setdefault(match[1], int(match[2])) != int(match[2]):
            raise UsageError(f"--bind gives {match[1]} two numbers, {found[match[1]]} and {match[2]}")
    return found


def _check_numbers(values: dict[str, int], module: Operation) -> None:
    """Refuse numbers that contradict those of the module, or break what it declares and assumes."""
    if not values:
        return
    from bpir.dialects.bp import symbol_table
    from bpir.ir.diagnostic import Span, fail
    from bpir.passes.bind_symbols import check_relations
    from bpir.passes.pipeline import command_line

    def place(name: str) -> Span | None:
        if name not in values:
            return None
        source = command_line(f"--bind {name}={values[name]}")
        return Span(source, len("--bind "), len(source.text))

    table = symbol_table(module)
    for name, value in values.items():
        if table.bindings.get(name, value) != value:
            raise fail(f"the module binds '{name}' to {table.bindings[name]} already", place(name))
    check_relations(module, {**table.bindings, **values}, place)


def _warn_of_unused(values: dict[str, int], found: Report, color: bool) -> None:
    """A misspelt name would leave its symbol in place without a word."""
    from bpir.ir.diagnostic import Diagnostic, suggestion

    symbols = found.symbols()
    listed = "; it has " + ", ".join(sorted(symbols)) if symbols else ""
    for name in values:
        if name not in symbols:
            message = f"--bind {name}: no such symbol in the report{suggestion(name, symbols) or listed}"
            report([Diagnostic(message, severity="warning")], color)


def _rendered(found: Report, form: str, by: str) -> str:
    if form == "json":
        from bpir.tools.report_json import render_json

        return render_json(found, by)
    from bpir.tools.report_text import numbers_table, render_csv, render_markdown, render_table, tables

    if form == "csv":
        return render_csv([*tables(found, by), *numbers_table(found)])
    return {"table": render_table, "markdown": render_markdown}[form](tables(found, by, explained=by == "total"))


TOOL = Tool(
    "bp-report",
    "bp-report [FILE|-] [--format=FORMAT] [--by=GROUP] [--bind NAME=NUMBER ...]",
    "Shows the work and memory of a derived module, or a picture of it, or the parameters of a model.",
    OPTIONS,
    body,
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
