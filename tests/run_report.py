"""Random blocks run: `python tests/run_report.py FIRST LAST [COUNT]` derives each, and runs it with the plan of inference.

COUNT strategies of each pass, in turn, and all six where it is left out.

Prints how many agree, by pass; how many the derivation refuses; and of the others what was found, with the seed and the pass of the first.
"""

from __future__ import annotations

import re
import sys
from collections import Counter

from random_blocks import INFERENCE, SIZES, TRAINING, random_block
from support import read, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.run.check import check

PASSES = {"distribute-training": (TRAINING, None), "distribute-inference": (INFERENCE, "plan-inference")}


def main(first: int, last: int, count: int = 6) -> None:
    """Run the blocks of these seeds."""
    agree: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    found: dict[tuple[str, str], tuple[int, str, int]] = {}
    largest, deviation = 0.0, 0.0
    for seed in range(first, last):
        model = read(random_block(seed))
        for name, (strategies, plans) in PASSES.items():
            for options in [strategies[(seed + index) % len(strategies)] for index in range(count)]:
                passed = f"{name}{{{options}}}"
                try:
                    dist = run(model, passed)
                    plan = run(dist, plans) if plans else None
                except DiagnosticError:
                    refused[name] += 1
                    continue
                against, worst, own = result(model, dist, plan)
                if not against:
                    agree[name] += 1
                    largest, deviation = max(largest, worst), max(deviation, own)
                else:
                    old = found.get((name, kind(against)), (seed, passed, 0))
                    found[name, kind(against)] = (*old[:2], old[2] + 1)
    for name in PASSES:
        print(f"{name}: {agree[name]} agree, {refused[name]} refused by the derivation")
    print(f"largest difference of those that agree {largest:.1e}, of the models' own gradients {deviation:.1e}")
    for (name, message), (seed, passed, times) in sorted(found.items(), key=lambda item: -item[1][2]):
        print(f"{times} of {name}: {message}  (seed {seed}, {passed})")


def result(model: Operation, dist: Operation, plan: Operation | None) -> tuple[str, float, float]:
    """What speaks against a block first, the largest difference, and the deviation of the model's own gradients."""
    try:
        (outcome,) = check(model, dist, SIZES, plan)
    except DiagnosticError as failure:
        return failure.diagnostics[0].message, 0.0, 0.0
    against = outcome.against[0].message if outcome.against else ""
    return against, max(outcome.phases.values()), outcome.gradients or 0.0


def kind(message: str) -> str:
    """The message without names and numbers."""
    return re.sub(r"[-\d.e+]*\d[-\d.e+]*", "N", re.sub(r"'[^']*'", "'...'", re.sub(r"'[\w.]+\.(\w+)'", r"\1", message)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
