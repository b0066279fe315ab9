"""Deliberate errors in distributed text: `bp-run` alone refuses each that changes a number, a count or what is kept, and so does the gate.

For the run the structural and boundary verifiers are not asked, for the gate the run is not. Each error is one a derivation could make;
controls show that texts which say the same are taken.
"""

from __future__ import annotations

from functools import cache

import pytest
from run_texts import BASES, against, model_text
from support import dropped, edited, gate, labels, read, replaced, run

from bpir.ir.printer import print_module


@cache
def base(name: str) -> str:
    """The text that an error is made in."""
    model, passed = BASES[name]
    return print_module(run(read(model_text(model)), passed))


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("name", BASES)
def test_what_is_derived_is_taken(name: str) -> None:
    assert not against(name, base(name))


Edit = tuple[str, str, str]
"""A part of the first line of an operation, what is replaced there, by what."""

H_WHOLE, H_PARTIAL = "!bp.tensor<B x S x H, e>", "!bp.tensor<B x S x H, e, unreduced={tensor}>"

EDITS: dict[str, tuple[str, str, list[Edit]]] = {
    # collectives
    "dropped all_reduce in forward": (
        "training",
        "attention.output_dropout.forward",
        [("attention.output_dropout.forward", "%y_sum", "%y")],
    ),
    "dropped all_reduce in backward": (
        "training",
        "mlp.layer_norm.activation_gradient",
        [("mlp.layer_norm.activation_gradient", "%dm_1", "%dm")],
    ),
    "doubled all_reduce": ("training", "mlp.output_collective.forward", [("mlp.output_collective.forward", "%w ", "%y_sum ")]),
    "collective of another value": (
        "training",
        "attention.output_collective.forward",
        [("attention.output_collective.forward", "%y :", "%x :")],
    ),
    "dropped all_gather": ("sequence", "mlp.expand.forward", [("mlp.expand.forward", "%x_gathered", "%x")]),
    "dropped reduce_scatter": ("sequence", "return", [("dist.return", "%dx_gathered_1", "%dx_gathered")]),
    "all_gather of the wrong dimension": (
        "sequence",
        "'mlp.input_collective.forward' can't run: a rank's result is 2 x 2 x 16",
        [("mlp.input_collective.forward", '[{}, {"tensor"}, {}]', '[{}, {}, {"tensor"}]')],
    ),
    "reduce_scatter into the wrong dimension": (
        "sequence",
        "'mlp.output_collective.forward' can't run: a rank's result is 1 x 4 x 8",
        [("mlp.output_collective.forward", '[{}, {"tensor"}, {}]', '[{"tensor"}, {}, {}]')],
    ),
    "reduce_scatter for an all_reduce": (
        "training",
        "mlp.output_collective.forward",
        [("mlp.output_collective.forward", "dist.all_reduce", "dist.reduce_scatter")],
    ),
    "rows that are sent to no expert": (
        "experts",
        "'moe.up.decode' gives",
        [("moe.up.decode", "%rows_moved", "%rows")],
    ),
    "rows that do not come back": (
        "experts",
        "'moe.combine.decode' gives",
        [("moe.combine.decode", "%w_moved", "%w")],
    ),
    "rows that go to other ranks": (
        "experts",
        "'moe.input_collective.decode' can't run: dimension 2 of its result is not shared over expert",
        [("moe.input_collective.decode", "B x 1 x k@expert x H", "B x 1 x k x H@expert")],
    ),
    "an all_to_all over the wrong mesh axis": (
        "experts",
        "'moe.output_collective.decode'",
        [("moe.output_collective.decode", '[{"expert"}]', '[{"tensor"}]')],
    ),
    "an expert on each rank": (
        "experts",
        "'moe.up.decode' states weights",
        [("moe.up.decode", "weights <E*F*H/(ep*t)>", "weights <E*F*H/t>")],
    ),
    "a payload without what stays": (
        "experts",
        "states msg",
        [("moe.output_collective.decode", "msg = 2*B*H*k/ep", "msg = 2*B*H*k/ep - 2*B*H*k/ep**2")],
    ),
    "gradients of rows that stay with their experts": (
        "experts, training",
        "'moe.dispatch.activation_gradient'",
        [("moe.dispatch.activation_gradient", "%drows", "%drows_moved_1")],
    ),
    "gradients of rows that come to no expert": (
        "experts, training",
        "'moe.contract.activation_gradient'",
        [("moe.contract.activation_gradient", "%dw ", "%dw_moved ")],
    ),
    "a router that is updated by its own tokens": (
        "experts, training",
        "a partial sum that is still to be reduced over expert",
        [("moe.scores.optimizer", "%3", "%2")],
    ),
    "an all_reduce over the wrong mesh axis": (
        "replicas",
        "'mlp.output_collective.forward'",
        [("mlp.output_collective.forward", '[{"tensor"}]', '[{"data"}]')],
    ),
    # one head of K and V
    "dK of one head taken for complete": (
        "one head of K",
        "'attention.query_key.activation_gradient' gives",
        [("attention.query_key.activation_gradient", "x 1 x d, e, unreduced={tensor}", "x 1 x d, e")],
    ),
    "dV of one head taken for complete": (
        "one head of K",
        "'attention.probability_value.activation_gradient' gives",
        [("attention.probability_value.activation_gradient", "x 1 x d, e, unreduced={tensor}", "x 1 x d, e")],
    ),
    "dK of one head turned back before it is reduced": (
        "one head of K",
        "attention.rope.activation_gradient",
        [("attention.rope.activation_gradient", "%dkr_1", "%dkr")],
    ),
    "dV of one head not reduced": (
        "one head of K",
        "attention.value.weight_gradient",
        [("attention.value.weight_gradient", "%dv_1", "%dv")],
    ),
    "K of part of the tokens for the scores": (
        "one head of K, sequence",
        "attention.query_key.forward",
        [("attention.query_key.forward", "%kr_gathered", "%kr")],
    ),
    "the gradient of the weights of K, of part of the tokens, taken for complete": (
        "one head of K, sequence",
        "'attention.key.weight_gradient' gives",
        [("attention.key.weight_gradient", "H x 1 x d, e, unreduced={tensor}", "H x 1 x d, e")],
    ),
    "Q that is not turned": ("one head of K", "attention.query_key.forward", [("attention.query_key.forward", "%qr,", "%q,")]),
    "a gradient that is not turned back": (
        "one head of K",
        "attention.query.activation_gradient",
        [("attention.query.activation_gradient", "linear %dq ", "linear %dqr ")],
    ),
    # partial sums
    "a partial sum typed complete": ("training", "mlp.contract.forward", [("mlp.contract.forward", H_PARTIAL, H_WHOLE)]),
    "a complete value typed partial": ("training", "attention.layer_norm.forward", [("attention.layer_norm.forward", H_WHOLE, H_PARTIAL)]),
    "a gradient typed complete": (
        "training",
        "attention.query.activation_gradient",
        [("attention.query.activation_gradient", H_PARTIAL, H_WHOLE)],
    ),
    "a bias on each rank": ("biased", "mlp.contract.forward", [("mlp.contract.forward", H_PARTIAL, H_WHOLE)]),
    "a bias's gradient typed partial": (
        "biased",
        "mlp.contract.weight_gradient",
        [("mlp.contract.weight_gradient", "!bp.tensor<H, e>", "!bp.tensor<H, e, unreduced={tensor}>")],
    ),
    "a function of a partial sum": ("training", "attention.residual.forward", [("attention.residual.forward", "%yd, %x", "%y, %x")]),
    # shards
    "a shard in the wrong dimension": (
        "training",
        "attention.query_key.forward",
        [("attention.query.forward", "h@tensor x d", "h x d@tensor"), ("attention.key.forward", "h@tensor x d", "h x d@tensor")],
    ),
    "a weight's gradient in the wrong dimension": (
        "training",
        "mlp.expand.weight_gradient",
        [("mlp.expand.weight_gradient", "H x F@tensor", "H@tensor x F")],
    ),
    "a shard typed whole": ("training", "mlp.expand.forward", [("mlp.expand.forward", "F@tensor", "F")]),
    # operands
    "Q and K exchanged": ("training", "attention.query_key.forward", [("attention.query_key.forward", "%q, %k", "%k, %q")]),
    "Q and K of a gradient exchanged": (
        "training",
        "attention.query_key.activation_gradient",
        [("attention.query_key.activation_gradient", "%q, %k", "%k, %q")],
    ),
    "dQ and dK exchanged": ("training", "attention.query.activation_gradient", [("attention.query.activation_gradient", "%dq", "%dk")]),
    "dY and X of a gradient exchanged": (
        "training",
        "mlp.gelu.activation_gradient",
        [("mlp.gelu.activation_gradient", "%dg, %u", "%u, %dg")],
    ),
    "the mask of another dropout": (
        "training",
        "mlp.output_dropout.activation_gradient",
        [("mlp.output_dropout.activation_gradient", "%mask_2", "%mask_1")],
    ),
    "a norm's gradient from its result": (
        "training",
        "mlp.layer_norm.activation_gradient",
        [("mlp.layer_norm.activation_gradient", "%r :", "%m :")],
    ),
    "a softmax's gradient from its operand": (
        "training",
        "attention.softmax.activation_gradient",
        [("attention.softmax.activation_gradient", "%probabilities", "%scores")],
    ),
    "a residual of another value": ("training", "attention.residual.forward", [("attention.residual.forward", "%yd, %x", "%yd, %n")]),
    "a weight's gradient from another operand": (
        "training",
        "attention.key.weight_gradient",
        [("attention.key.weight_gradient", "%n :", "%m :")],
    ),
    "K and V of the cache exchanged": (
        "decode",
        "attention.core.decode",
        [("attention.core.decode", "%k_visible, %v_visible", "%v_visible, %k_visible")],
    ),
    "new K and V exchanged": ("decode", "attention.kv_append.decode", [("attention.kv_append.decode", "%k, %v, ", "%v, %k, ")]),
    "caches exchanged": (
        "decode",
        "attention.kv_append.decode",
        [("attention.kv_append.decode", "%k_cache, %v_cache", "%v_cache, %k_cache")],
    ),
    "the cache before it is written": ("decode", "attention.core.decode", [("attention.core.decode", "%k_visible", "%k_cache")]),
    "the new tokens only": ("decode", "attention.core.decode", [("attention.core.decode", "%k_visible, %v_visible", "%k, %v")]),
    # gradients
    "a gradient of part of the tokens typed complete": (
        "norms",
        "'mlp.layer_norm.weight_gradient' gives",
        [
            (
                "mlp.layer_norm.weight_gradient",
                "!bp.tensor<H, e, unreduced={tensor}>, !bp.tensor<H, e, unreduced={tensor}>",
                "!bp.tensor<H, e>, !bp.tensor<H, e>",
            )
        ],
    ),
    "an update before the reduction": (
        "norms",
        "'mlp.layer_norm.optimizer' reads a partial sum",
        [("mlp.layer_norm.optimizer", "%9#0", "%2#0")],
    ),
    "a reduction of another gradient": (
        "norms",
        "'mlp.layer_norm.optimizer' reads",
        [("mlp.layer_norm.gradient_reduction", "%2#0, %2#1", "%7#0, %7#1")],
    ),
    "a gradient missing in a sum": (
        "training",
        "qkv_fork.activation_gradient",
        [("qkv_fork.activation_gradient", "%dn, %dn_1, %dn_2", "%dn, %dn_1")],
    ),
    "a gradient twice in a sum": (
        "training",
        "qkv_fork.activation_gradient",
        [("qkv_fork.activation_gradient", "%dn, %dn_1, %dn_2", "%dn, %dn_1, %dn_1")],
    ),
    "a sum of gradients left out": (
        "training",
        "attention.output_dropout.activation_gradient",
        [("attention.output_dropout.activation_gradient", "%dr_1", "%dr")],
    ),
    "the gradient of the input incomplete": ("training", "gradient of input 0", [("dist.return", "%dx_1", "%dx")]),
    "another result": ("training", "result 0", [("dist.return", "%z", "%r")]),
    "a result too few": ("training", "returns 1 values", [("dist.return", "%z, %dx_1", "%z")]),
    "an update by another gradient": ("training", "attention.key.optimizer", [("attention.key.optimizer", "adam %5", "adam %4")]),
    # lineage
    "the weight of another layer": (
        "training",
        "attention.query_key.forward",
        [("attention.query.forward", 'from "attention.query"', 'from "attention.key"')],
    ),
    "another activation": ("training", "no 'silu'", [("mlp.gelu.forward", " gelu %", " silu %")]),
    # counts
    "matmul": ("training", "states matmul", [("mlp.contract.forward", "matmul <2*", "matmul <4*")]),
    "weights": ("training", "states weights", [("mlp.contract.forward", "weights <F*H/t>", "weights <F*H>")]),
    "read": ("training", "states read", [("attention.residual.forward", "read = 2*B*H*S*e", "read = B*H*S*e")]),
    "write of a mask": ("training", "states write", [("mlp.output_dropout.forward", "write = B*H*S*e + B*H*S", "write = B*H*S*e")]),
    "msg": ("training", "states msg", [("mlp.output_collective.forward", "msg = B*H*S*e", "msg = B*H*S*e/t")]),
    # what is kept
    "a repeated value replaced by that of forward": (
        "attention again",
        "alive until backward",
        [("attention.softmax.activation_gradient", "%probabilities_again", "%probabilities")],
    ),
    "a mask of forward under full recomputation": (
        "all again",
        "alive until backward",
        [("mlp.output_dropout.activation_gradient", "%mask_again_2", "%mask_2")],
    ),
    "a layer keeps less": (
        "training",
        "'mlp.gelu' states activation",
        [('dist.memory "mlp.gelu"', "activation = B*F*S*e/t", "activation = B*F*S/t")],
    ),
    "states of two moments": (
        "training",
        "'mlp.expand' states optimizer",
        [('dist.memory "mlp.expand"', "optimizer = 12*", "optimizer = 8*")],
    ),
    "stored too little": ("training", "alive until backward", [("dist.activations", "stored = ", "stored = 0 * ")]),
}


