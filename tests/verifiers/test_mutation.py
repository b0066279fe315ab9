"""The mutants that `mutation_report.py` tries: counted by hand on a few lines; and every file that proves is in a group."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutation import all_mutants, mutants, sampled
from mutation_report import GROUPS, prepare, tried
from support import ROOT

pytestmark = pytest.mark.slow

SOURCE = b'''\
"""A text."""


def sign(x: int) -> int:
    if x < 0 and x != 7:
        return -1
    assert x > -1
    return min(x, 1)
'''


def test_the_mutants_of_a_source() -> None:
    found = mutants("a.py", SOURCE)
    after = [SOURCE[m.start : m.end] + b" -> " + m.new for m in found]
    assert sorted(after) == sorted(
        [
            b"x < 0 and x != 7 -> (not (x < 0 and x != 7))",
            b"< -> <=",
            b"< -> >=",
            b"0 -> 1",
            b"and -> or",
            b"!= -> ==",
            b"7 -> 8",
            b"return -1 -> return None",
            b"-1 -> (1)",
            b"1 -> 2",  # of -1
            b"return min(x, 1) -> return None",
            b"min -> max",
            b"1 -> 2",
        ]
    )
    assert {m.line for m in found} == {5, 6, 8}
    assert {m.function for m in found} == {"sign"}
    assert len({m.key for m in found}) == len(found)
    programs = {m.apply(SOURCE) for m in found}
    assert len(programs) == len(found)
    for program in programs:
        compile(program, "a.py", "exec")
    changed = next(m for m in found if m.new == b"<=")
    assert changed.difference(SOURCE) == "    -    if x < 0 and x != 7:\n    +    if x <= 0 and x != 7:"


def test_a_sample_is_the_same_again_and_keeps_its_members_when_other_code_comes() -> None:
    found = all_mutants(ROOT, ["verifiers/statements.py"])
    once = sampled(found, 7, 0)
    assert sampled(found, 7, 0) == once
    assert sampled(found, 7, 1) != once
    later = mutants("verifiers/statements.py", b"\n\n" + (ROOT / "verifiers" / "statements.py").read_bytes())
    assert [m.key for m in sampled(later, 7, 0)] == [m.key for m in once]


def test_every_verifier_and_all_that_decides_is_in_a_group() -> None:
    verifiers = {str(path.relative_to(ROOT)) for path in (ROOT / "verifiers").rglob("*.py") if path.name != "__init__.py"}
    algebra = [path for folder in ("expressions", "relations") for path in (ROOT / "ir" / folder).glob("*.py")]
    deciding = {str(path.relative_to(ROOT)) for path in algebra if path.name not in ("__init__.py", "sympy_bridge.py", "relation.py")}
    assert GROUPS["verifiers"].keys() == verifiers
    assert GROUPS["ir"].keys() == deciding
    for tests in (tests for group in GROUPS.values() for tests in group.values()):
        assert all(any((ROOT / "tests").rglob(f"test_{name}.py")) for name in tests)


@pytest.mark.campaign(keep=1)
@pytest.mark.parametrize(
    ("new", "verdict"), [("self.answer is not Answer.REFUTED", "FAILED"), ("Answer.REFUTED is self.answer", "survived")]
)
def test_a_mutant_is_killed_by_a_test_that_fails(new: str, verdict: str, tmp_path: Path) -> None:
    """In a real copy of the tree: the opposite is noticed, another spelling is not."""
    copy = prepare(tmp_path)
    target, old = copy / "ir" / "relations" / "verdict.py", "self.answer is Answer.REFUTED"
    text = "from bpir.ir.relations.verdict import proved\n\ndef test_one() -> None:\n    assert not proved('x').refuted\n"
    (copy / "tests" / "test_one.py").write_text(text)
    source = target.read_text()
    assert source.count(old) == 1
    target.write_text(source.replace(old, new))
    assert tried(copy, ("one",)).startswith(verdict)
