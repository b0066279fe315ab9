"""Effort is counted in steps: a question that needs too many ends with an answer, the same one every time."""

from __future__ import annotations

import pytest

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.effort import BASE, PER_BYTE, Effort, EffortError, Exhausted, allow, limited, spend
from bpir.ir.expressions.expression import maximum, symbol, total
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Answer
from bpir.parser import parse_expression, parse_module
from bpir.verifiers.structure.exhaustion import placed


def test_an_effort_is_spent() -> None:
    effort = Effort(5)
    effort.spend(5)
    with pytest.raises(Exhausted):
        effort.spend(1)


def test_a_part_of_an_effort_ends_alone() -> None:
    effort = Effort(100)
    done = []
    with effort.at_most(10):
        effort.spend(10)
        done.append("ten")
        effort.spend(1)
        done.append("never")
    assert done == ["ten"] and effort.left == 90
    with pytest.raises(Exhausted), effort.at_most(200):
        effort.spend(91)


def test_a_share_is_a_part_of_the_whole() -> None:
    """A search that has steps of its own left ends with those of the tool."""
    effort = Effort(100)
    with limited(10), pytest.raises(EffortError):
        effort.spend(11)


def test_too_much_work_in_a_module_is_placed_at_its_largest_expressions() -> None:
    text = "bp.symbols a, b\nbp.assume a*b + a > b\nbp.assume a > 0\n"
    module = parse_module(Source("m.bpir", text))
    with pytest.raises(DiagnosticError, match="too much work") as refusal, limited(10), placed(module):
        spend(11)
    found = refusal.value.diagnostics[0]
    assert found.undecided and found.span is not None
    assert text[found.span.start : found.span.end].startswith("bp.assume a*b + a > b")


def test_arithmetic_is_limited_inside_only() -> None:
    spend(10**12)
    with limited(10):
        spend(4)
        with pytest.raises(EffortError), limited(5):
            spend(6)
        spend(0)
        with pytest.raises(EffortError):
            spend(1)
        allow(2)
        spend(1)
    spend(10**12)


def test_a_power_of_a_sum_counts_its_terms() -> None:
    """(p + q + r)**4 has (4 + 2)*(4 + 1)/2 = 15 terms, each of several steps; in a text, the place is that of the power."""
    with limited(14), pytest.raises(DiagnosticError, match="too much work") as refusal:
        parse_expression("1 + (pe + qe + re)**4")
    span = refusal.value.diagnostics[0].span
    assert span is not None and span.source.text[span.start : span.end] == "(pe + qe + re)**4"


def many_inequalities(count: int) -> list[Relation]:
    s = [symbol(f"s{i}") for i in range(count)]
    return [Relation("greater", s[i] + s[i - 1] + 9, s[i - 2] + s[i - 3]) for i in range(count)]


def test_a_proof_under_many_inequalities_ends() -> None:
    """A false order under 60 inequalities of sums is refuted within the steps of such a file, at the same numbers twice."""
    relations = many_inequalities(60)
    answers = []
    for _ in range(2):
        facts = Facts(relations)
        with limited(BASE + PER_BYTE * 3_000):
            answers.append(facts.at_least(symbol("s0"), symbol("s30")))
    assert answers[0].refuted and answers[0].witness == answers[1].witness


def test_nested_maxima_end() -> None:
    s = [symbol(f"s{i}") for i in range(60)]
    nested = maximum(*(maximum(s[i], s[(7 * i) % 60] * 2) + s[(11 * i) % 60] for i in range(60)))
    facts = Facts([Relation("equal", symbol("F"), nested)])
    with limited(BASE):
        assert facts.nonnegative(symbol("F") - 1).answer is not None


def test_a_long_chain_is_oriented_as_far_as_the_steps_go() -> None:
    """Of 3,000 equalities some are left out, and a claim that needs none of them is proved all the same."""
    s = [symbol(f"s{i}") for i in range(3_000)]
    chain = [Relation("equal", s[i], total([s[i + 1], s[i + 2]])) for i in range(2_998)]
    facts = Facts([*chain, Relation("greater", symbol("t"), symbol("u"))])
    assert facts.contradiction is None
    assert facts.at_least(symbol("a") + 1, symbol("a")).proved


def test_a_candidate_of_thousands_of_digits_is_given_up() -> None:
    a, b, c = map(symbol, "abc")
    facts = Facts((Relation("divides", b**900 * c, a * a), Relation("greater", b, symbol("d") + 7)), {})
    assert facts.at_least(c, a).answer is Answer.UNKNOWN  # every a has more than 2,700 bits, too many to be tried
