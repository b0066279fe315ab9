"""Expert parallelism: what lies where, what is sent, and that simulated ranks compute what the model does."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from support import ROOT, read, report, run

from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.dist.collective_tasks import Collective
from bpir.dialects.dist.forms import FormWork
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.importer.entry import import_model
from bpir.ir.diagnostic import Source
from bpir.ir.expressions.expression import ZERO, Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.run.check import check
from bpir.tools.reports.report_json import document

MIXTRAL = {"H": 4096, "F": 14336, "E": 8, "k": 2, "h": 32, "g": 8, "d": 128}
LAYER = """
module @mixtral {
  bp.symbols B, S, c, H, F, h, g, d, E, k, t, ep where g | h, t | g, t | F, t | H, ep | E, ep | B, E > k
  bind.strategy @ep {tensor = t, expert = ep}
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %n = model.rms_norm "attention.norm" %x
    %q, %kk, %v = model.linear "attention.qkv" %n : [h x d], [g x d], [g x d]
    %qr, %kr = model.rope "attention.rope" %q, %kk
    %o = model.attention "attention.core" %qr, %kr, %v context c
    %a = model.linear "attention.output" %o : [H]
    %r = model.add "attention.residual" %a, %x
    %m = model.rms_norm "moe.norm" %r
    %route = model.router "moe.router" %m top k of E
    %rows = model.dispatch "moe.dispatch" %m, %route
    %g = model.experts "moe.gate" %rows of E : [F]
    %u = model.experts "moe.up" %rows of E : [F]
    %s = model.silu "moe.silu" %g
    %p = model.mul "moe.multiply" %s, %u
    %w = model.experts "moe.contract" %p of E : [H]
    %y = model.combine "moe.combine" %w, %route
    %z = model.add "moe.residual" %y, %r
    model.return %z
  }
}
"""
"""A layer of Mixtral (Jiang et al. 2024)."""
DEEPSEEK = """
module @deepseek {
  bp.symbols B, S, c, H, f, h, n, r, v, l, E, k, t, ep where t | h, t | f, t | H, ep | E, ep | B, E > k, 2 | r
  bind.strategy @ep {tensor = t, expert = ep}
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %n = model.rms_norm "attention.norm" %x
    %q, %qp = model.linear "attention.query" %n : [h x n], [h x r]
    %ca, %kp = model.linear "attention.latent" %n : [l], [r]
    %cn = model.rms_norm "attention.latent_norm" %ca
    %qr, %kr = model.rope "attention.rope" %qp, %kp
    %o = model.latent_attention "attention.core" %q, %qr, %cn, %kr values v context c
    %a = model.linear "attention.output" %o : [H]
    %r0 = model.add "attention.residual" %a, %x
    %m = model.rms_norm "moe.norm" %r0
    %route = model.router "moe.router" %m bias top k of E scores sigmoid
    %rows = model.dispatch "moe.dispatch" %m, %route
    %u = model.experts "moe.up" %rows of E : [f]
    %s = model.silu "moe.silu" %u
    %w = model.experts "moe.contract" %s of E : [H]
    %y = model.combine "moe.combine" %w, %route
    %gs = model.linear "shared.up" %m : [f]
    %as = model.silu "shared.silu" %gs
    %ys = model.linear "shared.contract" %as : [H]
    %sum = model.add "moe.sum" %y, %ys
    %z = model.add "moe.residual" %sum, %r0
    model.return %z
  }
}
"""
"""A layer of DeepSeek-V3 (2024): a latent, experts, and one that every token goes to."""
PREFILL = "distribute-inference{phase=prefill context=S}"
DECODE = "distribute-inference{phase=decode context=c}"


def distributed(text: str, options: str) -> DistributedTaskIR:
    return DistributedTaskIR(run(read(text), options))


def all_to_alls(ir: DistributedTaskIR) -> list[AllToAll]:
    (block,) = ir.blocks
    return [task for task in block.tasks if isinstance(task, AllToAll)]


def test_a_layer_of_mixtral_sends_its_rows_twice() -> None:
    """4,096 tokens a rank, 2 rows each of 4,096 elements of 2 bytes: 4096*2*4096*2 = 67,108,864 bytes there, and as many back."""
    tasks = all_to_alls(distributed(LAYER, PREFILL))
    assert [(task.given, task.taken) for task in tasks] == [(0, 2), (2, 0)]
    sizes = {**MIXTRAL, "B": 8, "S": 4096, "t": 1, "ep": 8}  # a sequence a rank
    assert [task.work.msg.evaluate(sizes) for task in tasks] == [67_108_864, 67_108_864] == [4096 * 2 * 4096 * 2] * 2
    assert all(task.message == "payload" for task in tasks)


def test_a_rank_reads_the_weights_of_its_distinct_experts() -> None:
    """One expert of 8 on each of 8 ranks; of 256 on 64 ranks at most 4, and of 2 rows at most 2: min(T*k, E/ep)."""
    (block,) = distributed(LAYER, DECODE).blocks
    gate = next(task for task in block.tasks if task.layer == "moe.gate")
    sizes = {**MIXTRAL, "S": 1, "c": 100, "t": 1}
    row, matrix = 2 * 4096, 2 * 4096 * 14336
    for batch, ranks, experts, top in ((8, 8, 8, 2), (64, 64, 256, 2), (64, 64, 256, 8), (8, 2, 8, 1)):
        tokens = batch // ranks
        found = gate.work.read.evaluate({**sizes, "B": batch, "ep": ranks, "E": experts, "k": top})
        assert found == tokens * top * row + min(tokens * top, experts // ranks) * matrix


@pytest.mark.parametrize("text", [LAYER, DEEPSEEK])
def test_all_ranks_together_do_what_the_model_does(text: str) -> None:
    """Matrix products and weights of experts: nothing is done twice, nothing is left out; other weights are on every rank of the axis."""
    (block,), (whole,) = distributed(text, PREFILL).blocks, distributed(text, PREFILL.replace("S}", "S tensor=1 expert=1}")).blocks
    sizes = {**dict.fromkeys(("H", "F", "f"), 16), "h": 8, "g": 4, "d": 2, "n": 2, "r": 2, "v": 4, "l": 6, "S": 5, "E": 8, "k": 3}
    sizes |= {"B": 8, "t": 2, "ep": 4}
    ours = sum((task.matmul.evaluate(sizes) for task in block.tasks), Fraction(0))
    theirs = sum((task.matmul.evaluate(sizes) for task in whole.tasks), Fraction(0))
    unshared = sum(
        (t.matmul.evaluate(sizes) for t in whole.tasks if t.kind_of_work == "router"), Fraction(0)
    )  # a rank of `tensor` has it whole
    unshared += sum((t.matmul.evaluate(sizes) for t in whole.tasks if t.layer == "attention.latent"), Fraction(0))
    assert ours * 8 == theirs + unshared * (2 - 1)
    for task, other in zip(
        [t for t in block.tasks if t.kind_of_work == "experts"], [t for t in whole.tasks if t.kind_of_work == "experts"], strict=True
    ):
        assert task.weights.evaluate(sizes) * 8 == other.weights.evaluate(sizes)


NUMBERS = ({"ep": 2, "E": 4, "B": 2}, {"ep": 4, "E": 8, "B": 8, "k": 3}, {"ep": 3, "E": 6, "B": 3, "k": 2, "t": 1})


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("text", [LAYER, DEEPSEEK])
@pytest.mark.parametrize("options", [PREFILL, DECODE])
@pytest.mark.parametrize(
    "numbers", [{"ep": 2, "E": 4, "B": 2}, {"ep": 4, "E": 8, "B": 8, "k": 3}, {"ep": 3, "E": 6, "B": 3, "k": 2, "t": 1}]
)
def test_ranks_compute_what_the_model_does(text: str, options: str, numbers: dict[str, int]) -> None:
    """Forward, bytes that are read, written and sent, and matrix products; also where k is no multiple of the ranks."""
    model = read(text)
    options = options.replace("}", " tensor=1}") if numbers.get("t") == 1 else options
    (found,) = check(model, run(model, options), {name: n for name, n in numbers.items() if name != "t" or "tensor" not in options})
    assert not found.against, "\n".join(d.render() for d in found.against)
    assert max(found.phases.values()) < 1e-12


CONFIG = {
    "architectures": ["MixtralForCausalLM"],
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "tie_word_embeddings": False,
}


def imported() -> Operation:
    return read(import_model(Source("mixtral.json", json.dumps(CONFIG))).text)


def test_a_whole_mixtral_on_eight_ranks_of_experts() -> None:
    """A rank has one expert of each layer, and everything else: 93,405,585,408 bytes less 7/8 of 32*8*3*4096*14336*2."""
    plan = report(run(imported(), "distribute-inference{phase=decode tensor=1 expert=8 batch=8 context=4096}", "plan-inference"))
    experts = 32 * 8 * 3 * 4096 * 14336 * 2
    assert plan.memory["weights"].integer == 93_405_585_408 - experts * 7 // 8


def test_the_training_of_mixtral_does_three_times_the_products_of_forward() -> None:
    """One sequence of 512 tokens: what PyTorch's counter sees of `transformers`' model (13,191,992,049,664), and twice that backward."""
    step = report(run(imported(), "distribute-training{tensor=1}")).bound({"B": constant(1), "S": constant(512)})
    forward = sum((task.in_all.matmul for task in step.tasks if task.phase == "forward"), start=ZERO)
    assert forward.integer == 13_191_992_049_664
    assert sum((task.in_all.matmul for task in step.tasks), start=ZERO).integer == 39_575_976_148_992 == 3 * 13_191_992_049_664


TRAINING = ("tensor=t", "tensor=1 recompute=full", "tensor=t communication=reduce_scatter_all_gather", "tensor=t recompute=attention")


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("text", [LAYER, DEEPSEEK])
@pytest.mark.parametrize("options", TRAINING)
def test_gradients_are_those_of_the_model(text: str, options: str) -> None:
    """Of routers, rows, experts, latents and rotary keys, on two ranks and on one."""
    model = read(text.replace("{tensor = t, expert = ep}", "{tensor = t}"))
    (found,) = check(model, run(model, f"distribute-training{{{options}}}"), {})
    assert not found.against, "\n".join(d.render() for d in found.against)
    assert found.phases["backward"] < 1e-12 and found.gradients is not None and found.gradients < 1e-12


@pytest.mark.parametrize(("tokens", "expected"), [(1, "2"), (2, "7/2"), (4, "175/32"), (8, "58975/8192")])
def test_the_experts_that_tokens_are_expected_to_go_to(tokens: int, expected: str) -> None:
    """Of 8, 2 a token: 8*(1 - (3/4)**T) = 2, 3.5, 5.46875, 7.19...; on each of four ranks a quarter of it."""
    assert Fraction(expected) == 8 * (1 - Fraction(3, 4) ** tokens)
    sizes = {name: constant(value) for name, value in {**MIXTRAL, "B": tokens, "c": 9}.items()}
    whole = report(run(read(LAYER), DECODE.replace("}", " tensor=1 expert=1}"), "plan-inference")).bound(sizes)
    found = {task["name"]: task["expected_experts"] for task in document(whole)["tasks"] if "expected_experts" in task}
    assert {name: value.text for name, value in found.items()} == dict.fromkeys(
        ("moe.gate.decode", "moe.up.decode", "moe.contract.decode"), expected
    )
    shared = report(run(read(LAYER), DECODE.replace("}", " tensor=1 expert=4}"))).bound({**sizes, "B": constant(4 * tokens)})
    values = {task.expected_experts.text for task in shared.tasks if isinstance(task.expected_experts, Expr)}
    assert values == {str(2 * (1 - Fraction(3, 4) ** (4 * tokens)))}


def test_what_is_expected_of_many_tokens_is_an_expression() -> None:
    """(3/4)**100000 has sixty thousand digits."""
    sizes = {name: constant(value) for name, value in {**MIXTRAL, "B": 100_000, "c": 9}.items()}
    whole = report(run(read(LAYER), DECODE.replace("}", " tensor=1 expert=1}"))).bound(sizes)
    assert {task.expected_experts for task in whole.tasks} == {None, "8 - 8*(3/4)**100000"}


@pytest.mark.parametrize(("form", "products"), [("expanded", 275_548_995_584), ("absorbed", 2_550_136_832)])
def test_the_form_of_latent_attention_is_a_field_of_the_strategy(form: str, products: int) -> None:
    """DeepSeek-V3 at batch 8 and 1,024 tokens; the plan names the other form with the work of that."""
    other, others = {"expanded": ("absorbed", 2_550_136_832), "absorbed": ("expanded", 275_548_995_584)}[form]
    plan = run(read(DEEPSEEK), f"distribute-inference{{phase=decode context=c tensor=1 expert=1 latent={form}}}", "plan-inference")
    sizes = {"B": 8, "c": 1024, "H": 7168, "h": 128, "n": 128, "r": 64, "v": 128, "l": 512, "f": 2048, "E": 256, "k": 8}
    (core,) = (task for task in PortablePlanIR(plan).tasks if task.kind_of_work == "latent_attention")
    assert core.matmul.evaluate(sizes) == products
    assert core.other_form == other
    would = core.operation.properties["other_work"]
    assert isinstance(would, FormWork) and would.matmul.evaluate(sizes) == others
    model = read(DEEPSEEK)
    (found,) = check(model, run(model, f"distribute-inference{{phase=decode context=c tensor=t expert=1 latent={form}}}"), {})
    assert not found.against


def test_a_plan_of_deepseek_v3_has_at_most_400_lines() -> None:
    """On ranks of tensor parallelism, and with its experts on an axis of their own, which adds two collectives."""
    text = (ROOT / "examples" / "deepseek_v3.bpir").read_text()
    shared = text.replace("k, t where", "k, t, ep where ep | E,").replace("{tensor = t}", "{tensor = t, expert = ep}")
    for model in (text, shared):
        plan = run(read(model), "distribute-inference", "plan-inference")
        assert len(print_module(plan).splitlines()) <= 400


ON_EXPERTS = (
    "tensor=t",
    "tensor=1 recompute=full",
    "tensor=t recompute=attention gradients=f32",
    "tensor=1 data=2 zero=2",
    "tensor=t data=2",
)


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("text", [LAYER, DEEPSEEK])
@pytest.mark.parametrize("options", ON_EXPERTS)
def test_gradients_over_an_axis_of_experts_are_those_of_the_model(text: str, options: str) -> None:
    """Rows go to their experts and come back, forward and backward; gradients of other weights are summed over the axis, too."""
    model = read(text)
    step = run(model, f"distribute-training{{{options}}}")
    run(step, "plan-training")
    (found,) = check(model, step, {"ep": 2, "E": 4, "k": 3, "B": 4})
    assert not found.against, "\n".join(d.render() for d in found.against)
    assert found.phases["backward"] < 1e-12 and found.gradients is not None and found.gradients < 1e-12


def test_a_step_of_a_layer_exchanges_four_times_and_reduces_by_whose_weights_they_are() -> None:
    """There and back, forward and backward, T*k*H*e bytes each; experts' gradients over data alone, the router's over data and experts."""
    (block,) = distributed(LAYER, "distribute-training{tensor=1 data=4}").blocks
    exchanges = [task for task in block.tasks if isinstance(task, AllToAll)]
    assert [(task.phase, task.given, task.taken) for task in exchanges] == [
        ("forward", 0, 2),
        ("forward", 2, 0),
        ("activation_gradient", 0, 2),
        ("activation_gradient", 2, 0),
    ]
    sizes = {**MIXTRAL, "B": 8, "S": 4096, "ep": 8}
    assert {task.work.msg.evaluate(sizes) for task in exchanges} == {67_108_864}
    over = {task.source: task.mesh_axes for task in block.tasks if isinstance(task, Collective) and task.phase == "gradient_reduction"}
    assert over["moe.gate"] == over["moe.up"] == over["moe.contract"] == ["data"]
    assert over["moe.router"] == over["attention.output"] == over["moe.norm"] == ["data", "expert"]


@pytest.mark.campaign(keep=1)
@pytest.mark.parametrize(("name", "numbers"), [("mixtral_8x7b", {"L": 1, "B": 2}), ("deepseek_v3", {"B": 2})])
@pytest.mark.parametrize("options", ["distribute-inference{phase=decode}", "distribute-training"])
def test_whole_models_with_experts_in_miniature(name: str, numbers: dict[str, int], options: str) -> None:
    """The examples with other sizes and fewer layers, on two ranks of experts times two of tensor parallelism."""
    text = re.sub(r"^  bp\.bind .*\n", "", (ROOT / "examples" / f"{name}.bpir").read_text(), flags=re.MULTILINE)
    text = re.sub(r"model\.repeat \d+", "model.repeat 1", text).replace("{tensor = t}", "{tensor = t, expert = ep}")
    model = read(text.replace("k, t where", f"k, t, ep where {'t | g, ' if name == 'mixtral_8x7b' else ''}ep | E,"))
    found = check(model, run(model, options), numbers)
    assert not [d.render() for outcome in found for d in outcome.against]
    assert {outcome.ranks for outcome in found} == {4} and max(max(outcome.phases.values()) for outcome in found) < 1e-12
