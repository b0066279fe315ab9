"""The seed's formulas of training and the block sums, against the passes' own output on `examples/transformer_block.bpir`.

Every formula is here as sympy's, written by hand; what the passes derive is converted to sympy and compared there. All sizes are
symbols; the degree is a symbol, a number, or one.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from support_training import BACKWARD, B, F, H, S, Step, block, d, e, h, same, t

from bpir.dialects.bp import symbol_table
from bpir.ir.printer import print_module
from bpir.ir.relations.facts import Facts

DEGREES: dict[str, Any] = {"t": t, "1": sympy.Integer(1), "8": sympy.Integer(8)}
COMMUNICATIONS = ("all_reduce", "reduce_scatter_all_gather")
RECOMPUTE = ("none", "attention", "full")
SQUARE = ("where t | h", "where H = h * d, t | h")
"""A change of the example: the relation under which the seed states its forms."""

A = B * S * H
QKV = ("attention.query", "attention.key", "attention.value")
PRODUCTS = ("attention.query_key", "attention.probability_value")
MLP = ("mlp.expand", "mlp.contract")
LINEARS = (*QKV, "attention.output_projection", *MLP)

every_degree = pytest.mark.parametrize("degree", DEGREES)
every_communication = pytest.mark.parametrize("communication", COMMUNICATIONS)
every_recompute = pytest.mark.parametrize("recompute", RECOMPUTE)


def gemm(m: Any, n: Any, k: Any) -> Any:
    """`W_gemm`: a product of `m x n` by `n x k`, 2 operations a multiply-add."""
    return 2 * m * n * k


def rows(communication: str, degree: Any) -> Any:
    """`R`: the elements of the residual stream on one rank."""
    return A / degree if communication == "reduce_scatter_all_gather" else A


# --- the seed's formulas


@every_degree
@every_communication
def test_every_linear_is_a_gemm_in_forward_and_in_both_gradients(communication: str, degree: str) -> None:
    step, p = block(tensor=degree, communication=communication), DEGREES[degree]
    sizes = {
        **dict.fromkeys(QKV, (B * S, H, h * d / p)),
        "attention.output_projection": (B * S, h * d / p, H),
        "mlp.expand": (B * S, H, F / p),
        "mlp.contract": (B * S, F / p, H),
    }
    for layer, (m, n, k) in sizes.items():
        for phase in ("forward", *BACKWARD):
            assert same(step.sum("ops", phase, layer), gemm(m, n, k)), (layer, phase)
            assert same(step.sum("matmul", phase, layer), gemm(m, n, k)), (layer, phase)


@every_degree
@every_communication
def test_attention_products_and_mlp_have_the_general_forms(communication: str, degree: str) -> None:
    step, p = block(tensor=degree, communication=communication), DEGREES[degree]
    assert same(step.sum("ops", "forward", *QKV), 6 * B * S * H * h * d / p)
    assert same(step.sum("ops", "forward", *PRODUCTS), 4 * B * S**2 * h * d / p)
    assert same(step.sum("ops", "activation_gradient", *PRODUCTS), 8 * B * S**2 * h * d / p)
    assert same(step.sum("ops", "forward", *MLP), 4 * B * S * H * F / p)


@every_degree
def test_the_seed_states_the_same_where_hidden_is_heads_times_head_size(degree: str) -> None:
    step, p = block(SQUARE, tensor=degree), DEGREES[degree]
    products, qkv = step.sum("ops", "forward", *PRODUCTS), step.sum("ops", "forward", *QKV)
    for found, seed in ((qkv, 6 * B * S * H**2 / p), (products, 4 * B * S**2 * H / p)):
        assert step.proves(found, seed)
        assert same(found.subs(H, h * d), seed.subs(H, h * d))
        assert not block(tensor=degree).proves(found, seed)


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("degree", ["t", "8"])
@every_communication
@every_recompute
def test_each_border_of_a_region_moves_the_hidden_tensor_and_half_of_them_add(degree: str, communication: str, recompute: str) -> None:
    step, p = block(tensor=degree, communication=communication, recompute=recompute), DEGREES[degree]
    scattered = communication == "reduce_scatter_all_gather"
    found: dict[tuple[str, str], list[str]] = {}
    for task in step.tasks:
        assert (task.collective is not None) == (task.work.msg.text != "0")
        if task.collective and task.phase != "gradient_reduction":
            border = task.layer.partition(".")[2]
            found.setdefault((border, task.phase), []).append(task.collective)
            adds = task.collective != "all_gather"
            assert same(step.sum("msg", task.phase, task.layer), A * e)  # M_TP
            assert same(step.sum("ops", task.phase, task.layer), A * (p - 1) / p if adds else 0)  # W_reduce
    reducing, gathering = ("reduce_scatter", "all_gather") if scattered else ("all_reduce", "")
    expected = {("output_collective", "forward"): 2 * [reducing], ("input_collective", "activation_gradient"): 2 * [reducing]}
    if scattered:
        expected |= {("input_collective", "forward"): 2 * [gathering], ("output_collective", "activation_gradient"): 2 * [gathering]}
    if recompute == "full":
        expected |= {(border, "recommunication"): kinds for (border, phase), kinds in expected.items() if phase == "forward"}
    assert found == expected


@pytest.mark.parametrize(
    ("communication", "recompute", "redo"),
    [(c, r, redo) for c in COMMUNICATIONS for r in RECOMPUTE for redo in (False, True) if not redo or (c != "all_reduce" and r != "full")],
)
def test_the_block_stores_what_its_layers_keep_less_what_is_dropped(communication: str, recompute: str, redo: bool) -> None:
    step = block(communication=communication, recompute=recompute, all_gather_redo=redo)
    working: Any = 0
    stored: Any = 0
    for layer in step.report.layers:
        kept, output = step.layer(layer, "activation_bytes"), step.layer(layer, "output_bytes")
        working += 0 if step.layer(layer, "activation_reused") else kept
        stored += kept
        stored -= 0 if step.layer(layer, "output_stored") else output
        stored -= 0 if step.layer(layer, "activation_stored") else kept
    assert same(step.memory("activation_working"), working)
    assert same(step.memory("activation_stored"), 0 if recompute == "full" else stored)
    assert same(step.memory("activation_checkpoint"), rows(communication, t) * e if recompute == "full" else 0)


# --- block sums


@every_degree
@every_communication
@every_recompute
def test_the_sums_of_a_block(degree: str, communication: str, recompute: str) -> None:
    step, p = block(tensor=degree, communication=communication, recompute=recompute), DEGREES[degree]
    R = rows(communication, p)
    products, scores, wide = B * S * H * h * d / p, B * S**2 * h / p, B * S * F / p
    reductions = 2 * A * (p - 1) / p
    forward = 8 * products + 4 * scores * d + 4 * wide * H + 8 * wide + 6 * scores + 22 * R + reductions
    gradient = 8 * products + 8 * scores * d + 4 * wide * H + 13 * wide + 9 * scores + 32 * R + 2 * A + reductions
    assert same(step.sum("ops", "forward"), forward)
    assert same(step.sum("ops", "activation_gradient"), gradient)
    assert same(step.sum("ops", "weight_gradient"), 8 * products + 4 * wide * H + 14 * R)
    weights = 4 * H * h * d / p + 2 * H * F / p + 4 * H
    assert same(step.memory("weights"), weights * e)
    assert same(step.sum("ops", "optimizer"), 11 * weights)
    again = {"none": 0, "attention": 2 * scores * d + 5 * scores + scores, "full": forward - R}[recompute]
    assert same(step.sum("ops", ("recompute", "recommunication")), again)


@every_communication
@every_recompute
def test_the_matrix_products_of_a_block(communication: str, recompute: str) -> None:
    step = block(communication=communication, recompute=recompute)
    forward = (8 * B * S * H * h * d + 4 * B * S**2 * h * d + 4 * B * S * H * F) / t
    assert same(step.sum("matmul", "forward"), forward)
    assert same(step.sum("matmul", BACKWARD), 2 * forward)
    again = {"none": 0, "attention": 2 * B * S**2 * h * d / t, "full": forward}[recompute]
    assert same(step.sum("matmul", ("recompute", "recommunication")), again)


@every_communication
def test_a_shared_optimizer_has_its_share_of_the_state_and_a_master_copy_or_none(communication: str) -> None:
    weights = 4 * H * h * d / t + 2 * H * F / t + 4 * H
    share = weights / sympy.Symbol("D", integer=True, positive=True)
    for master, read, write, state in ((True, 12 + e, 12 + e, 12), (False, 8 + 2 * e, 8 + e, 8)):
        step = block(communication=communication, data="D", optimizer_sharding=True, master_copy=master)
        assert same(step.sum("ops", "optimizer"), 11 * share)
        assert same(step.sum("read", "optimizer"), read * share)
        assert same(step.sum("write", "optimizer"), write * share)
        assert same(step.memory("optimizer"), state * share)
        assert same(step.memory("weight_gradients"), share * e)
        assert same(step.memory("weight_gradients_unsharded"), 4 * weights)


@every_communication
def test_a_fused_activation_does_its_operations_and_moves_nothing(communication: str) -> None:
    plain, fused = (block(communication=communication, recompute="full", fused_activation=flag) for flag in (False, True))
    for phase, bytes_moved in (("forward", 2), ("recompute", 2), ("activation_gradient", 3)):
        assert same(fused.sum("ops", phase), plain.sum("ops", phase))
        moved = [step.sum("read", phase) + step.sum("write", phase) for step in (plain, fused)]
        assert same(moved[0] - moved[1], bytes_moved * B * S * F * e / t)
    assert same(fused.layer("mlp.gelu", "activation_bytes"), B * S * F * e / t)
    assert same(fused.memory("activation_working"), plain.memory("activation_working"))


# --- one rank, and what a degree assumes


@every_communication
@every_recompute
def test_one_rank_has_no_collective_no_shard_and_no_partial_sum(communication: str, recompute: str) -> None:
    step = block(tensor=1, communication=communication, recompute=recompute)
    assert not [task.name for task in step.tasks if task.collective or "collective" in task.name or task.phase == "recommunication"]
    assert same(step.sum("msg", ("forward", "recompute", "recommunication", *BACKWARD, "optimizer")), 0)
    text = print_module(step.dist)
    for word in ("dist.all_reduce", "dist.all_gather", "dist.reduce_scatter", "collective", "@tensor", "unreduced", "bp.assume"):
        assert word not in text


def assumed(step: Step) -> set[str]:
    return {relation.text for relation in symbol_table(step.dist).assumptions}


def test_what_is_taken_for_granted_is_recorded_once_and_only_where_nothing_declares_it() -> None:
    assert assumed(block()) == {"t > 1"}
    assert assumed(block(communication="reduce_scatter_all_gather")) == {"t > 1", "t | S"}
    assert assumed(block(("where t | h", "where t > 1, t | S, t | h"), communication="reduce_scatter_all_gather")) == set()
    sharded = assumed(block(tensor=1, data="D", optimizer_sharding=True))
    assert sharded == {"D > 1", "D | H"}  # of each weight: of H elements, H*h*d and H*F
    assert assumed(block(tensor=1, data="D", optimizer_sharding=True, convention="calculon")) == {"D > 1"}


@pytest.mark.campaign(keep=4)
@every_communication
@every_recompute
@pytest.mark.parametrize("bias", ["", "bias "])
def test_every_component_of_every_task_is_a_whole_number_for_admissible_sizes(communication: str, recompute: str, bias: str) -> None:
    biased = tuple(
        (f'"{layer}" {operand} : [', f'"{layer}" {operand} {bias}: [') for layer, operand in (("mlp.expand", "%m"), ("mlp.contract", "%g"))
    )
    step = block(*biased, communication=communication, recompute=recompute, data="D", optimizer_sharding=True)
    table = symbol_table(step.plan)
    facts = Facts((*table.relations, *table.assumptions), {})
    for task in step.tasks:
        for component in (task.work.ops, task.work.read, task.work.write, task.work.msg):
            assert facts.integral(component).proved, (task.name, component.text)
            assert facts.nonnegative(component).proved, (task.name, component.text)
