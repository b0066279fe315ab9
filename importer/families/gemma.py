"""Gemma: a scaled, tied embedding; from Gemma 2 on norms around each sublayer and windows (Gemma team 2024, 2024, 2025)."""

from __future__ import annotations

from bpir.importer.families.common import activation, head_size, sizes, tied, window
from bpir.importer.families.llama import LLAMA
from bpir.importer.fields import capped
from bpir.importer.layers import every, listed

GEMMA = LLAMA.like(
    "gemma",
    ("GemmaForCausalLM",),
    "Gemma team 2024",
    **sizes(3072, 28, 16, 24576, 256000, kv_heads=16, head=head_size(256)),
    activation=activation("hidden_activation", "gelu_pytorch_tanh", also=("hidden_act",), null="gelu"),
    embedding_scale=True,
    mlp_bias=False,
    tied=tied(True),
)

GEMMA2 = GEMMA.like(
    "gemma2",
    ("Gemma2ForCausalLM",),
    "Gemma team 2024, Gemma 2",
    **sizes(2304, 26, 8, 9216, 256000, kv_heads=4, head=head_size(256)),
    window=window(4096),
    layers=listed(every(2), "each second layer sees all tokens"),
    order="around",
    score_cap=capped("attn_logit_softcapping", True),
    logit_cap=capped("final_logit_softcapping", True),
).with_fields("query_pre_attn_scalar", "cache_implementation")

GEMMA3 = GEMMA2.like(
    "gemma3_text",
    ("Gemma3ForCausalLM",),
    "Gemma team 2025",
    **sizes(2304, 26, 8, 9216, 262208, kv_heads=4, head=head_size(256)),
    layers=listed(every(6, "sliding_window_pattern"), "sliding_window_pattern"),
    query_key_norm="head",
    score_cap=capped("attn_logit_softcapping", False),
    logit_cap=capped("final_logit_softcapping", False),
).with_fields("rope_local_base_freq", "_sliding_window_pattern")

VAULT_GEMMA = GEMMA2.like(
    "vaultgemma",
    ("VaultGemmaForCausalLM",),
    "Sinha et al. 2025",
    **sizes(2304, 26, 8, 9216, 256000, kv_heads=4, head=head_size(256)),
    order="before",
)

MEMBERS = (GEMMA, GEMMA2, GEMMA3, VAULT_GEMMA)
