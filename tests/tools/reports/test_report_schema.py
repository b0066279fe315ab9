"""The output of `bp-report --format=json` agrees with `docs/report.schema.json`, at every level and in every grouping."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from support import EXAMPLES, ROOT, example, read, run

from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation
from bpir.tools.reports.collect import collect
from bpir.tools.reports.report_json import render_json

SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
TRAINING = sorted(path.stem for path in (ROOT / "examples").glob("*_training.bpir"))

NETWORK = """
bp.symbols B, S, H, F, V, L
model.block @first(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.linear "first.in" %x : [H]
  model.return %y
}
model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
  %n = model.rms_norm "norm" %x
  %u = model.linear "mlp.expand" %n bias : [F]
  %y = model.linear "mlp.contract" %u : [H]
  model.return %y
}
model.network @whole(%x: !bp.tensor<B x S x H, bf16>) {
  %a = model.call @first %x
  %b = model.repeat L @layer %a
  %c = model.repeat 3 [@layer, @first] %b
  model.return %c
}
"""


INFERENCE = """
bind.workload @decode inference {phase = decode, context = S}
bind.strategy @one {tensor = 1}
"""


def errors(document: Any) -> list[str]:
    return sorted(error.message for error in VALIDATOR.iter_errors(document))


def report(module: Operation, by: str = "task") -> Any:
    return json.loads(render_json(collect(module), by))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize("by", ["task", "layer", "phase", "section", "block", "total"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_inference_at_every_level(name: str, by: str) -> None:
    module = example(name)
    assert errors(report(module, by)) == []
    dist = run(module, "distribute-inference")
    assert errors(report(dist, by)) == []
    assert errors(report(run(dist, "plan-inference"), by)) == []


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("by", ["task", "layer", "phase", "total"])
@pytest.mark.parametrize("name", TRAINING)
def test_training_at_every_level(name: str, by: str) -> None:
    dist = run(example(name), "distribute-training")
    assert errors(report(dist, by)) == []
    assert errors(report(run(dist, "plan-training"), by)) == []


@pytest.mark.parametrize("target", ["queue", "slot"])
def test_a_bound_plan(target: str) -> None:
    module = run(example("gpt3_175b"), "distribute-inference", "plan-inference", f"bind-{target}{{target=@{target}_machine}}")
    found = report(module)
    assert errors(found) == []
    assert {buffer["role"] for buffer in found["buffers"]} >= {"constant", "state", "workspace"}
    assert all(task["source"] for task in found["tasks"])


def test_a_plan_says_dependencies_buffers_and_matrix_products() -> None:
    found = report(run(example("mlp"), "distribute-inference", "plan-inference"))
    gelu = found["tasks"][1]
    assert (gelu["name"], gelu["after"], gelu["times"], gelu["source"]) == ("mlp.gelu.decode", ["mlp.expand.decode"], 1, "mlp.gelu.decode")
    assert [task["matmul"] for task in found["tasks"]] == ["2*B*F*H/t", 0, "2*B*F*H/t", 0]
    weights = next(buffer for buffer in found["buffers"] if buffer["name"] == "mlp.expand.weights")
    assert weights == {
        "name": "mlp.expand.weights",
        "role": "constant",
        "storage": "persistent",
        "size": "F*H*e/t",
        "times": 1,
        "live": [0, 0],
    }


def test_parameters_of_a_network_by_block() -> None:
    """first: H*H, four times; layer: H + (H*F + F) + F*H, L + 3 times. With H = 2, F = 5, L = 7: 4*4 + 10*(2 + 15 + 10) = 286."""
    found = report(read(NETWORK))
    assert errors(found) == []
    parameters = found["parameters"]
    assert parameters["blocks"]["first"] == {"count": 4, "elements": "H**2", "layers": {"first.in": "H**2"}}
    assert parameters["blocks"]["layer"]["count"] == "L + 3"
    assert parameters["blocks"]["layer"]["layers"] == {"norm": "H", "mlp.expand": "F*H + F", "mlp.contract": "F*H"}
    bound = collect(read(NETWORK)).bound({"H": constant(2), "F": constant(5), "L": constant(7)})
    assert json.loads(render_json(bound))["parameters"]["total"] == 286


def test_parameters_of_one_block_stay_flat() -> None:
    found = report(example("mlp"))
    assert found["parameters"] == {"mlp.expand": "F*H", "mlp.contract": "F*H", "total": "2*F*H"}


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("totals"),
        lambda d: d["totals"].pop("matmul_ops"),
        lambda d: d["tasks"][0].update(ops=1.5),
        lambda d: d["tasks"][0].update(kind="copy"),
        lambda d: d["tasks"][0].update(seconds=1),
        lambda d: d["memory"].update(seconds=1),
        lambda d: d["buffers"][0].update(live=[1]),
        lambda d: d.update(parameters={"total": 1}),
        lambda d: d.update(level="ir"),
    ],
)
def test_the_schema_refuses_what_is_no_report(change: Any) -> None:
    document = report(run(example("mlp"), "distribute-inference", "plan-inference"))
    assert errors(document) == []
    change(document)
    assert errors(document) != []


@pytest.mark.parametrize("by", ["task", "layer", "phase", "section", "block", "total"])
def test_a_network_at_every_level(by: str) -> None:
    head = INFERENCE + "bind.deployment @node {devices = 1}\n"
    implements = 'matrix_multiply = "qm.matmul", normalization = "qm.norm"'
    target = f"bind.target @queues queue {{abi = 1, alignment = 64}} implements {{{implements}}}\n"
    module = read(head + target + NETWORK)
    for passes in (("distribute-inference",), ("plan-inference",), ("bind-queue",)):
        module = run(module, *passes)
        assert errors(report(module, by)) == []


def test_sections_and_blocks_share_out_the_totals() -> None:
    """@first is run once, then 3 times; @layer L times, then 3 times: linears of 2BSHH, and of 2BSHF twice, with a bias of BSF."""
    module = run(read(INFERENCE + NETWORK), "distribute-inference{phase=prefill}")
    plan = run(module, "plan-inference")
    blocks = {row["name"]: row["matmul_ops"] for row in report(plan, "block")["blocks"]}
    assert blocks == {"first": "8*B*H**2*S", "layer": "4*B*F*H*L*S + 12*B*F*H*S"}
    sections = {row["name"]: (row["times"], row["matmul_ops"]) for row in report(plan, "section")["sections"]}
    assert sections == {
        "first": (1, "2*B*H**2*S"),
        "layer": ("L", "4*B*F*H*L*S"),
        "layer.2": (3, "12*B*F*H*S"),
        "first.2": (3, "6*B*H**2*S"),
    }
    for level in (module, plan):
        assert report(level, "total")["totals"]["matmul_ops"] == "4*B*F*H*L*S + 12*B*F*H*S + 8*B*H**2*S"
        assert report(level, "total")["memory"]["weights"] == "4*F*H*L + 12*F*H + 2*F*L + 8*H**2 + 2*H*L + 6*F + 6*H"
