"""`bp-verify --explain`: what is listed as needed is needed, and what is listed as a witness refutes, by arithmetic written here."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, derive, example, read, replaced, run
from tiers import examples

from bpir.ir.expressions.expression import ONE, ceildiv, constant, maximum, minimum, symbol
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.smallest import tied
from bpir.tools import bp_verify
from bpir.tools.verdicts.proof import WIDTH, explanation
from bpir.verifiers.derivation import verifier
from bpir.verifiers.statements import Claim, Fact, Proofs, Statement

NAMES = B, H, h, d, t = tuple(map(symbol, ("B", "H", "h", "d", "t")))
LIT = ROOT / "lit_tests" / "verify"


# --- arithmetic of its own: the text of an expression, evaluated by Python


def value(text: str, at: Mapping[str, int]) -> Fraction:
    """The value of the text at the numbers."""
    names = {name: Fraction(number) for name, number in at.items()}
    nodes = {
        "max": max,
        "min": min,
        "ceildiv": lambda a, b: Fraction(-((-a) // b)),
        "floordiv": lambda a, b: Fraction(a // b),
    }
    exact = re.sub(r"(?<![\w.])(\d+)\b", r"Q(\1)", text)  # no float anywhere
    return Fraction(eval(exact, {"__builtins__": {}, "Q": Fraction, **nodes, **names}))


def holds(relation: Relation, at: Mapping[str, int]) -> bool:
    """Whether a relation is true at the numbers."""
    left, right = value(relation.left.text, at), value(relation.right.text, at)
    return {"equal": left == right, "greater": left > right, "divides": (right / left).denominator == 1}[relation.kind]


def false(statement: Statement, at: Mapping[str, int]) -> bool:
    left, right = value(statement.left.text, at), value(statement.right.text, at)
    if statement.sign == "|":
        return left != 0 and (right / left).denominator != 1
    return {"=": left != right, ">=": left < right, ">": left <= right}[statement.sign]


def by_measure(names: list[str], limit: int) -> Iterator[dict[str, int]]:
    """All numbers up to the limit: by the largest, then by the sum, then in the order of the names."""
    points = itertools.product(range(1, limit + 1), repeat=len(names))
    for point in sorted(points, key=lambda p: (max(p, default=0), sum(p), p)):
        yield dict(zip(names, point, strict=True))


# --- statements over a few symbols, under a few relations

RELATIONS = [
    Relation("equal", H, h * d),
    Relation("divides", t, h),
    Relation("divides", t, H),
    Relation("divides", constant(2), B),
    Relation("greater", t, ONE),
    Relation("greater", B, t),
    Relation("greater", constant(4), B),
]
SIDES = [
    B, H, t, ONE, constant(2), h * d, B * H, B * h * d, B * H / t, B * h * d / t, H**2 / t, B * H - B * H / t, B / 2, t - 2 + B, B + t,
    maximum(B, t), maximum(B, t) + minimum(B, t), ceildiv(h, t), h / t, B * (B + 1) / 2, 2 * B * H / t,
]  # fmt: skip
statements = st.builds(Statement, st.sampled_from(SIDES), st.sampled_from(["=", ">=", ">", "|"]), st.sampled_from(SIDES))
facts_ = st.builds(Facts, st.lists(st.sampled_from(RELATIONS), max_size=4, unique=True), st.sampled_from([{}, {"d": 2}, {"B": 2}]))


def without(facts: Facts, kept: tuple[Fact, ...]) -> Facts:
    """The facts that are kept, in their order."""
    return Facts((r for r in facts.relations if r in kept), {n: v for n, v in facts.bindings.items() if (n, v) in kept})


@settings(max_examples=examples(300), deadline=None)
@given(facts_, statements)
def test_what_a_proof_lists_proves_and_each_of_it_is_needed(facts: Facts, statement: Statement) -> None:
    if facts.contradiction is not None:
        return
    proof = Proofs(facts).of(statement)
    assert (proof is not None) == statement.decide(facts).proved
    if proof is None:
        return
    assert statement.decide(without(facts, proof.facts)).proved
    for fact in proof.facts:
        rest = tuple(other for other in proof.facts if other != fact)
        assert not statement.decide(without(facts, rest)).proved, (proof, fact)


@settings(max_examples=examples(200), deadline=None)
@given(facts_, statements)
def test_a_witness_refutes_and_none_is_smaller(facts: Facts, statement: Statement) -> None:
    if facts.contradiction is not None or not statement.decide(facts).refuted:
        return
    found = statement.smallest_witness(facts)
    assert found is not None
    at = {**dict.fromkeys("BHhdt", 1), **facts.bindings, **found.values}
    assert false(statement, at)
    mine = {name for expr in (statement.left, statement.right) for name in expr.symbols}
    names = tied(facts.relations, sorted(mine), list(facts.bindings))
    assert list(found.values) == names and mine <= set(names)
    concerned = [r for r in facts.relations if set(r.symbols) <= {*names, *facts.bindings}]
    assert all(holds(relation, at) for relation in concerned)
    free = [name for name in names if name not in facts.bindings]
    largest = max((found.values[name] for name in free), default=0)
    if not found.smallest or largest ** len(free) > 4096:
        return
    for point in by_measure(free, largest):
        other = {**at, **point}
        if all(holds(relation, other) for relation in concerned) and false(statement, other):
            assert {n: other[n] for n in free} == {n: found.values[n] for n in free}
            return
    raise AssertionError("the witness itself was not among the numbers")


@pytest.mark.parametrize(
    ("statement", "relations", "values", "smallest"),
    [
        (Statement(B * H, "=", B * h), [], {"B": 1, "H": 1, "h": 2}, True),  # (1, 2) comes before (2, 1)
        (Statement(B, ">", t), RELATIONS[4:5], {"B": 1, "t": 2}, True),
        (Statement(ONE, "|", H / t), RELATIONS[:2], None, True),
        (Statement(ONE, "|", B / 2), [], {"B": 1}, True),
        (Statement(constant(40), ">=", B), [], {"B": 41}, True),
        (Statement(B, "=", constant(2)), [Relation("greater", B, constant(100))], {"B": 101}, True),
        (Statement(B * H, "=", B * H), [], None, True),
    ],
    ids=lambda value: value.text if isinstance(value, Statement) else "",
)
def test_witnesses_that_are_known(statement: Statement, relations: list[Relation], values: dict[str, int] | None, smallest: bool) -> None:
    found = statement.smallest_witness(Facts(relations))
    assert (None if found is None else (dict(found.values), found.smallest)) == (None if values is None else (values, smallest))


def test_a_far_witness_is_made_small_though_not_proved_the_smallest() -> None:
    names = [symbol(f"x{i}") for i in range(6)]
    total = sum(names[1:], names[0])
    found = Statement(maximum(total, 50 * ONE), "=", 50 * ONE).smallest_witness(Facts())
    assert found is not None and not found.smallest
    assert sum(found.values.values()) == 51  # one less, and the maximum is 50


# --- whole modules


def explained(source: Operation, target: Operation) -> tuple[str, list[Claim], Facts]:
    claims: list[Claim] = []
    check = verifier(source, target, claims)
    check.verify()
    return explanation(source, target, check, claims), claims, check.findings.facts


def hand_made() -> tuple[str, str]:
    return (LIT / "explain.bpir").read_text(), (LIT / "Inputs" / "explain_dist.bpir").read_text()


@pytest.mark.parametrize(("relation", "needed"), [("H = d*h", 3), ("t | h", 7), ("t > 1", 1), ("S > 1", 0)])
def test_without_a_relation_the_claims_that_need_it_are_not_proved(relation: str, needed: int) -> None:
    """The relation is taken out of the text of both modules, and all claims that were made of them are decided again."""
    texts = [text.replace("H = h * d", "H = d*h").replace("bp.assume t > 1", "bp.assume t > 1, B > 0") for text in hand_made()]
    assert f"{relation} " in texts[0] + texts[1]
    modules = [read(re.sub(rf"{re.escape(relation)}(, |\n)", lambda m: "" if m[1] == ", " else "B > 0\n", text)) for text in texts]
    whole, claims, _ = explained(read(texts[0]), read(texts[1]))
    _, fewer, facts = explained(*modules)
    assert all(claim.verdict.proved for claim in claims)
    assert sum(not claim.statement.decide(facts).proved for claim in claims) == needed
    assert all(claim.verdict.proved for claim in fewer) == (needed == 0)
    assert re.search(rf"{re.escape(relation)} .* needed by {needed} claim", whole) or needed == 0


@pytest.mark.campaign
def test_the_text_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Claims are made in the order of the modules, whatever the seed of hashes."""
    source, target = tmp_path / "source.bpir", tmp_path / "target.bpir"
    source.write_text(print_module(example("transformer_block")).replace("bp.symbols ", "bp.symbols D, "))
    options = "tensor=t data=D optimizer_sharding"
    target.write_text(print_module(run(read(source.read_text()), f"distribute-training{{{options}}}")))
    command = [sys.executable, "-c", "import sys; from bpir.tools.bp_verify import main; sys.exit(main(sys.argv[1:]))"]
    texts = {
        subprocess.run(
            [*command, "--explain", source, target], env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True
        ).stdout
        for seed in ("0", "1", "2", "3", "4")
    }
    assert len(texts) == 1


