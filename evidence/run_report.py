"""Blocks run on ranks: `python evidence/run_report.py random FIRST LAST [COUNT]`, or `python evidence/run_report.py examples`.

Random blocks of these seeds, each under COUNT strategies of each pass in turn (all six where it is left out); or the examples under
every strategy: 1, 2 and 4 ranks, both communications, each recomputation, and `data` 1 and 2 in training; both phases in inference, with
the plan.

Prints how many agree, by pass; how many the derivation refuses; and of the others what was found, with the block and the pass of the first.
Exits 1 if anything was found.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product

from random_blocks import INFERENCE, SIZES, TRAINING, random_block
from support import example, read, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.run.check import check

PLANNED = {"distribute-training": None, "distribute-inference": "plan-inference"}
STRATEGIES = {"distribute-training": TRAINING, "distribute-inference": INFERENCE}
EXAMPLES = ("transformer_block", "mlp", "gpt3_175b", "gpt3_175b_training", "opt_6_7b")
SMALL = {"B": 4, "S": 8, "c": 8, "H": 16, "F": 64, "h": 4, "d": 4, "e": 4}
"""Numbers for the symbols of the examples, admissible at 1, 2 and 4 ranks."""

Case = tuple[str, Operation, str, str, dict[str, int]]  # what is run, its model, the pass, its options, numbers of the symbols


def random_cases(first: int, last: int, count: int = 6) -> Iterator[Case]:
    """The random blocks of these seeds."""
    for seed in range(first, last):
        model = read(random_block(seed))
        for name, strategies in STRATEGIES.items():
            for index in range(count):
                yield f"seed {seed}", model, name, strategies[(seed + index) % len(strategies)], SIZES


def example_cases() -> Iterator[Case]:
    """The examples under every strategy."""
    communications = ("all_reduce", "reduce_scatter_all_gather")
    recomputations = ("none", "attention", "core_attention", "full")
    for name in EXAMPLES:
        model = example(name)
        declared = set(re.findall(r"\w+", re.search(r"bp\.symbols ([\w, ]+)", print_module(model))[1]))  # type: ignore[index]
        numbers = {symbol: number for symbol, number in SMALL.items() if symbol in declared}
        workload = " batch=4 context=8 pipeline=1 all_gather_redo=false" if name == "gpt3_175b_training" else ""
        for tensor, communication, recompute, data in product((1, 2, 4), communications, recomputations, (1, 2)):
            fields = f"tensor={tensor} communication={communication} recompute={recompute} data={data}"
            yield name, model, "distribute-training", fields + workload, numbers
        for phase, tensor in product(("prefill", "decode"), (1, 2, 4)):
            yield name, model, "distribute-inference", f"phase={phase} tensor={tensor} context={8 if 'c' not in declared else 'c'}", numbers


def report(cases: Iterator[Case]) -> int:
    """Run the cases and print what was found."""
    agree: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    found: dict[tuple[str, str], tuple[str, str, int]] = {}
    largest, deviation = 0.0, 0.0
    for label, model, name, options, numbers in cases:
        passed = f"{name}{{{options}}}"
        try:
            dist = run(model, passed)
            planned = PLANNED[name]
            plan = run(dist, planned) if planned else None
        except DiagnosticError as refusal:
            refused[f"{name}: {kind(refusal.diagnostics[0].message)}"] += 1
            continue
        against, worst, own = result(model, dist, plan, numbers)
        if not against:
            agree[name] += 1
            largest, deviation = max(largest, worst), max(deviation, own)
        else:
            old = found.get((name, kind(against)), (label, passed, 0))
            found[name, kind(against)] = (*old[:2], old[2] + 1)
    for name in PLANNED:
        print(f"{name}: {agree[name]} agree, {sum(refused[r] for r in refused if r.startswith(name))} refused by the derivation")
    for refusal, times in refused.most_common():
        print(f"  {times} {refusal}")
    print(f"largest difference of those that agree {largest:.1e}, of the models' own gradients {deviation:.1e}")
    for (name, message), (label, passed, times) in sorted(found.items(), key=lambda item: -item[1][2]):
        print(f"{times} of {name}: {message}  ({label}, {passed})")
    return 1 if found else 0


def result(model: Operation, dist: Operation, plan: Operation | None, numbers: dict[str, int]) -> tuple[str, float, float]:
    """The first mistake found in a block, the largest difference, and the deviation of the model's own gradients."""
    try:
        (outcome,) = check(model, dist, numbers, plan)
    except DiagnosticError as failure:
        return failure.diagnostics[0].message, 0.0, 0.0
    against = outcome.against[0].message if outcome.against else ""
    return against, max(outcome.phases.values()), outcome.gradients or 0.0


def kind(message: str) -> str:
    """The message without names and numbers."""
    return re.sub(r"[-\d.e+]*\d[-\d.e+]*", "N", re.sub(r"'[^']*'", "'...'", re.sub(r"'[\w.]+\.(\w+)'", r"\1", message)))


if __name__ == "__main__":
    which, *numbers_given = sys.argv[1:]
    sys.exit(report(example_cases() if which == "examples" else random_cases(*map(int, numbers_given))))
