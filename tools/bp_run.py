"""bp-run: does a distributed block compute what its model does? Both run on small arrays, and every number is compared."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.tools.common import Tool, read_module, report, wants_color, write_output
from bpir.tools.options import Arguments, Option, UsageError

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.ir.operation import Operation
    from bpir.run.check import Outcome

BIND = Option("bind", value="NAME=INTEGER ...", help="numbers of symbols; others are chosen, as the relations say")


def body(arguments: Arguments) -> int:
    """Run a module against its source, and print what was found."""
    numbers = given(arguments)
    source_path = arguments.value("source")
    if source_path is None:
        raise UsageError("the model to compare with is missing: --source=FILE")
    if len(arguments.positional) != 1:
        raise UsageError(f"expected one module to run, found {len(arguments.positional)}")
    if source_path == arguments.positional[0] == "-":
        raise UsageError("the module and its source cannot both be standard input")
    color = wants_color(arguments)
    source = read_module(source_path, color)
    plan_path = arguments.value("plan")
    plan = None if plan_path is None else read_module(plan_path, color)
    outcomes = outcomes_of(source, read_module(arguments.positional[0], color), numbers, plan)
    if arguments.value("format") == "json":
        from bpir.tools.verdicts.run_text import as_json

        write_output(as_json(outcomes), None)
    else:
        from bpir.tools.verdicts.run_text import as_text

        write_output(as_text(outcomes), None)
    against = [diagnostic for outcome in outcomes for diagnostic in outcome.against]
    report(against, color)
    return 1 if against else 0


def outcomes_of(source: Operation, module: Operation, numbers: dict[str, int], plan: Operation | None = None) -> list[Outcome]:
    """Run each block of a module.

    Raises:
        DiagnosticError: it can't be run, or NumPy is not there.
    """
    try:
        import numpy  # noqa: F401
    except ImportError:
        from bpir.ir.diagnostic import fail

        raise fail("bp-run needs NumPy, which is not installed: pip install 'bpir[run]'") from None
    from bpir.run.check import check

    return check(source, module, numbers, plan)


def given(arguments: Arguments) -> dict[str, int]:
    """The numbers of the command line: those of `--bind`, and `NAME=INTEGER` after it.

    Raises:
        UsageError: one is no positive integer, or is given twice.
    """
    words = [word for value in arguments.values("bind") for word in value.replace(",", " ").split()]
    if words:
        words += [word for word in arguments.positional if _is_binding(word)]
        arguments.positional = [word for word in arguments.positional if not _is_binding(word)]
    return _numbers(words)


def _is_binding(word: str) -> bool:
    name, equals, value = word.partition("=")
    return bool(equals) and name.isidentifier() and value.isdigit()


def _numbers(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        name, _, value = word.partition("=")
        if not _is_binding(word) or not 0 < int(value[:20]) < 2**63:
            raise UsageError(f"'--bind' expects NAME=INTEGER with a positive integer, found '{word}'")
        if name in found:
            raise UsageError(f"'{name}' is bound twice")
        found[name] = int(value)
    return found


TOOL = Tool(
    "bp-run",
    "bp-run FILE --source=MODEL [--plan=PLAN] [--bind NAME=INTEGER ...] [--format=text|json]",
    "Runs a distributed block on simulated ranks and its model on whole arrays, and compares all numbers.",
    [
        Option("source", value="MODEL", help="the module with the model that FILE is derived from"),
        Option("plan", value="PLAN", help="a plan of FILE: its buffers hold what is alive"),
        BIND,
        Option("format", value="FORMAT", help="text (default) or json", choices=("text", "json")),
    ],
    body,
    """Compares results, gradients and every value between; measures bytes and matrix products of
each task, and what is kept until backward. Needs NumPy. Exit status: 0 all agrees,
1 otherwise, 2 usage.""",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
