"""bp-sweep: every strategy of a grid, from one derivation of each structure."""

from __future__ import annotations

import re

from bpir.tools.common import Tool, only_file, read_source, sound_module, wants_color
from bpir.tools.options import Arguments, Option, UsageError

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.ir.operation import Operation

OPTIONS = [
    Option("grid", value="NAME=VALUES", help="sweep names: t=1,2,4 B=1..64 p=divisors:96 n=powers:64"),
    Option("where", value="CONDITION", help="keep the points where it holds: 'devices = 64' (repeat)"),
    Option("train", help="sweep the training of the model"),
    Option("infer", help="sweep its inference; by default what the workload of the file says"),
    Option("layers", value="N", help="the network is the one block of the file, N times"),
    Option("bind", value="NAME=NUMBER", help="put a number for a symbol that is not swept (repeat)"),
    Option("columns", value="NAMES", help="what to store: keys of a report, each with all below it"),
    Option("minimize", value="NAMES", help="show the Pareto front of these columns"),
    Option("top", value="N", help="show the best N rows, derive their plans and verify them"),
    Option("system", value="FILE", help="estimate the plans of --top on a machine, as bp-cost does"),
    Option("plans", value="FOLDER", help="write the modules of --top there"),
    Option("o", value="FILE", help="write all rows to FILE.csv or FILE.parquet, whole or not at all"),
    Option("plot", value="FILE", help="draw the Pareto front and the memory of the best rows, as SVG"),
    Option("scheduler", value="ADDRESS", help="work on the Dask cluster at an address (tcp://host:8786)"),
    Option("workers", value="N", help="work in N processes of this machine"),
    Option("progress", value="WHEN", choices=("auto", "always", "never"), help="progress on standard error: auto (default), always, never"),
]

_SETTING = re.compile(r"[A-Za-z_]\w*=[^/]*", re.ASCII)
_BINDING = re.compile(r"([A-Za-z_]\w*)=([0-9]{1,18})", re.ASCII)


def body(arguments: Arguments) -> int:
    """Sweep, and show or write what is asked for."""
    grid = _settings(arguments)
    path = only_file(arguments)
    if not grid:
        raise UsageError("what is to be swept is missing: --grid t=1,2,4 B=1..8")
    numbers = _numbers(arguments)
    minimize, top, workers = _names(arguments, "minimize"), _count(arguments, "top"), _count(arguments, "workers")
    _check(arguments, minimize, top)
    _check_installed()
    from bpir.sweep.command import Wanted, run
    from bpir.sweep.run import DEFAULT, Request

    source = read_source(path)
    training = _training(arguments, sound_module(source, []), grid)
    columns = _names(arguments, "columns") or DEFAULT
    where = tuple(arguments.values("where"))
    request = Request(source.name, source.text, training, tuple(grid), where, numbers, columns, layers=_count(arguments, "layers"))
    wanted = Wanted(
        output=arguments.value("o"),
        minimize=minimize,
        top=top,
        plans=arguments.value("plans"),
        plot=arguments.value("plot"),
        system=arguments.value("system"),
        scheduler=arguments.value("scheduler"),
        workers=workers,
        progress=arguments.value("progress") or "auto",
        color=wants_color(arguments),
    )
    return run(request, wanted)


def _check(arguments: Arguments, minimize: tuple[str, ...], top: int) -> None:
    """Refuse options that say nothing without another one."""
    output = arguments.value("o")
    if output is not None and not output.endswith((".csv", ".parquet")):
        raise UsageError(f"-o expects a file that ends in .csv or .parquet, found '{output}'")
    for name in ("top", "plot"):
        if arguments.value(name) is not None and not minimize:
            raise UsageError(f"--{name} needs to know what is best: --minimize=memory.total,totals.msg")
    for name, what in (("plans", "writes"), ("system", "estimates")):
        if arguments.value(name) is not None and not top:
            raise UsageError(f"--{name} {what} the plans of --top: say how many, --top=5")
    if arguments.value("plot") is not None and len(minimize) < 2:
        raise UsageError("--plot draws one column of --minimize by another: give two")


def _check_installed() -> None:
    from importlib.util import find_spec

    from bpir.ir.diagnostic import fail

    absent = [name for name, module in (("NumPy", "numpy"), ("DuckDB", "duckdb")) if find_spec(module) is None]
    if absent:
        raise fail(f"a sweep needs {' and '.join(absent)}: pip install 'bpir[sweep]'", None)


def _settings(arguments: Arguments) -> list[str]:
    """The axes: those that follow `--grid` as further arguments are taken out of the files."""
    given = arguments.values("grid")
    if given:
        given += [text for text in arguments.positional if _SETTING.fullmatch(text)]
        arguments.positional = [text for text in arguments.positional if not _SETTING.fullmatch(text)]
    return [text for one in given for text in one.split()]


def _numbers(arguments: Arguments) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for text in (text for value in arguments.values("bind") for text in value.split(",")):
        match = _BINDING.fullmatch(text)
        if not match or not int(match[2]):
            raise UsageError(f"--bind expects NAME=NUMBER with a positive integer, found '{text}'")
        found[match[1]] = int(match[2])
    return tuple(found.items())


def _names(arguments: Arguments, option: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for text in arguments.values(option) for name in text.split(",") if name))


def _count(arguments: Arguments, option: str) -> int:
    """The number that an option gives, 0 where it is not given."""
    text = arguments.value(option)
    if text is None:
        return 0
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise UsageError(f"--{option} expects a positive number, found '{text}'")
    return int(text)


def _training(arguments: Arguments, module: Operation, grid: list[str]) -> bool:
    """Whether training is swept: as asked, as the grid says (a phase is of inference), or as the workload of the file says."""
    from bpir.dialects.levels import ModuleIR

    if arguments.flag("train") and arguments.flag("infer"):
        raise UsageError("--train and --infer are two sweeps")
    if arguments.flag("train") or arguments.flag("infer"):
        return arguments.flag("train")
    if any(text.startswith("phase=") for text in grid):
        return False
    kinds = {workload.kind for workload in ModuleIR(module).workloads}
    if len(kinds) != 1:
        raise UsageError("is it trained or served? Give --train or --infer")
    return kinds == {"training"}


TOOL = Tool(
    "bp-sweep",
    "bp-sweep [FILE|-] --grid NAME=VALUES ... [--where CONDITION] [--minimize NAMES] [--top N]",
    "Counts every strategy of a grid exactly; finds the best, verifies their plans and draws them.",
    OPTIONS,
    body,
    """A name is an option of the derivation (tensor, recompute), its letter (t, p, v, n, D, B), or a
symbol of the file. A condition compares two expressions by = < <= > >= |; its names are columns,
such as job.memory.total or devices, and may be cut at the front: memory.total. The rows go to
standard output as CSV where neither -o nor --minimize is given.""",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
