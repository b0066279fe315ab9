"""Numbers may be bound before, between or after the passes: the module is the same once `bind-symbols` has run last."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import example, read, replaced, run
from tiers import examples

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

pytestmark = pytest.mark.slow

small = st.integers(1, 6)


@st.composite
def sizes(draw: st.DrawFn, related: bool) -> dict[str, int]:
    """Numbers for every symbol of an example; `related` where it declares `H = h*d` and `F = 4*H`. At least two ranks."""
    t, d = draw(st.integers(2, 4)), draw(small)
    h = t * draw(small)
    H = h * d if related else t * draw(small)
    F = 4 * H if related else t * draw(small)
    rest = {name: draw(small) for name in ("B", "S", "c", "e")}
    return {**rest, "H": H, "F": F, "h": h, "d": d, "t": t}


def bind(numbers: Mapping[str, int]) -> str:
    return "bind-symbols{" + " ".join(f"{name}={value}" for name, value in numbers.items()) + "}"


@cache
def unbound(name: str) -> Operation:
    """An example without the numbers that it binds itself."""
    text = print_module(example(name))
    lines = [line for line in text.splitlines(keepends=True) if "bp.bind" in line]
    return read(replaced(text, *((line, "") for line in lines)))


def check(name: str, numbers: Mapping[str, int], places: Mapping[str, str], phase: str) -> None:
    """Bind each symbol where `places` says, and compare with binding all of them at the end."""
    first, second = ({n: v for n, v in numbers.items() if places[n] == place} for place in ("before", "between"))
    distribute = f"distribute-inference{{phase={phase}}}"
    model = unbound(name)
    early = run(model, bind(first), distribute, bind(second), "plan-inference", bind(numbers))
    late = run(model, distribute, "plan-inference", bind(numbers))
    assert print_module(early) == print_module(late)


phases = st.sampled_from(["prefill", "decode"])


def somewhere(*choices: str) -> st.SearchStrategy[dict[str, str]]:
    """A place for each symbol."""
    return st.fixed_dictionaries({name: st.sampled_from(choices) for name in "BScHFhdte"})


@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(sizes(related=False), phases)
def test_all_numbers_before_the_passes(numbers: dict[str, int], phase: str) -> None:
    check("transformer_block", numbers, dict.fromkeys(numbers, "before"), phase)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(sizes(related=False), somewhere("before", "after"), phases)
def test_some_numbers_before_and_the_rest_after(numbers: dict[str, int], places: dict[str, str], phase: str) -> None:
    check("transformer_block", numbers, places, phase)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(sizes(related=False), somewhere("before", "between", "after"), phases)
def test_some_numbers_between_distribution_and_planning(numbers: dict[str, int], places: dict[str, str], phase: str) -> None:
    check("transformer_block", numbers, places, phase)


@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(sizes(related=True), somewhere("before", "between", "after"), phases)
def test_the_macro_with_relations_between_its_sizes(numbers: dict[str, int], places: dict[str, str], phase: str) -> None:
    check("opt_6_7b", numbers, places, phase)


def test_a_wide_layer_as_wide_as_the_hidden_one_keeps_its_room_in_the_workspace() -> None:
    numbers = {"B": 2, "S": 5, "c": 2, "H": 64, "F": 64, "h": 4, "d": 2, "t": 2, "e": 2}
    check("transformer_block", numbers, dict.fromkeys(numbers, "between"), "decode")
