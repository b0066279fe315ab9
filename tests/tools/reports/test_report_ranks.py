"""`bp-report` on all ranks together: their work less the model's is exactly what it calls replicated and reduced."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest
from random_blocks import SIZES, random_block
from support import ROOT, example_text, read, run

from bpir.dialects.bp import symbol_table
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv, constant, symbol
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.tools.bp_report import main
from bpir.tools.reports.collect import collect
from bpir.tools.reports.report import AllRanks, Work, summed, vector

t = symbol("t")
MULTI_QUERY = """
  bp.symbols B, S, c, H, F, h, d, t, e where t | h, t | F, t | H, t | S
  bind.strategy @s {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %n = model.rms_norm "attention.norm" %x
    %q, %k, %v = model.linear "attention.qkv" %n bias : [h x d], [1 x d], [1 x d]
    %qr, %kr = model.rope "attention.rope" %q, %k
    %o = model.attention "attention.core" %qr, %kr, %v context c dropout
    %a = model.linear "attention.output_projection" %o bias : [H]
    %y = model.dropout "attention.output_dropout" %a
    %u = model.linear "mlp.expand" %n : [F]
    %g = model.gelu "mlp.gelu" %u
    %w = model.linear "mlp.contract" %g : [H]
    %p = model.add "mlp.sum" %y, %w
    %z = model.add "residual" %p, %x
    model.return %z
  }
"""
"""One head of K and V; attention and MLP in parallel, which read one norm; biases, dropout."""

MODELS = {name: example_text(name) for name in ("transformer_block", "mlp")}
MODELS |= {"multi-query": MULTI_QUERY, "random 3": random_block(3, unused=0), "random 11": random_block(11, unused=0)}
TRAINING = [
    f"communication={communication} recompute={recompute}"
    for communication, recompute in product(("all_reduce", "reduce_scatter_all_gather"), ("none", "attention", "full"))
] + ["communication=reduce_scatter_all_gather all_gather_redo=true", "fused_activation=true data=4 optimizer_sharding=true"]
INFERENCE = ["phase=prefill context=c", "phase=decode context=c"]


def of_all(module: Operation, alone: Operation | None = None) -> AllRanks:
    found = collect(module, alone).ranks
    assert found is not None
    return found


def same(found: Work, expected: Work, module: Operation) -> None:
    facts = symbol_table(module).facts
    for name, value in vector(found).items():
        other = vector(expected)[name]
        assert facts.equal(value, other).proved, f"{name}: {value.text}, expected {other.text}"


def replicas_of(options: str) -> int:
    """The number of replicas that share the optimizer."""
    found = re.search(r"data=(\d+)", options)
    return int(found[1]) if found else 1


def alone_on(module: Operation, replicas: int) -> Work:
    """The work of one rank of tensor parallelism, on all replicas."""
    everything = summed(task.in_all for task in collect(module).tasks if task.collective is None)
    return Work(**{name: replicas * value for name, value in vector(everything).items()})


def total_of(module: Operation, count: Expr = ONE) -> Work:
    everything = summed(task.in_all for task in collect(module).tasks)
    return Work(**{name: count * value for name, value in vector(everything).items()})


CASES = [(name, options) for name in MODELS for options in TRAINING] + [
    (name, options) for name in ("transformer_block", "multi-query", "random 3", "random 11") for options in INFERENCE
]


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize("name, options", CASES)
def test_all_ranks_less_the_model_are_replicated_and_reduced(name: str, options: str) -> None:
    """By symbols: what the report calls the model's is what the same derivation gives one rank."""
    text = MODELS[name]
    if "phase" in options and "inference" not in text:
        text = text.replace("model.block", "bind.workload @w inference {phase = decode, context = c}\n  model.block", 1)
    if "strategy" not in text:
        text = text.replace("model.block", "bind.strategy @s {tensor = t}\n  model.block", 1)
    side = "inference" if "phase" in options else "training"
    module, alone = (run(read(text), f"distribute-{side}{{tensor={degree} {options}}}") for degree in ("t", "1"))
    found = of_all(module)
    count = replicas_of(options) * t
    assert found.count is count
    same(found.model, alone_on(alone, replicas_of(options)), module)
    same(found.parts()["total"], total_of(module, count), module)
    assert found.model.msg is found.replicated.msg is ZERO
    collectives = summed(task.in_all for task in collect(module).tasks if task.collective)
    assert found.reduced.msg is count * collectives.msg and found.reduced.ops is count * collectives.ops
    assert all(value.evaluate({**SIZES, "t": 4}) >= 0 for part in found.parts().values() for value in vector(part).values())
    # the plan says the same, by tasks without types
    plan = of_all(run(module, f"plan-{side}"))
    for part, work in found.parts().items():
        same(plan.parts()[part], work, module)


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("options", [TRAINING[0], TRAINING[3], TRAINING[5]])
@pytest.mark.parametrize("name", ["transformer_block", "multi-query"])
def test_eight_ranks_in_numbers(name: str, options: str) -> None:
    """Derived for 8 ranks, the step on one rank beside it; the same as the symbols give."""
    source = read(MODELS[name])
    modules = [run(source, f"distribute-training{{tensor={degree} {options}}}") for degree in ("t", "8", "1")]
    numbers = {n: constant(v) for n, v in {"B": 2, "S": 16, "H": 32, "F": 48, "h": 8, "d": 4, "e": 2, "t": 8, "c": 16}.items()}
    by_symbols = of_all(modules[0]).bound(numbers)
    assert collect(modules[1]).ranks is None  # nothing says what one rank would do
    in_numbers = of_all(modules[1], modules[2]).bound(numbers)
    for part, work in by_symbols.parts().items():
        assert vector(in_numbers.parts()[part]) == vector(work), part
    eight, one = (summed(t.in_all for t in collect(module).bound(numbers).tasks) for module in modules[1:])
    for name_, value in vector(by_symbols.replicated).items():
        excess = 8 * vector(eight)[name_] - vector(one)[name_]
        assert excess.integer == (value + vector(by_symbols.reduced)[name_]).integer


