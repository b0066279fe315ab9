"""Latent attention of DeepSeek-V3 and the parameters of GPT-OSS, with the arithmetic."""

from __future__ import annotations

import json

import pytest
from support import ROOT, read, report, run

from bpir.dialects.levels import PortablePlanIR
from bpir.importer.entry import import_model
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.expressions.expression import ZERO

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


def per_token(config: dict[str, object], ranks: int) -> int | None:
    """The bytes of a token in the cache of a rank, in all layers."""
    model = read(import_model(Source("config.json", json.dumps(config))).text)
    found = report(run(model, f"distribute-inference{{phase=decode tensor={ranks} batch=1 context=8}}")).memory_in_full()
    return found["kv_cache_per_token"].integer


LLAMA = {"architectures": ["LlamaForCausalLM"], "num_key_value_heads": 8, "vocab_size": 128_256, "tie_word_embeddings": False}
LLAMA_8B = {**LLAMA, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}
LLAMA_70B = {**LLAMA, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}


@pytest.mark.parametrize(
    ("config", "ranks", "expected"),
    [
        (LLAMA_8B, 1, 2 * 65_536),  # 32 layers, K and V of 8 heads of 128 elements: 65,536 elements
        (LLAMA_70B, 1, 327_680),  # 80 * 2 * 8 * 128 * 2 bytes
        (LLAMA_70B, 4, 81_920),  # two of eight heads a rank
    ],
)
def test_what_a_token_takes_of_the_cache_of_llama(config: dict[str, object], ranks: int, expected: int) -> None:
    """`kv-per-token` of the field: aiconfigurator's tests of model configurations and memory."""
    assert per_token(config, ranks) == expected


@pytest.mark.parametrize("ranks", [1, 4, 8])
def test_what_a_token_takes_of_the_cache_of_deepseek_v3(ranks: int) -> None:
    """61 layers of 512 + 64 elements, 35,136 in all, on every rank: the latent is not shared; in bf16 70,272 bytes."""
    model = read((ROOT / "examples" / "deepseek_v3.bpir").read_text())
    found = report(run(model, f"distribute-inference{{phase=decode tensor={ranks} batch=1 context=8}}")).memory_in_full()
    assert found["kv_cache_per_token"].integer == 2 * 35_136 == 70_272 == 2 * 61 * (512 + 64)


def test_deepseek_v3_has_its_parameters() -> None:
    """671,026,404,352: of 61 layers 3 are dense, 58 have 256 experts and a shared one; an untied head.

    Attention: 7168*1536 + 1536*128*(128+64) down and up for queries, 7168*(512+64) down and 512*128*(128+128) up for K and V, 128*128*7168
    out, norms of 1536 and 512.
    """
    width, heads, vocabulary = 7168, 128, 129_280
    attention = width * 1536 + 1536 + 1536 * heads * 192 + width * 576 + 512 + 512 * heads * 256 + heads * 128 * width
    dense = attention + 3 * width * 18_432 + 2 * width
    moe = attention + width * 256 + 257 * 3 * width * 2048 + 2 * width
    expected = 3 * dense + 58 * moe + 2 * vocabulary * width + width
    found = report(read((ROOT / "examples" / "deepseek_v3.bpir").read_text())).network
    assert found is not None and found.total.integer == expected
    assert expected == 671_026_404_352


@pytest.mark.parametrize(
    ("options", "expected"),
    [("phase=prefill batch=1 context=2048 head=all", 54_417_235_640_320), ("phase=decode batch=8 context=4097", 221_161_455_616)],
)
def test_the_products_of_mixtral(options: str, expected: int) -> None:
    """Of all tokens of a prefill, and of one new token after 4,096 of eight sequences; 2 of 8 experts a token."""
    tokens, pairs = (2048, 2048 * 2048) if "prefill" in options else (8, 8 * 4097)
    rows = 2 * tokens  # of experts
    attention = 2 * tokens * 4096 * (4096 + 2 * 1024 + 4096) + 4 * pairs * 32 * 128
    layer = attention + 2 * tokens * 4096 * 8 + 3 * 2 * rows * 4096 * 14336
    assert 32 * layer + 2 * tokens * 4096 * 32_000 == expected
    model = read((ROOT / "examples" / "mixtral_8x7b.bpir").read_text())
    found = report(run(model, f"distribute-inference{{{options} tensor=1}}"))
    assert sum((task.in_all.matmul for task in found.tasks), start=ZERO).integer == expected
    assert found.memory["weights"].integer == 93_405_585_408
