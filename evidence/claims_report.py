"""Random claims about pairs of expressions, each answer compared with plain arithmetic: `python evidence/claims_report.py [PAIRS] [SEED]`.

Exits 1 at the first proof that a point of the grid contradicts, or refutation whose witness does not refute; prints how many claims were
proved, refuted and left unknown, and by which laws the pairs came about that are equal and were not proved so.
"""

from __future__ import annotations

import sys
from collections import Counter

from algebra.claim_judge import CLAIMS, Fooled, Outcome, judge
from algebra.claim_trees import Pair
from algebra.random_claims import pairs
from hypothesis import HealthCheck, Phase, given, seed, settings
from report_program import report

from bpir.ir.relations.verdict import Answer


def run(count: int, number: int = 0) -> list[tuple[Pair, list[Outcome]]]:
    """Judge that many pairs.

    Raises:
        Fooled: (the shortest pair that Hypothesis finds) an answer is wrong.
    """
    found: list[tuple[Pair, list[Outcome]]] = []

    phases = (Phase.generate, Phase.shrink)

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=phases)
    @given(pairs())
    def one(pair: Pair) -> None:
        found.append((pair, judge(pair)))

    one()
    return found


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def summary(found: list[tuple[Pair, list[Outcome]]]) -> str:
    """The counts by claim, then by law."""
    distinct = len({str(pair) for pair, _ in found})
    equal = [o for pair, outcomes in found if pair.relation == "=" for o in outcomes if o.claim == "equal"]
    left = sum(o.answer is Answer.UNKNOWN for o in equal)
    lines = [
        f"{len(found)} pairs ({distinct} distinct); {len(equal)} equal in disguise, {left} of these unknown: {percent(left, len(equal))}"
    ]
    everything = [o for _, outcomes in found for o in outcomes]
    lines += _by_claim(everything)
    lines.append(f"witnesses where a tree, as written, divides by zero: {sum(o.undefined for o in everything)}")
    for relation, claim in (("=", "equal"), (">=", "at least")):
        lines += _by_law(found, relation, claim)
    return "\n".join(lines)


def _by_claim(everything: list[Outcome]) -> list[str]:
    lines = [f"{'claim':10} {'proved':>8} {'refuted':>8} {'unknown':>8} {'share':>7}   {'true':>7} {'unknown':>8} {'share':>7}"]
    for claim in (*CLAIMS, "all"):
        mine = [o for o in everything if claim in (o.claim, "all")]
        count = Counter(o.answer for o in mine)
        true = [o for o in mine if o.true]
        left = sum(o.answer is Answer.UNKNOWN for o in true)
        unknown = count[Answer.UNKNOWN]
        lines.append(
            f"{claim:10} {count[Answer.PROVED]:>8} {count[Answer.REFUTED]:>8} {unknown:>8} {percent(unknown, len(mine)):>7}"
            f"   {len(true):>7} {left:>8} {percent(left, len(true)):>7}"
        )
    return lines


def _by_law(found: list[tuple[Pair, list[Outcome]]], relation: str, claim: str) -> list[str]:
    rows: dict[str, Counter[Answer]] = {}
    for pair, outcomes in found:
        answers = [o.answer for o in outcomes if pair.relation == relation and o.claim == claim]
        for law in set(pair.laws):
            rows.setdefault(law, Counter()).update(answers)
    rows = {law: row for law, row in rows.items() if row}
    lines = [f"\n{claim} by a law (and others): {'all':>6} {'unknown':>8}"]
    for law, row in sorted(rows.items(), key=lambda row: (-row[1][Answer.UNKNOWN] / row[1].total(), row[0])):
        lines.append(f"  {law:32} {row.total():>6} {row[Answer.UNKNOWN]:>8} {percent(row[Answer.UNKNOWN], row.total()):>7}")
    return lines


if __name__ == "__main__":
    sys.exit(report(run, summary, Fooled, "no answer is wrong"))
