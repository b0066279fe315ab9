"""bp-report: the work, memory and parameters of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpir.tools.bindings import BIND, bindings, check_numbers
from bpir.tools.common import Tool, only_file, read_module, report, wants_color, write_output
from bpir.tools.options import OUTPUT, Arguments, Option

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
    BIND,
    Option("one-rank", value="FILE", help="the same step derived with tensor=1: what several ranks of a number do again"),
    OUTPUT,
]


def body(arguments: Arguments) -> int:
    """Read the module, and write its report."""
    values = bindings(arguments)
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
    from bpir.tools.numbers import unused

    other = arguments.value("one-rank")
    found = collect(module, read_module(other, color) if other else None)
    check_numbers(values, module)
    report(unused(values, found, "--bind "), color)
    found = found.bound({name: constant(value) for name, value in values.items()})
    return rendered(found, arguments.value("format") or "table", arguments.value("by") or "task")


def rendered(found: Report, form: str, by: str) -> str:
    """The text of a report: `table`, `json`, `csv` or `markdown`."""
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