@pytest.mark.campaign(keep=24)
@pytest.mark.parametrize("error", EDITS)
def test_an_error_is_refused(error: str) -> None:
    name, said, edits = EDITS[error]
    text = base(name)
    for head, old, new in edits:
        text = edited(text, head, (old, new))
    found = against(name, text)
    assert any(said in d.message for d in found), "\n".join(d.render() for d in found) or "taken"
    assert all(d.span is not None for d in found)


@pytest.mark.campaign(keep=18)
@pytest.mark.parametrize("error", EDITS)
def test_the_gate_refuses_an_error_by_a_rule_or_by_the_structure(error: str) -> None:
    name, _, edits = EDITS[error]
    text = base(name)
    for head, old, new in edits:
        text = edited(text, head, (old, new))
    source = read(model_text(BASES[name][0]))
    assert not gate(source, read(base(name)))
    found = gate(source, read(text))
    assert found and all(d.span is not None and d.severity == "error" for d in found)
    assert labels(found)


def test_there_are_errors_of_every_kind() -> None:
    """Those that done-when 4 of the design names, and 25 at least."""
    named = (
        *("dropped all_reduce in forward", "doubled all_reduce", "an all_reduce over the wrong mesh axis", "a bias on each rank"),
        *("dK of one head taken for complete", "a shard in the wrong dimension", "Q and K exchanged", "a gradient missing in a sum"),
        *("a repeated value replaced by that of forward", "all_gather of the wrong dimension", "an update before the reduction"),
    )
    assert set(named) <= set(EDITS) and len(EDITS) > 25


