"""`model.rope` and lanes: each result of an operation with several lanes depends on its own operand alone, wherever the others lie."""

from __future__ import annotations

from functools import cache

import pytest
import raw
from support import edited, gate, labels, read, report, run, shown

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.factors import Lane, equation
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expressions.expression import ONE
from bpir.ir.operation import Operation, top_level
from bpir.ir.printer import print_module
from bpir.run.check import check
from bpir.verifiers.distribution.typing_rule import Placed, typing_of
from bpir.verifiers.planning.workspace import alive

TEXT = """
  bp.symbols B, S, c, H, h, g, d, n, t, e where t | h, t | g, g | h, t | H, t | S, d > n
  bind.strategy @s {{tensor = t}}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {{
    %q, %k, %v = model.linear "attention.qkv" %x : [h x d], [{heads} x d], [{heads} x d]
    {rope}%o = model.attention "attention.core" {core}, %v context c
    %a = model.linear "attention.output_projection" %o : [H]
    %y = model.add "attention.residual" %a, %x
    model.return %y
  }}
"""
WORKLOAD = "bind.workload @w inference {phase = decode, context = c}\n"
TURNED = '%qr, %kr = model.rope "attention.rope" %q, %k'
NUMBERS = {"B": 2, "S": 8, "H": 16, "h": 8, "g": 4, "d": 6, "n": 4, "t": 2, "e": 4}


@cache
def block(heads: str = "g", rope: str = TURNED) -> str:
    return TEXT.format(heads=heads, rope=f"{rope}\n    " if rope else "", core="%qr, %kr" if rope else "%q, %k")


def tasks(module: Operation) -> dict[str, Operation]:
    found = [o for holder in top_level(module) if holder.name == "dist.block" for o in holder.body]
    return {raw.name_of(o): o for o in found if raw.work_of(o) is not None}


def ops(module: Operation, name: str) -> str:
    found = raw.work_of(tasks(module)[name])
    assert found is not None
    return found.ops.text


def types(operation: Operation) -> list[str]:
    return [v.type.body_text() for v in (*operation.operands, *operation.results) if isinstance(v.type, TensorType)]


# --- the equation


def test_each_lane_has_factors_of_its_own() -> None:
    factors = equation("b s h* d -> b s h* d | ...", "d").factors((4, 3), (4, 3))
    assert factors.operands == factors.results == (("b|0", "s|0", "h0|0", "d|0"), ("b|1", "s|1", "d|1"))
    assert factors.lanes == (Lane((0,), (0,)), Lane((1,), (1,)))
    assert factors.whole == {"d|0", "d|1"}
    assert factors.contracted(0) == factors.contracted(1) == () == factors.produced(0)


def test_lanes_differ_and_have_weights_and_sums_of_their_own() -> None:
    factors = equation("b s K; K N -> b s N | b s d, b s d -> b s d").factors((3, 3, 3), (3, 3))
    assert factors.lanes == (Lane((0,), (0,)), Lane((1, 2), (1,)))
    assert factors.weights == ((("K|0", "N|0"),), ())
    assert factors.contracted(0) == ("K|0",) and factors.contracted(1) == ()
    assert factors.produced(0) == ("N|0",) and factors.produced(1) == ()


@pytest.mark.parametrize("operands, results", [((3, 3), (3,)), ((3,), (3, 3)), ((3, 3, 3), (3, 3))])
def test_each_lane_has_its_operands_and_its_results(operands: tuple[int, ...], results: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="are not 2 lanes"):
        equation("b s d -> b s d | b s d -> b s d").factors(operands, results)


# --- the typing rule, by hand


@pytest.mark.parametrize("between, tokens", [({}, "S"), ({"S": "tensor"}, "S@tensor")], ids=["whole", "scattered"])
def test_the_one_head_of_k_lies_between_regions_beside_the_heads_of_q(between: dict[str, str], tokens: str) -> None:
    (rope,) = (o for b in top_level(read(block("1"))) for o in b.body if o.name == "model.rope")
    typing = typing_of(rope, Placed({"h": "tensor"}, between))
    found = [(i, v.type) for i, v in enumerate(rope.results) if isinstance(v.type, TensorType)]
    assert [typing.result(i, t, t).body_text() for i, t in found] == ["B x S x h@tensor x d, e", f"B x {tokens} x 1 x d, e"]
    assert [typing.operand(i, t, t).body_text() for i, t in found] == ["B x S x h@tensor x d, e", f"B x {tokens} x 1 x d, e"]
    assert not any(typing.missing(i, t) for i, t in found)


