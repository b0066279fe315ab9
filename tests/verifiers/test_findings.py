"""A boundary rule is silent where a claim is proved, shows numbers where it is refuted, and reports it where it is unknown."""

from __future__ import annotations

from support import UNDECIDED

from bpir.dialects.bp import TensorType, Work
from bpir.ir.attributes import IndexType, Type
from bpir.ir.expressions.expression import ONE, ZERO, constant, symbol
from bpir.ir.operation import Operation, Value
from bpir.ir.relations.facts import Facts, Relation
from bpir.parser import parse_expression
from bpir.verifiers.findings import Findings

a, b, t = symbol("a"), symbol("b"), symbol("t")
TASK = Operation("ext.task")


def findings() -> Findings:
    return Findings("pass", Facts((Relation("greater", t, ONE), Relation("divides", t, a))))


def texts(found: Findings) -> list[tuple[str, ...]]:
    return [(d.message, *(n.message for n in d.notes)) for d in found.diagnostics]


def test_what_is_proved_is_no_finding() -> None:
    found = findings()
    found.equal("R1", TASK, "the size", a * (b + 1), a * b + a)
    found.at_least("R1", TASK, "the size", a, t)
    found.at_least("R1", TASK, "the size", a, a)
    found.whole("R1", TASK, "x", Work(a / t, ZERO, a * b, ZERO))
    assert texts(found) == []


def test_a_refutation_gives_the_numbers_of_its_own_symbols() -> None:
    """The witness has a value of t as well, which neither side names."""
    found = findings()
    found.equal("R1", TASK, "the size", b, 2 * b)
    found.at_least("R2", TASK, "the size", b, b + 3)
    found.equal("R3", TASK, "the count", constant(3), constant(4))
    assert texts(found) == [
        ("the size is wrong: b [pass.R1]", "expected 2*b", "with b = 1 it is 1, expected 2"),
        ("the size is wrong: b [pass.R2]", "expected at least b + 3", "with b = 1 it is 1, expected 4"),
        ("the count is wrong: 3 [pass.R3]", "expected 4", "with every binding it is 3, expected 4"),
    ]


def test_what_is_not_decided_is_a_finding_without_numbers() -> None:
    found = findings()
    undecided = parse_expression(UNDECIDED)
    found.equal("R1", TASK, "the size", undecided, ZERO)
    assert texts(found) == [(f"the size can't be decided (unknown is not success): {undecided.text} [pass.R1]", "expected 0")]


def test_a_fraction_says_what_to_declare() -> None:
    found = findings()
    found.whole("R1", TASK, "x", Work(b / t, ZERO, ZERO, ZERO))
    hint = "declare which symbol divides which, as in 't | H', or record it with bp.assume"
    assert texts(found) == [("the work 'ops' of 'x' may be a fraction: b/t [pass.R1]", hint)]


def test_work_that_may_be_negative() -> None:
    found = findings()
    found.whole("R1", TASK, "x", Work(a - t, a - 2 * t, t - 1, b - b * t))  # a is a multiple of t, and t > 1
    messages = [message for message, *_ in texts(found)]
    assert messages == [
        "the work 'read' of 'x' may be negative: a - 2*t [pass.R1]",
        "the work 'msg' of 'x' may be negative: -b*t + b [pass.R1]",
    ]
    assert [d.undecided for d in found.diagnostics] == [False, False]


def test_types_are_the_same_where_each_size_is_proved_equal() -> None:
    first = TensorType((a * b, t), ((), ("tensor",)), b, ())

    def same(type: Type) -> bool:
        found = findings()
        found.same_type("R1", Operation("test.op"), "another type", Value(type), first)
        return not found.diagnostics

    assert same(first)
    assert same(TensorType((a * b, t), ((), ("tensor",)), b, ()))
    for other in (
        TensorType((a * b, t + 1), ((), ("tensor",)), b, ()),
        TensorType((a * b, t), (("tensor",), ()), b, ()),
        TensorType((a * b, t), ((), ("tensor",)), b, ("tensor",)),
        TensorType((a * b,), ((),), b, ()),
        TensorType((a * b, t, ONE), ((), ("tensor",), ()), b, ()),
        TensorType((a * b, t), ((), ("tensor",)), b + 1, ()),
        IndexType(),
    ):
        assert not same(other), other


def test_refusals_that_are_no_claims_are_kept_apart() -> None:
    found = findings()
    found.refuse("R1", TASK, "another name")
    found.at_least("R2", TASK, "the size", b, b + 3)
    assert [(rule, d.message) for rule, d in found.unstated] == [("R1", "another name [pass.R1]")]


def test_claims_are_recorded_where_somebody_listens() -> None:
    """A claim on two expressions that are one object is recorded, too."""
    quiet, records_claims = findings(), Findings("pass", findings().facts, [])
    assert not quiet.records_claims and records_claims.records_claims
    for found in (quiet, records_claims):
        found.equal("R1", TASK, "the size", a, a)
    assert quiet.claims is None and records_claims.claims is not None
    assert [(c.rule, c.statement.text, c.verdict.proved) for c in records_claims.claims] == [("R1", "a = a", True)]
