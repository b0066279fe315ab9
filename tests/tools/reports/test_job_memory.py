"""The memory of each stage and the work of a step, by hand: what is in flight, what is there all the time, what running tasks hold."""

from __future__ import annotations

from functools import cache

import pytest
from support import example_text, read, report, run
from support_training import number

from bpir.dialects.bp import symbol_table
from bpir.ir.expressions.expression import Expr, ceildiv, constant, minimum, symbol, total
from bpir.tools.reports.report import Job, Report

MODEL = """
bp.symbols B, S, H, F, V, L, n, t, D where t | F, t | V
bind.strategy @tp {tensor = 1}
model.network @model(%ids: !bp.tensor<B x S, i32>) {
  %x = model.call @embedding %ids
  %y = model.repeat L @layer %x
  %z = model.call @head %y
  model.return %z
}
model.block @embedding(%ids: !bp.tensor<B x S, i32>) {
  %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>
  model.return %x
}
model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
  %u = model.linear "mlp.expand" %x : [F]
  %g = model.gelu "mlp.gelu" %u
  %w = model.linear "mlp.contract" %g : [H]
  model.return %w
}
model.block @head(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.linear "head.logits" %x : [V]
  model.return %y
}
"""
B, S, H, F, V, L, n, t, D = map(symbol, ("B", "S", "H", "F", "V", "L", "n", "t", "D"))
A = 2 * B * S * H  # bytes of the residual stream
U = 2 * B * S * F  # of the feed-forward values
W = 2 * H * F  # elements of the weights of a layer


@cache
def derived(options: str, text: str = MODEL) -> Report:
    return report(run(read(text), f"distribute-training{{{options}}}", "plan-training"))


def job(options: str) -> Job:
    found = derived(options).job
    assert found is not None
    return found


def test_weights_gradients_and_optimizer_are_those_of_the_layers_of_a_stage() -> None:
    """bf16: 2 bytes of weights, 2 of gradients, 12 of Adam with a master copy; the embedding in the first stage, the head in the last."""
    stages = job("pipeline=3 microbatches=n").stages
    layers = [ceildiv(L - place, constant(3)) for place in range(3)]
    elements = [layers[0] * W + H * V, layers[1] * W, layers[2] * W + H * V]
    assert [stage["weights"] for stage in stages] == [2 * count for count in elements]
    assert [stage["weight_gradients"] for stage in stages] == [2 * count for count in elements]
    assert [stage["optimizer"] for stage in stages] == [12 * count for count in elements]


def test_1f1b_holds_min_n_and_p_minus_i_microbatches() -> None:
    """A layer keeps its input, and what is before and behind the GELU; the embedding its numbers; the head its input."""
    stages = job("pipeline=3 microbatches=n").stages
    kept = A + 2 * U
    layers = [ceildiv(L - place, constant(3)) for place in range(3)]
    assert stages[0]["activations"] == minimum(n, 3) * (layers[0] * kept + 4 * B * S)
    assert stages[1]["activations"] == minimum(n, 2) * layers[1] * kept
    assert stages[2]["activations"] == layers[2] * kept + A


@pytest.mark.parametrize(("microbatches", "held"), [(1, [1, 1, 1, 1]), (3, [3, 3, 2, 1]), (9, [4, 3, 2, 1])])
def test_in_flight_of_four_stages(microbatches: int, held: list[int]) -> None:
    stages = job(f"pipeline=4 microbatches={microbatches}").stages
    layers = [ceildiv(L - place, constant(4)) for place in range(4)]
    kept = A + 2 * U
    numbers = B * S * 4 * held[0]
    rest = [numbers, constant(0), constant(0), A]
    assert [stage["activations"] for stage in stages] == [h * c * kept + r for h, c, r in zip(held, layers, rest, strict=True)]


def test_what_running_tasks_hold_at_the_fullest_moment() -> None:
    """Task by task, in a middle stage: gradients are there, and what this layer has kept goes with its last reader."""
    stage = job("pipeline=3 microbatches=n").stages[1]
    numbers = {"B": 1, "S": 4, "H": 8, "F": 32, "V": 64, "L": 6, "n": 5}
    a, u = 2 * 4 * 8, 2 * 4 * 32
    # task by task: contract.dX reads dY (a), writes dG (u); contract.dW reads dY and G; gelu.dX reads dG and U's input, writes dU (u); then
    # G is gone (u less); expand.dX writes dX (a), and the GELU's operand is gone; expand.dW
    alive = [a + u, a + u, u + u - u, u + a - 2 * u, u + a - 2 * u]
    forward = [u - u, u - u, a]  # what is made: kept values are counted already, the layer's result is not
    expected = max(*alive, *forward)
    assert stage["activation_gradients"].evaluate(numbers) == expected
    assert stage["total"].evaluate(numbers) == sum(value.evaluate(numbers) for name, value in stage.items() if name != "total")


