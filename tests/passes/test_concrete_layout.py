"""The offsets of buffers: the equation, its proofs for symbolic sizes, and whether they fit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from concrete_support import gpt3_plan, gpt3_training_plan, labels, plan
from hypothesis import given, settings
from hypothesis import strategies as st
from raw import expr_of, number_of
from support import read, run
from tiers import examples

from bpir.dialects.bp import symbol_table
from bpir.dialects.concrete.contract import aligned, offsets
from bpir.ir.diagnostic import Diagnostic, DiagnosticError
from bpir.ir.expressions.expression import Expr, constant, symbol
from bpir.ir.expressions.intervals import interval
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.ir.relations.facts import Facts
from bpir.parser import parse_expression

ALIGNMENTS = st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 4096])


def plain_offsets(sizes: list[int], alignments: list[int]) -> list[int]:
    """The same layout in plain integers, by counting up."""
    found, end = [], 0
    for size, alignment in zip(sizes, alignments, strict=True):
        while end % alignment:
            end += 1
        found.append(end)
        end += size
    return found


@given(st.lists(st.tuples(st.integers(0, 9000), ALIGNMENTS, ALIGNMENTS), min_size=1, max_size=12))
@settings(deadline=None)
def test_numeric_layouts_are_those_of_plain_integers(rows: list[tuple[int, int, int]]) -> None:
    sizes = [size for size, _, _ in rows]
    alignments = [aligned(buffer, target) for _, buffer, target in rows]
    assert alignments == [max(16, buffer, target) for _, buffer, target in rows]
    found = [o.integer for o in offsets([constant(s) for s in sizes], alignments)]
    assert found == plain_offsets(sizes, alignments)
    ends = [o + s for o, s in zip(found, sizes, strict=True) if o is not None]
    assert all(o is not None and o % a == 0 for o, a in zip(found, alignments, strict=True))
    assert all(after is not None and end <= after for end, after in zip(ends, found[1:], strict=False))


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3), st.integers(0, 2), ALIGNMENTS), min_size=1, max_size=8),
    st.integers(1, 70),
    st.integers(1, 70),
)
@settings(max_examples=examples(60), deadline=None)
def test_numbers_may_be_put_in_before_or_after(rows: list[tuple[int, int, int, int]], n: int, m: int) -> None:
    values = {"n": constant(n), "m": constant(m)}
    sizes = [symbol("n") ** i * symbol("m") ** j * factor for factor, i, j, _ in rows]
    alignments = [aligned(a, 1) for _, _, _, a in rows]
    after = [o.substitute(values).integer for o in offsets(sizes, alignments)]
    before = [o.integer for o in offsets([s.substitute(values) for s in sizes], alignments)]
    assert after == before == plain_offsets([s.evaluate({"n": n, "m": m}).numerator for s in sizes], alignments)


def layout(module: Operation) -> tuple[list[Expr], list[Expr], list[int], Facts]:
    buffers = [o for o in module.body if o.name == "concrete.buffer"]
    assert buffers
    places = [expr_of(b, "offset") for b in buffers]
    return places, [expr_of(b, "size") for b in buffers], [number_of(b, "alignment") for b in buffers], symbol_table(module).facts


@pytest.mark.parametrize("source", [gpt3_plan, gpt3_training_plan], ids=["inference", "training"])
@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_symbolic_layouts_are_proved(source: object, kind: str) -> None:
    assert callable(source)
    places, sizes, alignments, facts = layout(run(source(), f"bind-{kind}"))
    for offset, alignment in zip(places, alignments, strict=True):
        assert facts.divides(constant(alignment), offset).proved
    for (before, size), after in zip(zip(places, sizes, strict=True), places[1:], strict=False):
        assert facts.at_least(after, before + size).proved


def test_no_two_buffers_overlap_whatever_their_distance() -> None:
    places, sizes, _, facts = layout(run(gpt3_plan(), "bind-queue"))
    for i in range(len(places)):
        for j in range(i + 1, len(places)):
            assert facts.at_least(places[j], places[i] + sizes[i]).proved


def test_alignment_is_the_largest_of_three() -> None:
    _, _, alignments, _ = layout(run(plan(), "bind-queue"))
    assert alignments == [256, 64, 1024, 64]
    _, _, alignments, _ = layout(run(plan(), "bind-slot"))
    assert alignments == [512, 512, 1024, 512]
    tight = read(print_module(plan()).replace("alignment = 64", "alignment = 2"))
    _, _, alignments, _ = layout(run(tight, "bind-queue"))
    assert alignments == [256, 16, 1024, 32]


# --- capacity


def refused(module: Operation, *passes: str) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        run(module, *passes)
    errors = [d for d in caught.value.diagnostics if d.severity == "error"]
    assert len(errors) == 1
    return errors[0]


def test_what_fits_is_bound() -> None:
    run(gpt3_plan(), "bind-symbols{B=1 S=1 c=2048 t=8}", "bind-queue{memory=80*2**30}")
    run(gpt3_plan(), "bind-symbols{B=1 S=1 c=2048 t=8}", "bind-slot{memory=465884160}")


def test_what_does_not_fit_says_by_how_much_and_what_takes_the_most() -> None:
    found = refused(gpt3_plan(), "bind-symbols{B=1 S=1 c=2048 t=8}", "bind-queue{memory=465884159}")
    assert labels([found]) == {"concrete.R5"}
    assert "they need 465884160 bytes, there are 465884159, 1 too few" in found.message
    assert "@mlp.contract.weights takes 151019520 bytes" in found.notes[0].message


def test_what_can_not_be_told_names_the_symbols() -> None:
    found = refused(gpt3_plan(), "bind-queue{memory=80*2**30}")
    assert labels([found]) == {"concrete.R5"}
    assert found.message.startswith("that the buffers in @node.memory fit can't be decided")
    assert "it depends on B, c, t" in found.message
    assert found.span is not None
    assert "@workspace" in found.notes[1].message
    assert "@attention.layer_norm.weights" not in found.notes[1].message  # its size is a number


def test_what_never_fits_is_refused_with_open_symbols() -> None:
    found = refused(gpt3_plan(), "bind-queue{memory=16}")
    assert "do not fit" in found.message


def bounded(*relations: str) -> Operation:
    return read(print_module(plan()).replace("where m > 1", ", ".join(("where m > 1", *relations))))


def test_relations_can_decide() -> None:
    assert "it depends on m, n" in refused(plan(), "bind-queue{memory=2**20}").message
    assert "it depends on m [" in refused(bounded("1000 > n"), "bind-queue{memory=2**20}").message
    assert "it depends on m [" in refused(bounded("1000 > n", "m > n"), "bind-queue{memory=2**20}").message
    run(bounded("1000 > n", "50 > m"), "bind-queue{memory=2**20}")
    # at n = 999, m = 49: x to 3996, a to 4032 + 195804 = 199836, b to 200704 + 1998 = 202702, y from 202752 to 203144
    run(bounded("1000 > n", "50 > m"), "bind-queue{memory=203144}")
    assert "it depends on m, n" in refused(bounded("1000 > n", "50 > m"), "bind-queue{memory=203143}").message


@given(
    st.sampled_from(["n*m", "ceildiv(n*m, 7) - m", "max(3*n, m*m)/n", "floordiv(n, m) + 2*m", "(n + 1)/(n + m)", "min(n, m) - n"]),
    st.tuples(st.integers(1, 12), st.integers(0, 12)),
    st.tuples(st.integers(1, 12), st.integers(0, 12)),
)
@settings(deadline=None)
def test_intervals_hold_every_value(text: str, n: tuple[int, int], m: tuple[int, int]) -> None:
    expr = parse_expression(text)
    limits = {"n": (Fraction(n[0]), Fraction(sum(n))), "m": (Fraction(m[0]), Fraction(sum(m)))}
    low, high = interval(expr, limits)
    for i in range(n[0], sum(n) + 1):
        for j in range(m[0], sum(m) + 1):
            value = expr.evaluate({"n": i, "m": j})
            assert low is None or low <= value
            assert high is None or value <= high


def test_numbers_that_come_later_are_judged_then() -> None:
    module = run(plan(), "bind-queue")
    assert "size" not in next(o for o in module.body if o.name == "concrete.region").properties
    sized = bounded("1000 > n", "50 > m")
    run(sized, "bind-queue{memory=2**20}", "bind-symbols{n=999 m=49}")


@pytest.mark.parametrize("kind", ["queue", "slot"])
@pytest.mark.parametrize("numbers", ["B=1 S=1 c=128 t=8", "B=3 S=1", "c=77 t=4"])
def test_symbols_may_be_bound_before_or_after(kind: str, numbers: str) -> None:
    bind = f"bind-symbols{{{numbers}}}"
    before, after = run(gpt3_plan(), bind, f"bind-{kind}"), run(gpt3_plan(), f"bind-{kind}", bind)
    if "B" in numbers and "t" in numbers:
        assert print_module(before) == print_module(after)
    facts = symbol_table(before).facts
    for a, b in zip(layout(before)[0], layout(after)[0], strict=True):
        assert facts.equal(a, b).proved