# --- derivations

STRATEGIES = [
    *(f"tensor={t} communication={c}" for t in ("1", "t") for c in ("all_reduce", "reduce_scatter_all_gather")),
    "tensor=2 recompute=full communication=reduce_scatter_all_gather",
    "tensor=2 recompute=attention",
]
ROPES = [TURNED, f"{TURNED} dims n", '%qr = model.rope "rope.q" %q\n%kr = model.rope "rope.k" %k dims 2']


@pytest.mark.campaign(keep=14)
@pytest.mark.parametrize("rope", ROPES, ids=["both", "part", "apart"])
@pytest.mark.parametrize("heads", ["1", "g", "h"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_training_is_derived_judged_planned_and_runs(strategy: str, heads: str, rope: str) -> None:
    source = read(block(heads, rope))
    module = run(source, f"distribute-training{{{strategy}}}")
    (found,) = check(source, module, {k: v for k, v in NUMBERS.items() if k != "t" or "tensor=1" not in strategy})
    assert not found.against, shown(found.against)
    assert max(found.phases.values()) < 1e-9 and found.gradients is not None and found.gradients < 1e-7
    run(module, "plan-training")


@pytest.mark.campaign(keep=12)
@pytest.mark.parametrize("rope", ROPES, ids=["both", "part", "apart"])
@pytest.mark.parametrize("heads", ["1", "g", "h"])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("degree", ["1", "t"])
def test_inference_is_derived_judged_planned_and_runs(degree: str, phase: str, heads: str, rope: str) -> None:
    source = read(WORKLOAD + block(heads, rope))
    module = run(source, f"distribute-inference{{phase={phase} tensor={degree}}}")
    numbers = {**NUMBERS, "c": 8 if phase == "prefill" else 5}
    (found,) = check(source, module, {k: v for k, v in numbers.items() if k != "t" or degree != "1"}, run(module, "plan-inference"))
    assert not found.against, shown(found.against)
    assert max(found.phases.values()) < 1e-9


def test_no_task_of_another_layer_changes_its_name() -> None:
    """Q that is turned is still Q: the parts of one linear are called after what an attention reads them as."""
    for strategy in ("distribute-training{communication=reduce_scatter_all_gather}", "distribute-training{tensor=1}"):
        plain, turned = (set(tasks(run(read(block("g", rope)), strategy))) for rope in ("", TURNED))
        assert turned - plain == {"attention.rope.forward", "attention.rope.activation_gradient"}
        assert plain <= turned and "attention.query.forward" in plain


@pytest.mark.parametrize(
    "heads, strategy, share",
    [
        ("g", "tensor=t", "3*B*S*d*g/t + 3*B*S*d*h/t"),
        ("1", "tensor=t", "3*B*S*d + 3*B*S*d*h/t"),  # each rank turns the one head of K
        ("1", "tensor=t communication=reduce_scatter_all_gather", "3*B*S*d*h/t + 3*B*S*d/t"),  # for its own tokens
        ("1", "tensor=1", "3*B*S*d*h + 3*B*S*d"),
    ],
)
def test_each_element_costs_two_products_and_a_sum_forward_and_backward(heads: str, strategy: str, share: str) -> None:
    module = run(read(block(heads)), f"distribute-training{{{strategy}}}")
    assert {ops(module, f"attention.rope.{phase}") for phase in ("forward", "activation_gradient")} == {share}


def test_what_is_copied_costs_nothing_but_its_bytes() -> None:
    module = run(read(block("g", f"{TURNED} dims n")), "distribute-training{tensor=1}")
    assert ops(module, "attention.rope.forward") == "3*B*S*g*n + 3*B*S*h*n"
    work = raw.work_of(tasks(module)["attention.rope.forward"])
    assert work is not None and work.read is work.write
    assert work.read.text == "B*S*d*e*g + B*S*d*e*h"


def test_the_oracle_of_a_llama_block() -> None:
    """3 operations an element, 2 bytes read and written: B = 5, c = 122, d = 56, 14 heads of Q and 1 of K on a rank."""
    text = WORKLOAD + block("g", TURNED)
    numbers = "bind-symbols{B=5 c=122 H=4080 h=56 g=4 d=56 t=4 e=2}"
    module = run(read(text), "distribute-inference{phase=prefill}", "plan-inference", numbers)
    (row,) = (task for task in report(module).tasks if task.layer == "attention.rope")
    assert row.work.ops.integer == 3 * 5 * 122 * 56 * 15
    assert row.work.read.integer == row.work.write.integer == 2 * 5 * 122 * 56 * 15


def test_the_gradient_of_a_lane_is_reduced_before_it_enters_the_other_way() -> None:
    """dK of one KV head is a partial sum behind the scores; it is reduced there, so the rotation turns back a complete one."""
    module = run(read(block("1")), "distribute-training{tensor=t}")
    gradient = tasks(module)["attention.rope.activation_gradient"]
    assert types(gradient) == ["B x S x h@tensor x d, e", "B x S x 1 x d, e"] * 2
    (summed,) = (o for o in tasks(module).values() if gradient.operands[1] in o.results)
    assert summed.name == "dist.all_reduce"


# --- memory


IN_PLACE = """
  bp.symbols B, S, c, H, h, d, e
  bind.workload @w inference {{phase = prefill, context = c}}
  bind.strategy @s {{tensor = 1}}
  model.block @b(%x: !bp.tensor<B x S x H, e>) {{
    %q, %k, %v = model.linear "a.qkv" %x : [h x d], [h x d], [h x d]
    %qr, %kr = model.rope "a.rope" {turned}
    %o = model.attention "a.core" %qr, %kr, %v context c
    %y = model.linear "a.out" %o : [H]
    model.return %y
  }}
"""


@pytest.mark.parametrize(
    "turned, values",
    [
        ("%q, %k", 3),  # Q, K and V, of one size: each result takes the place of its own operand
        ("%q, %q", 4),  # either lane reads Q, so neither writes over it: Q, V and two results
    ],
)
def test_each_result_is_written_over_its_own_operand(turned: str, values: int) -> None:
    source = read(IN_PLACE.format(turned=turned))
    module = run(source, "distribute-inference")
    body = dist.Task.each(tasks(module).values())
    place = list(tasks(module)).index("a.rope.prefill")
    bound = {"B": 1, "c": 2, "h": 3, "d": 4, "e": 1}
    assert alive(body, {"tensor": ONE}, (), ())[place].evaluate(bound) == 24 * values
    (found,) = check(source, module, {**bound, "S": 2, "H": 5, "e": 4}, run(module, "plan-inference"))
    assert not found.against, shown(found.against)


# --- deliberate errors


BROKEN = {
    "swapped operands": ("attention.rope.forward", " rope %q, %k", " rope %k, %q", "distribute-training.R3"),
    "swapped results": ("attention.query_key.forward", "%qr, %kr", "%kr, %qr", "distribute-training.R3"),
    "a lane that is not turned": ("attention.query_key.forward", "%qr, %kr", "%qr, %k", "distribute-training.R3"),
    "swapped gradients": ("attention.rope.activation_gradient", " rope %dqr, %dkr", " rope %dkr, %dqr", "distribute-training.R8"),
    "a gradient that is not turned back": ("attention.key.activation_gradient", "%dk ", "%dkr ", "distribute-training.R8"),
}


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("broken", BROKEN)
def test_errors_between_lanes_are_refused_by_the_gate_and_by_the_run(broken: str) -> None:
    head, old, new, rule = BROKEN[broken]
    source = read(block("h"))
    text = print_module(run(source, "distribute-training{tensor=t}"))
    wrong = edited(text, head, (old, new))
    assert rule in labels(gate(source, read(wrong)))
    (found,) = check(source, read(wrong), NUMBERS)
    assert found.against


def test_a_result_that_reaches_nothing_has_no_gradient() -> None:
    text = block("g").replace('"attention.core" %qr, %kr', '"attention.core" %q, %kr')
    with pytest.raises(DiagnosticError, match=r"the result of 'attention\.rope' reaches no result of the block"):
        run(read(text), "distribute-training")
