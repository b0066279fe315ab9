"""Random claims whose smallest counterexample is large: `python evidence/claims_large_report.py [CLAIMS] [SEED]`.

Exits 1 at the first claim that is proved, though a point refutes it, or refuted by numbers that don't; prints the share of unknown.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice
from random import Random

from algebra.claim_judge import CLAIMS, Fooled
from algebra.large_counterexamples import Claim, claims, judge
from claims_report import percent
from report_program import report

from bpir.ir.relations.verdict import Answer


def run(count: int, seed: int = 0) -> list[tuple[Claim, Answer]]:
    """Judge that many claims.

    Raises:
        Fooled: an answer is wrong.
    """
    return [(claim, judge(claim)) for claim in islice(claims(Random(seed)), count)]


def summary(found: list[tuple[Claim, Answer]]) -> str:
    """The counts by claim."""
    distinct = len({str(claim) for claim, _ in found})
    lines = [f"{len(found)} false claims ({distinct} distinct) that hold for small numbers"]
    lines.append(f"{'claim':10} {'proved':>8} {'refuted':>8} {'unknown':>8} {'share':>7}")
    for kind in (*CLAIMS, "all"):
        count = Counter(answer for claim, answer in found if kind in (claim.kind, "all"))
        shown = [count[answer] for answer in (Answer.PROVED, Answer.REFUTED, Answer.UNKNOWN)]
        lines.append(f"{kind:10} {shown[0]:>8} {shown[1]:>8} {shown[2]:>8} {percent(shown[2], sum(shown)):>7}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(report(run, summary, Fooled, "no proof is false"))