@pytest.mark.parametrize(
    ("name", "heads", "said"),
    [
        (
            "training",
            ['"attention.key.weight_gradient"', '"attention.key.optimizer"'],
            "the gradient of weight 0 of 'attention.key' is missing",
        ),
        ("training", ['"mlp.layer_norm.optimizer"'], "weight 0 of 'mlp.layer_norm' is not updated"),
    ],
)
def test_what_is_missing_is_named(name: str, heads: list[str], said: str) -> None:
    assert [d.message for d in against(name, dropped(base(name), *heads))] == [said]


def test_a_weight_is_updated_once() -> None:
    text = edited(base("training"), '"attention.key.optimizer"', ("attention.key.optimizer", "attention.key_again.optimizer"))
    again = text[
        text.index('    dist.compute "attention.key_again.optimizer"') : text.index('    dist.compute "attention.value.optimizer"')
    ]
    text = text.replace(again, again.replace("key_again", "key") + again)
    assert [d.message for d in against("training", text)] == ["weight 0 of 'attention.key' is updated twice"]


def test_a_wrong_mesh_axis() -> None:
    text = replaced(base("training"), ('<["tensor"=t]>', '<["data"=2, "tensor"=t]>'))
    first, *_ = against("training", text)  # two replicas, each with a batch of its own, and nobody sums their gradients
    assert first.message.startswith("'mlp.contract.weight_gradient' gives")
    text = edited(text, "mlp.output_collective.forward", ('[{"tensor"}]', '[{"data"}]'))
    found, *_ = [d for d in against("training", text) if "gives" in d.message]
    assert "'mlp.output_collective.forward'" in found.message
