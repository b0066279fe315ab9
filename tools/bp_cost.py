"""bp-cost: an estimate of what a plan takes on a described system. It reads the plan, and changes nothing."""

from __future__ import annotations

import re

from bpir.tools.bindings import BIND, bindings, check_numbers
from bpir.tools.common import Tool, only_file, read_module, read_source, report, wants_color, write_output
from bpir.tools.options import OUTPUT, Arguments, Option, UsageError

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.cost.estimate import Estimate
    from bpir.cost.system import System

OPTIONS = [
    Option("system", value="FILE", help="the description of the machine, a TOML file"),
    Option("evidence", value="FILE", help="measured tasks and curves that come before the system's own (repeat)"),
    Option("format", value="FORMAT", choices=("table", "json", "trace"), help="table (default), json, trace (Chrome trace, for Perfetto)"),
    Option("by", value="GROUP", choices=("task", "layer", "phase"), help="task (default), layer, phase"),
    Option("decode", value="FILE", help="a plan of a decode step: PLAN is the prefill of the same request"),
    Option("decodes", value="N", help="how many steps the request decodes"),
    BIND,
    OUTPUT,
]


def body(arguments: Arguments) -> int:
    """Read the plan and the system, and write the estimate."""
    numbers = bindings(arguments)
    path = only_file(arguments)
    described = arguments.value("system")
    if described is None:
        raise UsageError("an estimate needs the description of a machine: --system=FILE.toml")
    count = _decodes(arguments)
    from bpir.cost.system import System

    system = System(read_source(described), [read_source(other) for other in arguments.values("evidence")])
    found = _estimate(path, system, numbers, arguments)
    decode = arguments.value("decode")
    if decode is not None:
        from bpir.cost.text import render_request

        write_output(_utf8(render_request(found, _estimate(decode, system, numbers, arguments), count)), arguments.value("o"))
        return 0
    write_output(_utf8(_rendered(found, arguments.value("format") or "table", arguments.value("by") or "task")), arguments.value("o"))
    return 0


def _decodes(arguments: Arguments) -> int:
    text = arguments.value("decodes")
    if (text is None) != (arguments.value("decode") is None):
        raise UsageError("a request is its prefill and so many steps of decoding: --decode=FILE --decodes=N")
    if text is not None and not re.fullmatch(r"[1-9][0-9]{0,9}", text):
        raise UsageError(f"--decodes expects a positive number, found '{text}'")
    return int(text or 0)


def _estimate(path: str, system: System, numbers: dict[str, int], arguments: Arguments) -> Estimate:
    from bpir.cost.estimate import estimate

    color = wants_color(arguments)
    module = read_module(path, color)
    check_numbers(numbers, module)
    found = estimate(module, system, numbers)
    report(found.warnings, color)
    return found


def _rendered(found: Estimate, form: str, by: str) -> str:
    if form == "trace":
        from bpir.cost.trace import render_trace

        return render_trace(found)
    from bpir.cost.text import render_json, render_table

    return (render_json if form == "json" else render_table)(found, by)


def _utf8(text: str) -> str:
    return text.encode().decode("latin-1")


TOOL = Tool(
    "bp-cost",
    "bp-cost [PLAN|-] --system=FILE.toml [--format=FORMAT] [--by=GROUP] [--evidence=FILE ...]",
    "Estimates the seconds of a plan on a described machine, and says on what evidence.",
    OPTIONS,
    body,
    """Seconds are estimates, floating-point numbers, and are in no module: everything else that these
tools say is exact.""",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