CASES = [("transformer_block", ""), ("gpt3_175b", ""), ("transformer_block", "training")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_claim_is_there_and_every_relation_of_a_proof_is_needed(name: str, kind: str) -> None:
    source = example(name)
    target = read(print_module(run(source, "distribute-training{tensor=t}" if kind else "distribute-inference")))
    text, claims, facts = explained(source, target)
    assert explained(source, target)[0] == text  # deterministic
    assert all(len(line) <= WIDTH for line in text.splitlines()[1:])
    proofs = Proofs(facts)
    shown = folded = 0
    for claim in claims:
        proof = proofs.of(claim.statement)
        assert proof is not None
        at_sight = claim.statement.left is claim.statement.right and claim.statement.sign != "|"
        if proof.facts or not (at_sight or claim.statement.sign == "|"):
            shown += 1
            assert f"{claim.statement.text} " in " ".join(text.split()), claim.statement.text
        for fact in proof.facts:
            assert not claim.statement.decide(without(facts, tuple(f for f in proof.facts if f != fact))).proved
    folded = sum(int(n) for n in re.findall(r"^  (\d+) claims?: ", text, re.MULTILINE))
    placed = len(re.findall(r"^  (?:SOURCE|TARGET|-):?\d*  ", text, re.MULTILINE))
    assert folded + placed == len(claims)
    assert shown > 5


def test_the_listed_witnesses_refute() -> None:
    source, target = hand_made()
    wrong = replaced(target, ("ops = 2*B*H**2/t", "ops = 2*B*H**2/t + max(H - 2*t, 0)"), ("write = B*d*e*h/t", "write = B*d*e"))
    text, _, facts = explained(read(source), read(wrong))
    found = re.findall(
        r"found +(.*)\n +expected +(.*)\n +difference +(.*)\n +witness +(.*) \(the smallest\)\n +there +it is (.*), expected (.*)", text
    )
    # H - 2*t > 0 wants H > 2*t, so H = 5 or 6 beside t = 2; of h*d = 6 or 5 only 6 has an even h, and 2*3 has the smaller sum
    numbers = [{k: int(v) for k, v in re.findall(r"(\w+) = (\d+)", row[3])} for row in found]
    assert numbers == [{"B": 1, "H": 6, "d": 3, "h": 2, "t": 2}, {"B": 1, "H": 4, "d": 1, "e": 1, "h": 4, "t": 2}]
    for (ours, theirs, difference, _, left, right), at in zip(found, numbers, strict=True):
        assert value(ours, at) == Fraction(left) != value(theirs, at) == Fraction(right)
        assert value(difference.split(", by")[0], at) == Fraction(left) - Fraction(right)
        assert all(holds(r, {**at, "S": 2}) for r in facts.relations)


def test_work_that_may_be_a_fraction_is_explained() -> None:
    """B*H - B*H/t is no whole number for H = 1, t = 2, which nothing forbids."""
    source, target = (text.replace("where H = h * d, t | h", "where t | h").replace("H = d*h, ", "") for text in hand_made())
    target = replaced(target, ("weights <H**2/t>", "weights <H*d*h/t>"), ("ops = 2*B*H**2/t", "ops = 2*B*H*d*h/t"))
    text, claims, _ = explained(read(source), read(target))
    assert [claim.rule for claim in claims if not claim.verdict.proved] == ["R13"]
    assert (
        "  TARGET:22  the work 'ops' of 'down.output_collective.decode' [distribute-inference.R13]\n"
        "    found       B*H - B*H/t\n"
        "    expected    a whole number\n"
        "    witness     B = 1, H = 1, h = 2, t = 2 (the smallest)\n"
        "    there       the quotient is 1/2\n"
    ) in text


def test_plans_and_concrete_plans_are_explained() -> None:
    plan = derive("gpt3_175b", "plan")
    text, claims, _ = explained(derive("gpt3_175b", "dist"), plan)
    assert "plan-inference.R13  memory facts are kept\n  compared as it stands" in text
    assert claims and all(claim.verdict.proved for claim in claims)
    text, claims, _ = explained(plan, run(plan, "bind-queue"))
    assert "bind-queue.R16  what the target's dialect says is the canonical construction" in text
    assert len(claims) > 50
    check = verifier(plan, run(plan, "bind-queue"), [])
    check.findings.prefix = "bind-tape"  # a kind of target that nothing documents has the rules of binding
    assert "bind-tape.R1  every command comes from a task" in explanation(plan, plan, check, [])


def test_nobody_listens_without_the_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert bp_verify.main([str(LIT / "explain.bpir"), str(LIT / "Inputs" / "explain_dist.bpir")]) == 0
    assert capsys.readouterr().out == "proved\n"
    check = verifier(*(read(text) for text in hand_made()))
    check.verify()
    assert check.findings.claims is None
