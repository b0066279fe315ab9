"""Random sets of relations, each answer compared with what is known: `python evidence/relation_report.py [SETS] [SEED]`.

Exits 1 if a set is accepted that no numbers satisfy, or one is called unsatisfiable that some numbers satisfy; prints how many
were left undecided, by what is known of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

from algebra.relation_sets import RelationSet, draw, holds
from report_program import report

from bpir.ir.satisfiability import decide


def judge(drawn: RelationSet) -> str:
    """The answer: "accepted", "impossible" or "undecided".

    Raises:
        AssertionError: it is wrong.
    """
    answer = decide(drawn.built, {})
    if answer.witness is not None:
        point = dict.fromkeys("abcde", 1) | dict(answer.witness)
        assert all(type(n) is int and n >= 1 for n in point.values()), f"{point} are no positive integers"
        assert all(holds(relation, point) for relation in drawn.relations), f"accepted by {point}, which do not satisfy: {drawn}"
        assert not drawn.impossible, f"accepted, but no numbers satisfy ({drawn.reason}): {drawn}"
        return "accepted"
    if answer.impossible:
        assert drawn.witness is None, f"called unsatisfiable, but {drawn.witness} satisfy: {drawn}"
        return "impossible"
    return "undecided"


def run(count: int, seed: int = 0) -> Counter[tuple[str, str, str]]:
    """The number of sets by what is known of them, the reason, and the answer.

    Raises:
        AssertionError: one is wrong.
    """
    random = Random(seed)
    found: Counter[tuple[str, str, str]] = Counter()
    for _ in range(count):
        drawn = draw(random)
        known = "satisfiable" if drawn.witness is not None else "unsatisfiable" if drawn.impossible else "not known"
        found[known, drawn.reason, judge(drawn)] += 1
    return found


def table(found: Counter[tuple[str, str, str]]) -> str:
    lines = [f"{'known':14} {'by':30} {'sets':>6} {'accepted':>9} {'impossible':>11} {'undecided':>10}"]
    for known, reason in sorted({(known, reason) for known, reason, _ in found}):
        counts = [found[known, reason, answer] for answer in ("accepted", "impossible", "undecided")]
        lines.append(f"{known:14} {reason:30} {sum(counts):>6} {counts[0]:>9} {counts[1]:>11} {counts[2]:>10}")
    undecided = sum(n for (_, _, answer), n in found.items() if answer == "undecided")
    lines.append(f"{found.total()} sets: no answer is wrong, {undecided} undecided: {100 * undecided / found.total():.1f} %")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(report(run, table, AssertionError, "no answer is wrong"))
