"""Qwen: as Llama, with a bias on queries, keys and values, later a norm on queries and keys."""

from __future__ import annotations

from bpir.importer.families.common import head_size, sizes, tied, window
from bpir.importer.families.llama import LLAMA
from bpir.importer.fields import flag
from bpir.importer.layers import from_layer, listed

_WINDOWS = {
    "window": window(4096, "use_sliding_window"),
    "layers": listed(from_layer("max_window_layers", 28), "from layer max_window_layers on a window"),
}

QWEN2 = LLAMA.like(
    "qwen2",
    ("Qwen2ForCausalLM",),
    "Yang et al. 2024",
    **sizes(4096, 32, 32, 22016, 151936, kv_heads=32),
    **_WINDOWS,
    qkv_bias=True,
    output_bias=False,
    mlp_bias=False,
    tied=tied(False),
).with_fields("use_mrope")

QWEN3 = LLAMA.like(
    "qwen3",
    ("Qwen3ForCausalLM",),
    "Yang et al. 2025",
    **sizes(4096, 32, 32, 22016, 151936, kv_heads=32, head=head_size(128)),
    **_WINDOWS,
    query_key_norm="head",
    mlp_bias=False,
).with_fields("use_mrope")

MIMO = QWEN2.like("mimo", ("MiMoForCausalLM",), "Xiaomi 2025", head_size=head_size(), qkv_bias=flag("attention_bias", True)).with_fields(
    "num_nextn_predict_layers", remark="The layers that predict further tokens (num_nextn_predict_layers) are not part of it."
)

QWEN3_VL = QWEN3.like(
    "qwen3_vl_text",
    ("Qwen3VLTextModel",),
    "Bai et al. 2025",
    **sizes(4096, 32, 32, 22016, 151936, kv_heads=32, head=head_size(128)),
)

QWEN2_VL = QWEN2.like(
    "qwen2_vl_text",
    ("Qwen2VLTextModel",),
    "Wang et al. 2024",
    **sizes(8192, 80, 64, 29568, 152064, kv_heads=8),
).with_fields(types=("qwen2_5_vl_text",))

MEMBERS = (QWEN2, QWEN3, MIMO, QWEN3_VL, QWEN2_VL)
