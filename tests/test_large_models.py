"""Latent attention of DeepSeek-V3 and the parameters of GPT-OSS, with the arithmetic."""

from __future__ import annotations

import json

import pytest
from support import read, report, run

from bpir.dialects.levels import PortablePlanIR
from bpir.importer.entry import import_model
from bpir.ir.diagnostic import DiagnosticError, Source

SIZES = {"B": 8, "c": 1024, "H": 7168, "h": 128, "n": 128, "r": 64, "v": 128, "a": 1536, "l": 512}
LAYER = """
module @layer {
  bp.symbols B, S, c, H, h, n, r, v, a, l
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %m = model.rms_norm "attention.norm" %x
    %qa = model.linear "attention.query_down" %m : [a]
    %qn = model.rms_norm "attention.query_norm" %qa
    %q, %qp = model.linear "attention.query_up" %qn : [h x n], [h x r]
    %ca, %kp = model.linear "attention.latent" %m : [l], [r]
    %cn = model.rms_norm "attention.latent_norm" %ca
    %qr, %kr = model.rope "attention.rope" %qp, %kp
    %o = model.latent_attention "attention.core" %q, %qr, %cn, %kr values v FORM context c
    %y = model.linear "attention.output_projection" %o : [H]
    %z = model.add "attention.residual" %y, %x
    model.return %z
  }
}
"""


def planned(form: str) -> PortablePlanIR:
    return PortablePlanIR(run(read(LAYER.replace("FORM", form)), "distribute-inference{phase=decode context=c tensor=1}", "plan-inference"))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        # 2*8*1024*512*128*(128 + 128) for K and V of all visible tokens; 2*8*1024*128*(128 + 64 + 128) for scores and result
        ("", 274_877_906_944 + 671_088_640),
        # 2*8*128*512*(128 + 128) for Q and the result; 2*8*1024*128*(2*512 + 64) for scores and the sum of latents
        ("absorbed", 268_435_456 + 2_281_701_376),
    ],
)
def test_the_core_of_a_layer(form: str, expected: int) -> None:
    assert expected in (275_548_995_584, 2_550_136_832)
    (core,) = (task for task in planned(form).tasks if task.kind_of_work == "latent_attention")
    assert core.matmul.evaluate(SIZES) == expected


def test_a_token_in_the_cache_of_a_layer_has_576_elements() -> None:
    """512 of the latent and 64 of the rotary key: 1,152 bytes, 70,272 in 61 layers."""
    (cache,) = (buffer for buffer in planned("").buffers if buffer.role == "state")
    a_token = cache.size.evaluate({**SIZES, "B": 1, "c": 1})
    assert a_token == 2 * (512 + 64) == 1152 and 61 * a_token == 70_272


GPT_OSS = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 201_088,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "sliding_window": 128,
    "tie_word_embeddings": False,
}


def test_gpt_oss_20b_has_its_parameters() -> None:
    """24 layers of 32 experts, with biases everywhere and a sink a head; the head is not tied."""
    width, heads = 2880, 64 * 64
    attention = width * (heads + 2 * 8 * 64) + heads + 2 * 8 * 64 + heads * width + width + 64
    experts = 32 * (3 * width * width + 3 * width) + width * 32 + 32
    expected = 24 * (attention + experts + 2 * width) + 2 * 201_088 * width + width
    assert expected == 20_914_757_184
    found = report(read(import_model(Source("gpt-oss.json", json.dumps(GPT_OSS))).text)).network
    assert found is not None and found.total.integer == expected


def test_gpt_oss_20b_takes_the_bytes_of_its_checkpoint() -> None:
    """13,761,264,768 bytes: matrices of experts in MXFP4, 4 bits an element and 8 for 32 of them; everything else in bf16."""
    exceptions = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    config = {**GPT_OSS, "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": exceptions}}
    matrices = 24 * 32 * 3 * 2880 * 2880
    expected = matrices * 17 // 32 + 2 * (20_914_757_184 - matrices)
    assert expected == 13_761_264_768
    model = read(import_model(Source("gpt-oss.json", json.dumps(config))).text)
    plan = report(run(model, "distribute-inference{phase=decode tensor=1 batch=1 context=1024}", "plan-inference"))
    assert plan.memory["weights"].integer == expected


@pytest.mark.parametrize(
    ("quantization", "message"),
    [
        ({"quant_method": "awq", "bits": 4}, 'gives weights another type by the method "awq"; known are fp8, mxfp4'),
        ({"bits": 4}, "by a method that it does not name"),
        ({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [64, 64]}, "known is \\[128, 128\\]"),
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "needs 'weight_block_size'"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.0.mlp.experts"]}, "that some matrices are stored otherwise"),
        ({"quant_method": "mxfp4", "desc_act": True}, "unknown field 'quantization_config.desc_act'"),
    ],
)
def test_quantisation_that_is_not_known_is_refused(quantization: dict[str, object], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as refused:
        import_model(Source("gpt-oss.json", json.dumps({**GPT_OSS, "quantization_config": quantization})))
    assert all(diagnostic.span is not None for diagnostic in refused.value.diagnostics)