def test_what_a_gpt_block_replicates_by_hand() -> None:
    """With all-reduce each rank does norms, dropout outside and residual adds of the whole stream: 9 + 1 + 1 an element, twice."""
    B, S, H = symbol("B"), symbol("S"), symbol("H")
    module = run(read(example_text("transformer_block")), "distribute-training{tensor=t}")
    forward = [task for task in collect(module).tasks if task.phase == "forward"]
    stream = [task for task in forward if task.collective is None and t.text not in task.work.ops.symbols]
    assert sum((task.work.ops for task in stream), ONE - ONE) is 22 * B * S * H
    found = of_all(module)
    # forward 22, activation gradients 32 and the forks' 2, weight gradients 14: of each element of the stream; Adam on the norms' 4*H
    assert found.replicated.ops is (t - 1) * (70 * B * S * H + 44 * H)
    assert found.reduced.ops is t * (4 * B * S * H * (t - 1) / t)
    assert found.reduced.msg is 4 * t * B * S * H * symbol("e")
    options = "tensor=t communication=reduce_scatter_all_gather"
    scattered = of_all(run(read(example_text("transformer_block")), f"distribute-training{{{options}}}"))
    # Adam on the norms, though their elements are shared; and the gradients of Q, K and V, whose parts each rank adds before the scatter
    assert scattered.replicated.ops is (t - 1) * (2 * B * S * H + 44 * H)


def test_one_head_of_k_is_made_by_every_rank() -> None:
    """K and V of multi-query attention: each rank multiplies the whole stream with their weights, 2*B*S*H*d twice, and turns K."""
    text = MULTI_QUERY.replace(" bias", "").replace(" dropout", "")
    found = of_all(run(read(text), "distribute-training{tensor=t}"))
    B, S, H, d = symbol("B"), symbol("S"), symbol("H"), symbol("d")
    linear = 3 * (2 * 2 * B * S * H * d)  # forward, dX and dW of K and of V
    assert found.replicated.matmul is (t - 1) * linear


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("options", TRAINING)
def test_gpt_3_on_eight_ranks(options: str) -> None:
    """96 heads, 2,048 tokens: its degree is a number, so the step on one rank is given."""
    source = read(example_text("gpt3_175b_training"))
    options += "" if "redo" in options else " all_gather_redo=false"
    options = options.replace("data=4", "data=8")
    eight, one = (run(source, f"distribute-training{{tensor={degree} {options}}}") for degree in ("8", "1"))
    found = of_all(eight, one)
    count = 8 * replicas_of(options)
    same(found.model, alone_on(one, replicas_of(options)), eight)
    same(found.parts()["total"], total_of(eight, constant(count)), eight)
    assert all(value.integer is None or value.integer >= 0 for value in vector(found.replicated).values())
    assert vector(found.reduced)["msg"] is count * total_of(eight).msg


