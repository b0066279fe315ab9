"""The seed's formulas of inference, against the passes' own output on `examples/transformer_block.bpir`.

Every formula is here as sympy's, written by hand; what the passes derive is converted to sympy and compared there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import pytest
import sympy
from raw import expr_of, symbol_of, text_of, work_of
from support import example_text, read, replaced, run

from bpir.dialects.bp import symbol_table
from bpir.ir.expressions.expression import Expr, total
from bpir.ir.expressions.sympy_bridge import NODES, from_sympy, to_sympy
from bpir.ir.operation import Operation, top_level
from bpir.ir.printer import print_module
from bpir.ir.relations.verdict import Answer

b, c, H, F, h, d, e = (sympy.Symbol(name, integer=True, positive=True) for name in ("B", "c", "H", "F", "h", "d", "e"))
T = sympy.Symbol("t", integer=True, positive=True)

QUERY_TOKENS = {"prefill": c, "decode": sympy.Integer(1)}
DEGREES = {"t": T, "1": sympy.Integer(1), "8": sympy.Integer(8)}

every_case = pytest.mark.parametrize(("phase", "degree"), [(phase, degree) for phase in QUERY_TOKENS for degree in DEGREES])


@attrs.frozen
class Case:
    """The modules that the passes derive for one phase and one degree."""

    dist: Operation
    plan: Operation
    q: Any
    t: Any

    def ops(self, *layers: str) -> Expr:
        """The operations of the tasks of some layers."""
        works = {text_of(o, "source").rpartition(".")[0]: work_of(o) for o in top_level(self.plan) if o.name == "plan.task"}
        return total(works[layer].ops for layer in layers)  # type: ignore[union-attr]

    def bytes(self, role: str) -> Expr:
        """The bytes of all buffers of a role."""
        return total(expr_of(o, "size") for o in top_level(self.plan) if text_of(o, "role") == role)


@cache
def derive(phase: str, degree: str, relation: str = "") -> Case:
    """The derivation of the block; `relation` is declared besides those of the example."""
    text = example_text("transformer_block")
    if relation:
        text = replaced(text, ("where t | h", f"where {relation}, t | h"))
    distributed = run(read(text), f"distribute-inference{{phase={phase} tensor={degree}}}")
    return Case(distributed, run(distributed, "plan-inference"), QUERY_TOKENS[phase], DEGREES[degree])


# The formulas: as they hold for any d, and as the seed states them, for H = h*d.

GENERAL = {
    "W_attention": lambda q, t: 4 * b * q * c * h * d / t + 5 * b * (h / t) * q * c,
    "W_QKV": lambda q, t: 6 * b * q * H * h * d / t,
    "W_out": lambda q, t: 2 * b * q * H * h * d / t,
    "W_MLP": lambda q, t: 4 * b * q * H * F / t,
    "C_KV": lambda q, t: 2 * b * c * (h * d / t) * e,
}
SEED = {
    "W_attention": lambda q, t: 4 * b * q * c * H / t + 5 * b * (h / t) * q * c,
    "W_QKV": lambda q, t: 6 * b * q * H**2 / t,
    "W_out": lambda q, t: 2 * b * q * H**2 / t,
    "W_MLP": lambda q, t: 4 * b * q * H * F / t,
    "C_KV": lambda q, t: 2 * b * c * (H / t) * e,
}
DERIVED = {
    "W_attention": lambda case: case.ops("attention.core"),
    "W_QKV": lambda case: case.ops("attention.query", "attention.key", "attention.value"),
    "W_out": lambda case: case.ops("attention.output_projection"),
    "W_MLP": lambda case: case.ops("mlp.expand", "mlp.contract"),
    "C_KV": lambda case: case.bytes("state"),
}
SEED_DIFFERS = ("W_attention", "W_QKV", "W_out", "C_KV")
"""Formulas that the seed states with H for h*d."""


def room(q: Any, t: Any) -> set[Any]:
    """The room that the workspace needs besides one hidden-width temporary: q, k and v; scores; the wide layer."""
    return {e * 3 * b * q * h * d / t, e * b * (h / t) * q * c, e * b * q * F / t}


def candidates(value: Any) -> tuple[Any, set[Any]]:
    """A sum with one positive multiple of one maximum: what is beside it, and the arguments with the factor taken in."""
    value = sympy.expand(value)
    (maximum,) = value.atoms(NODES["max"])
    factor = value.coeff(maximum)
    rest = sympy.expand(value - factor * maximum)
    assert factor.is_positive and not rest.has(NODES["max"])
    return rest, {sympy.expand(factor * argument) for argument in maximum.args}


@every_case
@pytest.mark.parametrize("name", GENERAL)
def test_the_general_form_holds_for_any_head_size(name: str, phase: str, degree: str) -> None:
    case = derive(phase, degree)
    found = to_sympy(DERIVED[name](case))
    assert sympy.expand(found - GENERAL[name](case.q, case.t)) == 0


@every_case
@pytest.mark.parametrize("name", SEED)
def test_the_seed_form_holds_where_hidden_is_heads_times_head_size(name: str, phase: str, degree: str) -> None:
    case = derive(phase, degree, "H = h * d")
    found, expected = DERIVED[name](case), SEED[name](case.q, case.t)
    assert symbol_table(case.plan).declared_facts.equal(found, from_sympy(expected)).answer is Answer.PROVED
    assert sympy.expand((to_sympy(found) - expected).subs(H, h * d)) == 0


@every_case
@pytest.mark.parametrize("name", SEED_DIFFERS)
def test_the_seed_form_is_refuted_with_numbers_where_nothing_relates_hidden_and_heads(name: str, phase: str, degree: str) -> None:
    case = derive(phase, degree)
    found, expected = DERIVED[name](case), SEED[name](case.q, case.t)
    verdict = symbol_table(case.plan).declared_facts.equal(found, from_sympy(expected))
    assert verdict.answer is Answer.REFUTED and verdict.witness is not None
    numbers = {symbol: verdict.witness[symbol.name] for symbol in (b, c, H, F, h, d, e, T) if symbol.name in verdict.witness}
    assert to_sympy(found).subs(numbers) != expected.subs(numbers)


@every_case
def test_the_workspace_is_a_hidden_temporary_and_the_largest_sharded_result(phase: str, degree: str) -> None:
    case = derive(phase, degree, "H = h * d")
    rest, arguments = candidates(to_sympy(case.bytes("workspace")))
    assert rest == b * case.q * H * e
    assert arguments == {sympy.expand(value) for value in room(case.q, case.t)}


@every_case
def test_the_workspace_of_wide_heads_holds_what_is_alive_at_attention(phase: str, degree: str) -> None:
    """With h*d above t*H, Q beside the scores is more than a hidden temporary beside them: the larger of the two is needed."""
    case = derive(phase, degree)
    found = to_sympy(case.bytes("workspace"))
    hidden, q, t = b * case.q * H * e, case.q, case.t
    attention = e * b * q * h * d / t + e * b * (h / t) * q * c
    decided = {"H": (1, 64), "c": (512, 512), "F": (8, 8)}
    for index, larger in enumerate((attention, hidden + e * b * (h / t) * q * c)):
        numbers = {b: 2, h: 16, d: 4, e: 2, T: 8, **{sympy.Symbol(n, integer=True, positive=True): v[index] for n, v in decided.items()}}
        assert larger.subs(numbers) == max(x.subs(numbers) for x in (attention, *(hidden + r for r in room(q, t))))
        assert from_sympy(found).evaluate({s.name: v for s, v in numbers.items()}) == larger.subs(numbers)


@every_case
def test_the_workspace_has_the_seed_form_where_hidden_is_heads_times_head_size(phase: str, degree: str) -> None:
    case = derive(phase, degree, "H = h * d")
    q, t = case.q, case.t
    expected = b * q * H * e + e * NODES["max"](3 * b * q * H / t, b * (h / t) * q * c, b * q * F / t)
    found = case.bytes("workspace")
    assert symbol_table(case.plan).declared_facts.equal(found, from_sympy(expected)).answer is Answer.PROVED
    assert candidates(to_sympy(found).subs(H, h * d)) == candidates(expected.subs(H, h * d))


@pytest.mark.parametrize("phase", QUERY_TOKENS)
def test_one_rank_has_no_collective_no_shard_and_no_partial_sum(phase: str) -> None:
    case = derive(phase, "1")
    works = [work_of(o) for o in top_level(case.plan) if o.name == "plan.task"]
    assert not [o for o in top_level(case.plan) if text_of(o, "kind") == "collective"]
    assert all(work is not None and to_sympy(work.msg) == 0 for work in works)
    text = print_module(case.dist)
    assert "all_reduce" not in text and "@tensor" not in text and "unreduced" not in text and "bp.assume" not in text


@pytest.mark.parametrize("phase", QUERY_TOKENS)
@pytest.mark.parametrize("degree", ["t", "8"])
def test_each_half_of_the_block_has_one_collective_of_the_hidden_tensor(phase: str, degree: str) -> None:
    case = derive(phase, degree)
    collectives = [o for o in top_level(case.plan) if text_of(o, "kind") == "collective"]
    assert [symbol_of(o) for o in collectives] == [f"attention.output_collective.{phase}", f"mlp.output_collective.{phase}"]
    hidden = b * case.q * H
    for work in map(work_of, collectives):
        assert work is not None
        assert sympy.expand(to_sympy(work.msg) - hidden * e) == 0
        assert sympy.expand(to_sympy(work.ops) - hidden * (case.t - 1) / case.t) == 0


@every_case
def test_a_rank_reads_each_operand_and_its_share_of_the_weights_once(phase: str, degree: str) -> None:
    case = derive(phase, degree)
    q, t = case.q, case.t
    works = {symbol_of(o): work_of(o) for o in top_level(case.plan) if o.name == "plan.task"}
    expand, contract = works[f"mlp.expand.{phase}"], works[f"mlp.contract.{phase}"]
    core = works[f"attention.core.{phase}"]
    assert expand is not None and contract is not None and core is not None
    assert sympy.expand(to_sympy(expand.read) - (b * q * H + H * F / t) * e) == 0
    assert sympy.expand(to_sympy(expand.write) - b * q * F * e / t) == 0
    assert sympy.expand(to_sympy(contract.read) - (b * q * F / t + H * F / t) * e) == 0
    assert sympy.expand(to_sympy(contract.write) - b * q * H * e) == 0
    assert sympy.expand(to_sympy(core.read) - (b * q * h * d / t + 2 * b * c * h * d / t) * e) == 0
    assert sympy.expand(to_sympy(core.write) - b * q * h * d * e / t) == 0
