"""Equality is decided by the cases of a remainder: proved where it holds for every number, and not where it fails for some."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpir.ir.expressions.expression import Expr, ceildiv, constant, floordiv, symbol, total
from bpir.ir.relations.facts import Facts
from bpir.ir.relations.remainders import equal_by_remainders

L, K = symbol("L"), symbol("K")


def shares(parts: int) -> Expr:
    """The sizes of the parts among which a number is dealt out, one by one."""
    return total(ceildiv(L - place, constant(parts)) for place in range(parts))


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("parts", [2, 3, 8, 16, 60])
def test_shares_are_all_there_is(parts: int) -> None:
    """Hermite's identity; a share of one part more or less is another number."""
    assert equal_by_remainders(shares(parts), L)
    assert Facts().equal(shares(parts), L).proved
    assert not equal_by_remainders(shares(parts) - ceildiv(L, constant(parts)) + ceildiv(L + 1, constant(parts)), L)
    verdict = Facts().equal(shares(parts) - ceildiv(L, constant(parts)) + ceildiv(L + 1, constant(parts)), L)
    assert verdict.refuted and verdict.witness is not None


def test_quotients_by_several_numbers() -> None:
    """ceil(L/2) + floor(L/2) + ceil(L/3) + ceil((L-1)/3) + ceil((L-2)/3) = 2L: remainders of 6."""
    found = ceildiv(L, constant(2)) + floordiv(L, constant(2)) + shares(3)
    assert equal_by_remainders(found, 2 * L)
    assert not equal_by_remainders(found, 2 * L + 1)


def test_what_is_proved_of_one_symbol_holds_beside_others() -> None:
    assert equal_by_remainders(K * shares(4), K * L)
    assert not equal_by_remainders(ceildiv(L, K) + floordiv(L, constant(2)), L)  # K is no number


def test_a_number_below_the_divisor_is_a_case_of_its_own() -> None:
    """1, 2 and 3 are no 4k + r with a positive k: there max(L, 4) is 4 and not L."""
    from bpir.ir.expressions.expression import maximum

    assert not equal_by_remainders(maximum(L, 4) + ceildiv(L, constant(4)), L + ceildiv(L, constant(4)))


@given(st.integers(1, 12), st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.integers(-4, 4))
def test_a_proof_is_never_wrong(divisor: int, offsets: list[int], rest: int) -> None:
    found = total(ceildiv(L + offset, constant(divisor)) for offset in offsets)
    claimed = constant(rest) + len(offsets) * ceildiv(L, constant(divisor))
    holds = all(found.evaluate({"L": n}) == claimed.evaluate({"L": n}) for n in range(1, 40))
    if equal_by_remainders(found, claimed):
        assert holds
