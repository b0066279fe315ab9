"""The headline numbers, each as a ratio against a named peer measured in turn in the same run, beside the ratio recorded before.

    python benchmarks/run.py [--large] [--runs 5] [--record]

Peers are optional (PyPI `xdsl`, `bartiq`, Debian `mlir-19-tools`): a row whose peer is missing says so.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import proving
from measure import Run, in_turn, least, median, timed, tool

RECORDED = Path(__file__).with_name("recorded.json")
BP_OPT = tool("bp-opt") or "bp-opt"
OURS = [BP_OPT, "--allow-unregistered-dialect", "--print-op-generic"]


def generated(path: Path, *arguments: str) -> Path:
    """A file of `generate.py`, made by another process: what this one holds would count as memory of those that it starts."""
    with path.open("wb") as file:
        subprocess.run([sys.executable, str(Path(__file__).with_name("generate.py")), *arguments], stdout=file, check=True)
    return path


class Table:
    """Prints a row for each ratio: now, recorded, and the bound it is to keep."""

    def __init__(self) -> None:
        self.recorded: dict[str, float] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        self.found: dict[str, float] = {}
        print(f"{'what':<80}{'median':>9}{'best':>9}{'recorded':>10}   bound")

    def row(self, what: str, ratio: float, best: float | None, bound: str) -> None:
        before = f"{self.recorded[what]:.2f}" if what in self.recorded else "-"
        self.found[what] = round(ratio, 3)
        shown = f"{best:>9.2f}" if best is not None else f"{'':>9}"
        print(f"{what:<80}{ratio:>9.2f}{shown}{before:>10}   {bound}", flush=True)

    def missing(self, what: str, peer: str) -> None:
        print(f"{what:<80}{'':>9}{'':>9}{'':>10}   not measured: {peer} is not installed", flush=True)


def startup(table: Table, folder: Path, runs: int) -> None:
    xdsl = tool("xdsl-opt")
    small = generated(folder / "generic-100.mlir", "generic", "100")
    for what, ours, theirs, bound in (
        ("bp-opt --help, time against xdsl-opt --help", [BP_OPT, "--help"], ["--help"], "<= 0.5"),
        ("100 generic operations, time against xdsl-opt", [*OURS, str(small)], [*XDSL, str(small)], "<= 0.6"),
    ):
        if xdsl is None:
            table.missing(what, "xdsl")
            continue
        a, b = in_turn([ours, [xdsl, *theirs]], runs)
        table.row(what, median(a) / median(b), least(a) / least(b), bound)


XDSL = ["--allow-unregistered-dialect", "--print-op-generic"]


_SHAPES = {
    "": (["generic"], ">= 10"),
    ", every work distinct": (["generic", "--distinct"], ">= 4"),
    ", each with names of its own": (["named"], ">= 10"),
}
"""Files of generic operations: what makes them, and how much faster than xDSL they are to be read and printed."""


def generic(table: Table, folder: Path, runs: int, counts: list[int]) -> None:
    xdsl, mlir = tool("xdsl-opt"), tool("mlir-opt-19") or tool("mlir-opt")
    for count in counts:
        for what, ((kind, *options), bound) in _SHAPES.items():
            distinct = "--distinct" in options
            path = generated(folder / f"{kind}-{count}-{distinct}.mlir", kind, str(count), *options)
            name = f"{count // 1000}k generic operations{what}"
            few = max(3, runs // 2) if count > 10_000 else runs
            if xdsl is not None:
                a, b = in_turn([[*OURS, str(path)], [xdsl, *XDSL, str(path)]], few)
                table.row(f"{name}: operations/s against xDSL", median(b) / median(a), least(b) / least(a), bound)
                if not distinct:
                    table.row(f"{name}: peak memory against xDSL", median(a, "memory") / median(b, "memory"), None, "<= 0.4 at 100k")
            else:
                table.missing(f"{name}: operations/s against xDSL", "xdsl")
            if mlir is not None and not distinct:
                a, b = in_turn([[*OURS, str(path)], [mlir, "--allow-unregistered-dialect", "--mlir-print-op-generic", str(path)]], few)
                table.row(f"{name}: time against mlir-opt", median(a) / median(b), least(a) / least(b), "<= 5")
            elif mlir is None and not distinct:
                table.missing(f"{name}: time against mlir-opt", "mlir-19-tools")


def growth(table: Table, folder: Path, counts: list[int]) -> None:
    """Time and memory from a tenth to the whole of the largest file."""
    largest = counts[-1]
    if largest < 100_000:
        print("growth from 10k to 100k: not measured without --large")
        return
    runs = [Run([*OURS, str(folder / f"generic-{count}-False.mlir")]) for count in (largest // 10, largest)]
    table.row("100k against 10k operations: time", runs[1].cpu / runs[0].cpu, None, "<= 11")
    table.row("100k against 10k operations: memory", runs[1].memory / runs[0].memory, None, "<= 10")


def pipeline(table: Table, folder: Path) -> None:
    """Training of many layers through distribution, planning and binding, with every verification; then with the text of the result.

    Start-up is the same command on one layer: it loads the same grammar and passes.
    """
    options = ["--pass=distribute-training", "--pass=plan-training", "--pass=bind-queue"]
    one = generated(folder / "model-1.bpir", "model", "1")
    start = statistics.median(Run([BP_OPT, str(one), *options, "--verify-only"]).cpu for _ in range(3))
    tasks, judged, printed, read, held = [], [], [], [], []
    for layers in (196, 392):  # 51 tasks each
        path = generated(folder / f"model-{layers}.bpir", "model", str(layers))
        plan = folder / "plan.bpir"
        judged.append(statistics.median(Run([BP_OPT, str(path), *options, "--verify-only"]).cpu - start for _ in range(3)))
        printed.append(Run([BP_OPT, str(path), *options, "-o", str(plan)]).cpu - start)
        reading = Run([BP_OPT, str(plan), "--verify-only"])
        read.append(reading.cpu)
        held.append(reading.memory)
        tasks.append(len(re.findall(r"^ *concrete\.(?:launch|collective) @", plan.read_text(), re.MULTILINE)))
    table.row("a training block, distribution to binding: milliseconds", start * 1000, None, "")
    table.row(f"{tasks[0]} tasks, distribution to binding: seconds over start-up", judged[0], None, "<= 4 at 10k")
    table.row(f"reading the plan of {tasks[0]} tasks against deriving it: time", read[0] / (judged[0] + start), None, "<= 1.2")
    table.row("reading a plan: KiB a further task", (held[1] - held[0]) / (tasks[1] - tasks[0]) / 1024, None, "<= 15")
    table.row(f"reading {tasks[1]} against {tasks[0]} tasks: time", read[1] / read[0], None, "<= 2.2")
    table.row(f"{tasks[1]} against {tasks[0]} tasks: time", judged[1] / judged[0], None, "<= 2.2")
    table.row(f"{tasks[0]} tasks, and the text of the plan: seconds over start-up", printed[0], None, "")


def block(table: Table, runs: int) -> None:
    """The cost of a short run: the decode block of GPT-3 through two passes, with the tables already written."""
    example = Path(__file__).parent.parent / "examples" / "gpt3_175b.bpir"
    short = [BP_OPT, str(example), "--pass=distribute-inference", "--pass=plan-inference"]
    found, version, bare = in_turn([short, [BP_OPT, "--version"], [sys.executable, "-c", "pass"]], runs)
    table.row("a block through two passes: milliseconds", median(found) * 1000, least(found) * 1000, "<= 90")
    table.row("bp-opt --version: milliseconds", median(version) * 1000, least(version) * 1000, "<= 20")
    table.row("python -c pass: milliseconds", median(bare) * 1000, least(bare) * 1000, "")


def editing(table: Table, folder: Path, runs: int) -> None:
    """The cost of a change in a plan that is open in an editor: its diagnostics, as the language server makes them."""
    from bpir.lsp.document import Document

    plan = folder / "edited.bpir"
    passes = ["--pass=distribute-training", "--pass=plan-training"]
    Run([BP_OPT, str(generated(folder / "model-8.bpir", "model", "8")), *passes, "-o", str(plan)])
    text = plan.read_text()
    place = text.index("ops = ", len(text) // 2) + len("ops = ")
    document = Document("plan.bpir", text)
    document.diagnostics()

    def change() -> None:
        nonlocal document, text
        text = f"{text[:place]}7*{text[place:]}"
        document = Document("plan.bpir", text, before=document)
        document.diagnostics()

    found = timed(change, max(runs, 3))
    count = len(re.findall(r"^  plan\.", text, re.MULTILINE))
    table.row(f"a change in a plan of {count} operations, in the editor: ms", statistics.median(found) * 1000, min(found) * 1000, "<= 100")


def verification(table: Table) -> None:
    example = Path(__file__).parent.parent / "examples" / "transformer_block.bpir"
    command = [BP_OPT, str(example), "--pass=distribute-training{tensor=t}", "--pass=plan-training", "--timing"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    share = next(line for line in report.splitlines() if "Verification:" in line)
    table.row("verification: share of a training run", float(share.split(":")[1].split("%")[0]) / 100, None, "<= 0.4")


def proofs(table: Table, runs: int) -> None:
    ours, theirs = timed(proving.prove_ours, runs), timed(proving.prove_sympy, max(1, runs // 2))
    ratio = statistics.median(theirs) / statistics.median(ours)
    table.row("1,000 conservation proofs against sympy.expand", ratio, min(theirs) / min(ours), ">= 20")
    try:
        compiled, evaluated = proving.bartiq()
    except ImportError:
        table.missing("totals of 3,000 tasks against bartiq compiling 1,000", "bartiq")
        table.missing("1,000 exact evaluations against bartiq", "bartiq")
        return
    totals, values = timed(proving.totals, runs), timed(proving.evaluations, runs)
    table.row("totals of 3,000 tasks against bartiq compiling 1,000", compiled / statistics.median(totals), None, ">= 100")
    table.row("1,000 exact evaluations against bartiq", evaluated / statistics.median(values), None, ">= 100")


CALCULON = 437
"""Configurations that Calculon's evaluation loop (commit caa4b11f, its logger quiet) does a second and core on such a machine; it is no
package, so this is what was recorded."""

STRATEGIES = [
    "--layers=96",
    *("--grid", "t=divisors:96", "p=divisors:96", "D=1..1024", "B=1..64", "recompute=none,attention,full"),
    *("communication=all_reduce,reduce_scatter_all_gather", "all_gather_redo=false", "microbatches=96", "convention=calculon"),
    "--columns=job.memory,job.messages,totals.ops,totals.msg",
]


def sweeping(table: Table, folder: Path) -> None:
    """Every strategy of GPT-3 on a grid of 56,623,104: derivations, exact values, relations and the file of all rows included."""
    example = Path(__file__).parent.parent / "examples" / "gpt3_175b_training.bpir"
    run = Run([tool("bp-sweep") or "bp-sweep", str(example), *STRATEGIES, "-o", str(folder / "strategies.parquet")])
    rate = 12 * 12 * 1024 * 64 * 3 * 2 / run.cpu
    table.row("strategies of GPT-3 a second and core, in millions", rate / 1e6, None, ">= 1")
    table.row("strategies a second against Calculon's recorded loop", rate / CALCULON, None, ">= 2288")
    table.row("peak memory of that sweep, in GiB", run.memory / 2**30, None, "<= 2")


def steps(table: Table, folder: Path, args: argparse.Namespace) -> Iterator[Callable[[], None]]:
    counts = [10_000, 100_000] if args.large else [10_000]
    yield lambda: startup(table, folder, args.runs)
    yield lambda: block(table, args.runs)
    yield lambda: generic(table, folder, args.runs, counts)
    yield lambda: growth(table, folder, counts)
    yield lambda: pipeline(table, folder)
    yield lambda: proofs(table, args.runs)
    yield lambda: editing(table, folder, args.runs)
    yield lambda: verification(table)
    yield lambda: sweeping(table, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="measure 100,000 operations too")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each command")
    parser.add_argument("--record", action="store_true", help="keep the ratios of this run to compare with")
    args = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        for step in steps(table, Path(name), args):
            step()
    if args.record:
        RECORDED.write_text(json.dumps({**table.recorded, **table.found}, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
