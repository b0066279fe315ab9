"""Derive random blocks under six strategies each: `python evidence/random_blocks_report.py [BLOCKS] [FIRST] [training|inference]`.

Prints how many derivations of each pass its gate accepts, how many a pass refuses and with which sentence, and exits 1 if a gate refuses
one that its pass derives, or if more than 5 % are refused.
"""

from __future__ import annotations

import re
import sys
from collections import Counter

from random_blocks import INFERENCE, TRAINING, random_block
from support import labels, read, run

from bpir.ir.diagnostic import DiagnosticError

STRATEGIES = {"training": TRAINING, "inference": INFERENCE}
_REFUSED = 0.05  # of all derivations, at most


def verdict(text: str, side: str, options: str) -> str:
    """Empty if the derivation and its plan are accepted; the rule of the gate that refuses it; or the sentence of the pass."""
    try:
        run(read(text), f"distribute-{side}{{{options}}}", f"plan-{side}")
    except DiagnosticError as refused:
        errors = [d for d in refused.diagnostics if d.severity == "error"]
        return min(labels(errors)) if all("[" in d.message for d in errors) else errors[0].message
    return ""


def is_gates(answer: str) -> bool:
    """Whether a gate refused what a pass derived: the answer is a label like `distribute-training.R10`."""
    return re.fullmatch(r"[a-z-]+\.[A-Z]\d+", answer) is not None


def judge(side: str, first: int, count: int) -> Counter[str]:
    """The answers for the blocks of these seeds, names of layers left out, each with the first seed and its options."""
    answers: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for seed in range(first, first + count):
        text = random_block(seed)
        for options in STRATEGIES[side]:
            answer = re.sub(r"'[^']*'", "'...'", verdict(text, side, options))
            answers[answer] += 1
            examples.setdefault(answer, f"seed {seed}, {options}")
    total, accepted = answers.total(), answers.pop("", 0)
    wrong = sum(number for answer, number in answers.items() if is_gates(answer))
    share = (answers.total() - wrong) / total
    print(f"distribute-{side}: {total} derivations, {accepted} accepted, {wrong} refused by a gate, {100 * share:.1f} % by the pass")
    for answer, number in answers.most_common():
        print(f"  {number} {answer} ({examples[answer]})")
    return answers


def main() -> int:
    count, first = [*map(int, sys.argv[1:3]), *(500, 0)[len(sys.argv[1:3]) :]]
    sides = sys.argv[3:] or [*STRATEGIES]
    failed = False
    for side in sides:
        answers = judge(side, first, count)
        failed |= any(map(is_gates, answers)) or answers.total() > _REFUSED * count * len(STRATEGIES[side])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
