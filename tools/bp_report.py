"""bp-report: the work, memory and parameters of a module."""

from __future__ import annotations

from bpir.tools.bindings import BIND, bindings, check_numbers
from bpir.tools.common import Tool, only_file, read_module, report, wants_color, write_output
from bpir.tools.options import OUTPUT, Arguments, Option, UsageError

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.ir.expressions.expression import Expr
    from bpir.ir.operation import Operation
    from bpir.tools.reports.report import Report

PICTURES = ("dot", "svg", "mermaid")

OPTIONS = [
    Option(
        "format",
        value="FORMAT",
        choices=("table", "json", "csv", "markdown", *PICTURES, "html"),
        help="table (default), json, csv, markdown; pictures: svg, html, mermaid, dot",
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
    """Read one module or two, and write the report, or what differs."""
    values = bindings(arguments)
    color = wants_color(arguments)
    if len(arguments.positional) == 2:
        write_output(_comparison(arguments, values, color), arguments.value("o"))
        return 0
    module = read_module(only_file(arguments, most=2), color)
    from bpir.verifiers.structure.exhaustion import placed

    with placed(module):
        write_output(_report(arguments, module, values, color), arguments.value("o"))
    return 0


def _report(arguments: Arguments, module: Operation, values: dict[str, int], color: bool) -> str:
    """The report in the format asked for."""
    from bpir.ir.expressions.expression import constant

    numbers = {name: constant(value) for name, value in values.items()}
    form = arguments.value("format") or "table"
    if form in PICTURES:
        check_numbers(values, module)
        return _picture(form, module, numbers)
    from bpir.tools.reports.collect import collect
    from bpir.tools.reports.numbers import unused

    other = arguments.value("one-rank")
    found = collect(module, read_module(other, color) if other else None)
    check_numbers(values, module)
    report(unused(values, found.symbols(), "--bind "), color)
    found = found.bound(numbers)
    if form == "html":
        from bpir.tools.picture.page import Shown, render_page

        return render_page([Shown("", module, found)])
    return rendered(found, form, arguments.value("by") or "task")


def _picture(form: str, module: Operation, numbers: dict[str, Expr]) -> str:
    from bpir.tools.picture.dot import render_dot
    from bpir.tools.picture.mermaid import render_mermaid
    from bpir.tools.picture.svg import render_svg

    return {"dot": render_dot, "svg": render_svg, "mermaid": render_mermaid}[form](module, numbers)


def _comparison(arguments: Arguments, values: dict[str, int], color: bool) -> str:
    """What differs between two files, in the format asked for."""
    form = arguments.value("format") or "table"
    if form in PICTURES:
        raise UsageError(f"--format={form} draws one file: two are compared as table, json, csv, markdown or html")
    if arguments.value("one-rank"):
        raise UsageError("--one-rank is of one file: two are compared as they are")
    files = arguments.positional
    if files == ["-", "-"]:
        raise UsageError("standard input can be one of two files")
    modules = [read_module(file, color) for file in files]
    from bpir.ir.expressions.expression import constant
    from bpir.tools.reports.collect import collect
    from bpir.tools.reports.compare import compared, difference_tables, render_difference_json
    from bpir.tools.reports.numbers import unused
    from bpir.tools.reports.report_text import render_csv, render_markdown, render_table

    found = [collect(module) for module in modules]
    for module in modules:
        check_numbers(values, module)
    report(unused(values, found[0].symbols() | found[1].symbols(), "--bind "), color)
    numbers = {name: constant(value) for name, value in values.items()}
    one, other = (each.bound(numbers) for each in found)
    differences = compared(one, other, arguments.value("by") or "task")
    if form == "html":
        from bpir.tools.picture.page import Shown, render_page

        return render_page([Shown(files[0], modules[0], one), Shown(files[1], modules[1], other)], differences)
    if form == "json":
        return render_difference_json(differences)
    return {"table": render_table, "markdown": render_markdown, "csv": render_csv}[form](difference_tables(differences))


def rendered(found: Report, form: str, by: str) -> str:
    """The text of a report: `table`, `json`, `csv` or `markdown`."""
    if form == "json":
        from bpir.tools.reports.report_json import render_json

        return render_json(found, by)
    from bpir.tools.reports.report_text import numbers_table, render_csv, render_markdown, render_table, tables

    if form == "csv":
        return render_csv([*tables(found, by), *numbers_table(found)])
    return {"table": render_table, "markdown": render_markdown}[form](tables(found, by, explained=by == "total"))


TOOL = Tool(
    "bp-report",
    "bp-report [FILE|-] [FILE] [--format=FORMAT] [--by=GROUP] [--bind NAME=NUMBER ...]",
    "Shows the work and memory of a module, a picture of it, or what differs between two of them.",
    OPTIONS,
    body,
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