def test_a_checkpoint_is_kept_for_each_microbatch_in_flight() -> None:
    stages = job("pipeline=3 microbatches=n recompute=full").stages
    assert stages[1]["activation_checkpoints"] == minimum(n, 2) * ceildiv(L - 1, constant(3)) * A
    assert stages[1]["activations"].text == "0"


def test_one_device_runs_it_all_where_nothing_is_said() -> None:
    found = job("")
    assert found.microbatches.text == "1"
    (stage,) = found.stages
    assert stage["weights"] == 2 * (L * W + 2 * H * V)
    assert stage["activations"] == L * (A + 2 * U) + 4 * B * S + A
    assert found.messages["pipeline_forward"].text == found.messages["data_parallel"].text == "0"


def test_messages() -> None:
    """Bytes: one all-reduce forward and one backward in a layer; the whole stream to the next stage."""
    found = job("tensor=t pipeline=2 microbatches=n").messages
    assert found["tensor_forward"] == found["tensor_backward"] == A
    assert found["pipeline_forward"] == found["pipeline_backward"] == A
    scattered = job("tensor=t pipeline=2 communication=reduce_scatter_all_gather").messages
    assert scattered["pipeline_forward"] == A / t


def test_the_fullest_device() -> None:
    numbers = {name: constant(value) for name, value in {"B": 1, "S": 4, "H": 8, "F": 32, "V": 64, "L": 6, "n": 5}.items()}
    found = job("pipeline=3 microbatches=n").bound(numbers)
    totals = [number(stage["total"]) for stage in found.stages]
    assert found.memory == found.stages[0]
    assert number(found.memory["total"]) == max(totals)


def matmul(found: Report, part: str) -> Expr:
    job = found.job
    assert job is not None
    return job.work[part].matmul


@pytest.mark.parametrize("options", ["tensor=t pipeline=4 microbatches=n", "tensor=t pipeline=2 interleaving=2 microbatches=n data=D"])
def test_matrix_products_of_all_devices_are_the_model_s(options: str) -> None:
    """Of `n` microbatches and `D` replicas: `n*D` times one step on one rank; nothing is computed twice."""
    found = derived(options)
    one = derived("")
    replicas = D if "data" in options else constant(1)
    facts = symbol_table(read(MODEL)).facts
    assert facts.equal(matmul(found, "total"), n * replicas * matmul(one, "total")).proved
    assert facts.equal(matmul(found, "total"), matmul(found, "model")).proved
    assert matmul(found, "extra").text == "0"


def test_126_layers_on_16_stages_are_fourteen_of_8_and_two_of_7() -> None:
    found = run(read(MODEL.replace("bind.strategy", "bp.bind L = 126\nbind.strategy")), "distribute-training{pipeline=16}")
    stages = [o for o in found.walk() if o.name == "dist.stage"]
    from bpir.dialects.dist.stages import Stage

    counts = [dict(Stage(stage).runs)["layer"].evaluate({"L": 126}) for stage in stages]
    assert counts == [8] * 14 + [7] * 2
    assert total(constant(count) for count in counts).integer == 126


def test_a_served_model_holds_a_cache_for_every_microbatch() -> None:
    """Two of K and V, of each layer of the stage, of every microbatch under way."""
    text = example_text("transformer_stack").replace("t, e, L where", "t, e, L, n where")
    found = report(run(read(text), "distribute-inference{tensor=t pipeline=2 microbatches=n}", "plan-inference")).job
    assert found is not None
    cache = 2 * B * symbol("c") * symbol("d") * symbol("e") * symbol("h") / t
    assert [stage["kv_cache"] for stage in found.stages] == [n * ceildiv(L - place, constant(2)) * cache for place in range(2)]
    assert list(found.stages[0]) == ["weights", "kv_cache", "workspace", "total"]


@pytest.mark.campaign
def test_too_many_sizes_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A maximum of more sizes than an expression may hold: a report has no job, and a plan is not said to fit."""
    from bpir.dialects.levels import PortablePlanIR
    from bpir.ir.expressions.error import ExpressionError
    from bpir.verifiers.stages.capacity import verify_stage_capacity
    from bpir.verifiers.stages.memory import StageMemory

    text = MODEL.replace("bind.strategy", "bind.deployment @node {devices = 2, memory = 2**60}\nbind.strategy")
    text = text.replace("where t | F, t | V", "where t | F, t | V, 9 > B, 9 > S, 9 > H, 9 > F, 9 > V, 9 > L, 9 > n")
    plan = run(read(text), "distribute-training{pipeline=2 microbatches=n}", "plan-training")
    assert verify_stage_capacity(PortablePlanIR(plan)) == []

    def refuse(*_: object) -> None:
        raise ExpressionError("too many")

    monkeypatch.setattr(StageMemory, "device", refuse)
    assert report(plan).job is None
    found = verify_stage_capacity(PortablePlanIR(plan))
    assert [d.undecided for d in found] == [True, True]
    assert "too many sizes may be the largest" in found[0].message
