"""Rotary positions with layer norms: GPT-NeoX, in which attention and MLP are side by side, and its relatives."""

from __future__ import annotations

from bpir.importer.families.common import activation, part_of_head, sizes, tied, window
from bpir.importer.families.gpt import GPT2
from bpir.importer.fields import AS_HEADS, PER_HEAD, WHOLE_HEAD, Rule, Values, dropout, flag, size
from bpir.importer.layers import alike
from bpir.importer.reading import Reading

GPT_NEOX = GPT2.like(
    "gpt_neox",
    ("GPTNeoXForCausalLM",),
    "Black et al. 2022",
    **{**sizes(6144, 44, 64, 24576, 50432, head=PER_HEAD), "kv_heads": AS_HEADS},
    positions=0,
    rotary=part_of_head(0.25, "rotary_pct"),
    order=Rule("use_parallel_residual", lambda reading, values: _parallel(reading, values, "use_parallel_residual", "parallel_two")),
    qkv_bias=flag("attention_bias", True),
    output_bias=flag("attention_bias", True),
    activation=activation("hidden_act", "gelu"),
    embedding_dropout=dropout("hidden_dropout", False),
    attention_dropout=dropout("attention_dropout", False),
    residual_dropout=dropout("hidden_dropout", False),
    tied=tied(False),
).with_fields("rotary_emb_base")


def _parallel(reading: Reading, values: Values, field: str, parallel: str, default: bool = True) -> str:
    return parallel if reading.field("order", flag(field, default), values) else "before"


PHI = GPT_NEOX.like(
    "phi",
    ("PhiForCausalLM",),
    "Li et al. 2023, Javaheripi et al. 2023",
    **sizes(2048, 24, 32, 8192, 51200),
    rotary=part_of_head(0.5),
    order="parallel",
    qkv_bias=True,
    output_bias=True,
    head_bias=True,
    query_key_norm=Rule("qk_layernorm", lambda reading, values: _head_norm(reading, values, False)),
    activation=activation("hidden_act", "gelu_new"),
    embedding_dropout=dropout("embd_pdrop", False),
    residual_dropout=dropout("resid_pdrop", False),
).with_fields("layer_norm_epsilon")


def _head_norm(reading: Reading, values: Values, default: bool) -> str:
    return "head" if reading.field("query_key_norm", flag("qk_layernorm", default), values) else "none"


PERSIMMON = GPT_NEOX.like(
    "persimmon",
    ("PersimmonForCausalLM",),
    "Elsen et al. 2023",
    **{**sizes(4096, 36, 64, 16384, 262144, head=PER_HEAD), "kv_heads": AS_HEADS},
    rotary=part_of_head(0.5),
    order="before",
    qkv_bias=True,
    output_bias=True,
    query_key_norm=Rule("qk_layernorm", lambda reading, values: _head_norm(reading, values, True)),
    activation=activation("hidden_act", "relu2"),
    embedding_dropout=False,
)

STARCODER2 = GPT_NEOX.like(
    "starcoder2",
    ("Starcoder2ForCausalLM",),
    "Lozhkov et al. 2024",
    **sizes(3072, 30, 24, 12288, 49152, kv_heads=2),
    window=window(0),
    layers=alike(window=True),
    rotary=WHOLE_HEAD,
    order="before",
    qkv_bias=flag("use_bias", True),
    output_bias=flag("use_bias", True),
    mlp_bias=flag("use_bias", True),
    activation=activation("hidden_act", "gelu_pytorch_tanh"),
    embedding_dropout=dropout("embedding_dropout", False),
    residual_dropout=dropout("residual_dropout", False),
    tied=tied(True),
).with_fields("norm_epsilon", "norm_type", "mlp_type")

NEMOTRON = GPT_NEOX.like(
    "nemotron",
    ("NemotronForCausalLM",),
    "Parmar et al. 2024",
    **sizes(6144, 32, 48, 24576, 256000),
    order="before",
    qkv_bias=flag("attention_bias", False),
    output_bias=flag("attention_bias", False),
    mlp_bias=flag("mlp_bias", False),
    rotary=part_of_head(0.5, "rope_percent", "rope_percentage"),
    activation=activation("hidden_act", "relu2"),
    embedding_dropout=False,
    residual_dropout=False,
).with_fields("norm_eps", "kv_channels")

JAIS2 = NEMOTRON.like(
    "jais2",
    ("Jais2ForCausalLM",),
    "Inception 2025",
    **sizes(3328, 32, 26, 26624, 150272, head=size("head_dim", 128, PER_HEAD)),
    qkv_bias=flag("attention_bias", True),
    output_bias=flag("attention_bias", True),
    mlp_bias=flag("mlp_bias", True),
    rotary=WHOLE_HEAD,
)

MEMBERS = (GPT_NEOX, PHI, PERSIMMON, STARCODER2, NEMOTRON, JAIS2)
