"""Judges every corruption of every case and prints the outcomes: `python evidence/corruption_report.py [LIMIT] [PROCESSES]`.

LIMIT is the number of corruptions of each kind in each module (0: all). Exits 1 if one was accepted wrongly or left undecided, or if a rule
was never the only one to fire.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import attrs
from corruptions.corruption import fingerprint, sampled
from corruptions.judge import EQUIVALENT, REFUSED, UNKNOWN, WRONG, Verdict, judge
from corruptions.levels import corruptions
from corruptions.valid_modules import Case, cases

from bpir.tools.pages import documentation

LEVELS = ("model", "distribute-inference", "plan-inference", "distribute-training", "plan-training", "bind-queue", "bind-slot")


@attrs.define
class Outcome:
    """One judged corruption."""

    level: str
    kind: str
    where: str
    case: str
    verdict: Verdict


def run_case(case: Case, limit: int, distinct: set[object] | None = None) -> list[Outcome]:
    """Judge the corruptions of one case, each distinct one once."""
    source, target = case.modules()
    valid = target if case.side == "target" else source
    seen = {fingerprint(valid)}
    found = []
    for corruption in sampled(corruptions(valid), limit or sys.maxsize):
        corrupted = corruption.apply(valid)
        mark = fingerprint(corrupted)
        if mark in seen:
            continue
        seen.add(mark)
        try:
            verdict = judge(source, target, corrupted, case.side)
        except Exception as crash:
            verdict = Verdict(WRONG, frozenset(("crash",)), f"{type(crash).__name__}: {crash}")
        found.append(Outcome(case.level, corruption.kind, corruption.where, case.name, verdict))
    return found


def run_all(limit: int, processes: int) -> list[Outcome]:
    """Judge the corruptions of every case."""
    with ProcessPoolExecutor(processes) as pool:
        return [o for found in pool.map(run_case, cases(), [limit] * len(cases())) for o in found]


def table(outcomes: list[Outcome]) -> str:
    """Kinds by levels: how many, and the rules that refused most of them."""
    lines = []
    for level in LEVELS:
        mine = [o for o in outcomes if o.level == level]
        kinds = list(dict.fromkeys(o.kind for o in mine))
        lines.append(f"\n{level}: {len(mine)} corruptions of {len(kinds)} kinds")
        lines.append(f"  {'kind':44} {'all':>5} {'refused':>8} {'equal':>6} {'wrong':>6} {'unknown':>8}  rules")
        for kind in kinds:
            rows = [o.verdict for o in mine if o.kind == kind]
            count = Counter(v.outcome for v in rows)
            rules = Counter(label.rpartition(level + ".")[2] for v in rows for label in v.labels)
            shown = " ".join(f"{name}:{n}" for name, n in rules.most_common(6))
            numbers = f"{len(rows):>5} {count[REFUSED]:>8} {count[EQUIVALENT]:>6} {count[WRONG]:>6} {count[UNKNOWN]:>8}"
            lines.append(f"  {kind[:44]:44} {numbers}  {shown}")
    return "\n".join(lines)


def alone(outcomes: list[Outcome]) -> Counter[str]:
    """The number of times that each rule was the only one to fire."""
    return Counter(next(iter(o.verdict.labels)) for o in outcomes if len(o.verdict.labels) == 1)


def main() -> int:
    limit, processes = [*map(int, sys.argv[1:]), *(8, 2)[len(sys.argv) - 1 :]][:2]
    outcomes = run_all(limit, processes)
    print(table(outcomes))
    only = alone(outcomes)
    fired = Counter(label for o in outcomes for label in o.verdict.labels)
    print("\nrules: fired, alone")
    for label in sorted({*fired, *documentation.rules()}):
        print(f"  {label:30} {fired[label]:>6} {only[label]:>6}")
    count = Counter(o.verdict.outcome for o in outcomes)
    bad = [o for o in outcomes if o.verdict.outcome in (WRONG, UNKNOWN)]
    never = [label for label in documentation.rules() if not only[label]]
    print("never alone: " + (", ".join(never) or "none"))
    for o in bad:
        print(f"{o.verdict.outcome}: {o.level}: {o.kind}: {o.where} ({o.case}) {o.verdict.first}")
    print(f"\n{len(outcomes)} distinct corruptions: " + ", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    return 1 if bad or never else 0


if __name__ == "__main__":
    sys.exit(main())