@pytest.mark.parametrize("zero", ["0", "1", "2"])
def test_replicas_do_the_work_of_their_batches_and_one_update(zero: str) -> None:
    """In symbols: all matrix products of D batches; Adam's 11 operations of each weight once where it is shared, else D times."""
    text = example_text("mlp").replace("bp.symbols ", "bp.symbols D, ")
    module = run(read(text), f"distribute-training{{tensor=t data=D zero={zero}}}")
    found = of_all(module)
    B, S, H, F, D = map(symbol, "BSHFD")
    assert found.count is D * t
    assert found.model.matmul is D * 3 * 4 * B * S * H * F and found.replicated.matmul is ZERO
    adam = 11 * 2 * H * F
    plain = of_all(run(read(text), "distribute-training{tensor=t}"))
    facts = symbol_table(module).facts
    assert facts.equal(found.model.ops, D * (plain.model.ops - adam) + adam).proved
    again = ZERO if zero != "0" else (D - 1) * adam
    assert facts.equal(found.replicated.ops, D * plain.replicated.ops + again).proved
    summed_over_replicas = t * D * 2 * (ceildiv(H * F / t, D) if zero == "0" else H * F / (t * D)) * (D - 1)
    assert facts.equal(found.reduced.ops, D * plain.reduced.ops + summed_over_replicas).proved


def test_replicas_of_inference_share_nothing() -> None:
    text = example_text("transformer_block").replace("bp.symbols ", "bp.symbols D, ")
    one, all_ = (of_all(run(read(text), f"distribute-inference{{phase=decode context=c{data}}}")) for data in ("", " data=D"))
    D = symbol("D")
    assert all_.count is D * t
    for part, work in one.parts().items():
        assert all(value is D * vector(work)[name] for name, value in vector(all_.parts()[part]).items()), part


@pytest.mark.parametrize("level", ["distribute-training{tensor=1}", "expand-blocks"])
def test_one_rank_and_a_model_have_nothing_to_state(level: str) -> None:
    assert collect(run(read(example_text("transformer_block")), level)).ranks is None


def test_a_degree_of_which_sizes_are_made_says_nothing() -> None:
    """If `F = 4*t`, one rank would have another model."""
    text = example_text("mlp").replace("where", "where F = 4*t,")
    assert collect(run(read(text), "distribute-training{tensor=t}")).ranks is None


def test_the_report_states_it_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(ROOT / "examples" / "transformer_block.bpir")
    files = {degree: tmp_path / f"{degree}.bpir" for degree in ("t", "8", "1")}
    for degree, path in files.items():
        path.write_text(print_module(run(read(example_text("transformer_block")), f"distribute-training{{tensor={degree}}}")) + "\n")
    numbers = ["--bind", "B=1", "S=16", "H=32", "F=64", "h=8", "d=4", "e=2"]
    assert main([str(files["t"]), "--by=total", *numbers, "t=8"]) == 0
    table = capsys.readouterr().out.partition("together")[2]
    assert [line.split()[0] for line in table.splitlines()[2:]] == ["of", "replicated", "reduced", "all"]
    assert f"{7 * (70 * 16 * 32 + 44 * 32):,}" in table
    assert main([str(files["t"]), "--format=json", *numbers, "t=8"]) == 0
    ranks = json.loads(capsys.readouterr().out)["ranks"]
    assert ranks["count"] == 8
    for key in ("ops", "read", "write", "msg", "matmul_ops"):
        assert ranks["total"][key] == sum(ranks[part][key] for part in ("model", "replicated", "reduced"))
    assert main([str(files["8"]), f"--one-rank={files['1']}", "--format=json", *numbers]) == 0
    assert json.loads(capsys.readouterr().out)["ranks"] == ranks
    assert main([str(files["8"]), "--format=json", *numbers]) == 0
    assert "ranks" not in json.loads(capsys.readouterr().out)
    assert main([source, "--by=total"]) == 0 and "together" not in capsys.readouterr().out
