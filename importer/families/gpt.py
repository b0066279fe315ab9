"""GPT and its descendants: layer norms with a bias, an MLP without a gate (Radford et al. 2019)."""

from __future__ import annotations

from typing import Any

from bpir.importer.families.common import ELEMENT, activation, tied
from bpir.importer.family import Family
from bpir.importer.fields import AS_HEADS, FOUR_WIDTHS, PER_HEAD, Property, Rule, Values, dropout, flag, layers, same, size
from bpir.importer.layers import alike, attention_types
from bpir.importer.reading import Reading

_OLD_NAMES: dict[str, Property] = {
    "depth": layers("n_layer", 12, also=("num_hidden_layers",)),
    "width": size("n_embd", 768, also=("hidden_size",)),
    "heads": size("n_head", 12, also=("num_attention_heads",)),
    "kv_heads": AS_HEADS,
    "head_size": PER_HEAD,
    "feed_forward": size("n_inner", FOUR_WIDTHS, FOUR_WIDTHS),
    "vocabulary": size("vocab_size", 50257),
}

GPT2 = Family(
    "gpt2",
    ("GPT2LMHeadModel",),
    "Radford et al. 2019",
    {
        **_OLD_NAMES,
        "layers": alike(),
        "positions": size("n_positions", 1024, also=("max_position_embeddings",)),
        "norm": "layer_norm",
        "gated": False,
        "qkv_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "activation": activation("activation_function", "gelu_new"),
        "embedding_dropout": dropout("embd_pdrop", True),
        "attention_dropout": dropout("attn_pdrop", True),
        "residual_dropout": dropout("resid_pdrop", True),
        "tied": tied(True),
        "element": ELEMENT,
    },
    harmless=(
        "n_ctx",
        "summary_type",
        "summary_use_proj",
        "summary_activation",
        "summary_proj_to_labels",
        "summary_first_dropout",
        "scale_attn_weights",
        "scale_attn_by_inverse_layer_idx",
        "reorder_and_upcast_attn",
    ),
    types=("gpt-sw3",),
)


def multi_query(reading: Reading, values: Values) -> Any:
    shared = reading.field("kv_heads", flag("multi_query", True), values)
    return 1 if shared else values["heads"]


GPT_BIGCODE = GPT2.like(
    "gpt_bigcode",
    ("GPTBigCodeForCausalLM",),
    "Li et al. 2023",
    kv_heads=Rule("multi_query", multi_query),
    activation=activation("activation_function", "gelu_pytorch_tanh"),
).with_fields(
    "attention_softmax_in_fp32",
    "scale_attention_softmax_in_fp32",
    "inference_runner",
    "max_batch_size",
    "max_sequence_length",
    "validate_runner_input",
    "pre_allocate_kv_cache",
    "num_key_value_heads",
)


def _rotary_dim(reading: Reading, values: Values) -> Any:
    return reading.field("rotary", size("rotary_dim", 64, same("head_size", "the whole head")), values)


GPTJ = GPT2.like(
    "gptj",
    ("GPTJForCausalLM",),
    "Wang and Komatsuzaki 2021",
    depth=layers("n_layer", 28, also=("num_hidden_layers",)),
    width=size("n_embd", 4096, also=("hidden_size",)),
    heads=size("n_head", 16, also=("num_attention_heads",)),
    vocabulary=size("vocab_size", 50400),
    positions=0,
    rotary=Rule("rotary_dim", _rotary_dim),
    order="parallel",
    qkv_bias=False,
    output_bias=False,
    head_bias=True,
    embedding_dropout=dropout("embd_pdrop", False),
    attention_dropout=dropout("attn_pdrop", False),
    residual_dropout=dropout("resid_pdrop", False),
    tied=tied(False),
).with_fields("n_positions", "rotary", "tokenizer_class")

CODEGEN = GPTJ.like("codegen", ("CodeGenForCausalLM",), "Nijkamp et al. 2022")

GPT_NEO = GPT2.like(
    "gpt_neo",
    ("GPTNeoForCausalLM",),
    "Black et al. 2021",
    depth=layers("num_layers", 24, also=("num_hidden_layers",)),
    width=size("hidden_size", 2048),
    heads=size("num_heads", 16, also=("num_attention_heads",)),
    feed_forward=size("intermediate_size", FOUR_WIDTHS, FOUR_WIDTHS),
    window=size("window_size", 256),
    layers=attention_types("attention_types"),
    positions=size("max_position_embeddings", 2048),
    qkv_bias=False,
    embedding_dropout=dropout("embed_dropout", False),
    attention_dropout=dropout("attention_dropout", False),
    residual_dropout=dropout("resid_dropout", False),
).with_fields("attention_layers")

OPT = GPT2.like(
    "opt",
    ("OPTForCausalLM",),
    "Zhang et al. 2022",
    depth=layers("num_hidden_layers", 12),
    width=size("hidden_size", 768),
    heads=size("num_attention_heads", 12),
    feed_forward=size("ffn_dim", 3072),
    vocabulary=size("vocab_size", 50272),
    # the table has two rows more than there are positions: OPTLearnedPositionalEmbedding.offset
    positions=Rule(
        "max_position_embeddings + 2", lambda reading, values: 2 + reading.field("positions", size("max_position_embeddings", 2048), values)
    ),
    order=Rule("do_layer_norm_before", lambda reading, values: "before" if _norm_before(reading, values) else "after"),
    final_norm=Rule("do_layer_norm_before", lambda reading, values: _final_norm(reading, values)),
    embedding_width=Rule("word_embed_proj_dim", lambda reading, values: _word_width(reading, values)),
    qkv_bias=flag("enable_bias", True),
    output_bias=flag("enable_bias", True),
    mlp_bias=flag("enable_bias", True),
    activation=activation("activation_function", "relu"),
    embedding_dropout=dropout("dropout", True),
    attention_dropout=dropout("attention_dropout", False),
    residual_dropout=dropout("dropout", True),
).with_fields("layerdrop", "activation_dropout", "prefix", "init_std", fixed={"layer_norm_elementwise_affine": (True,)})


def _norm_before(reading: Reading, values: Values) -> Any:
    return reading.field("order", flag("do_layer_norm_before", True), values)


def _final_norm(reading: Reading, values: Values) -> bool:
    removed = reading.field("final_norm", flag("_remove_final_layer_norm", False), values)
    return bool(_norm_before(reading, values)) and not removed


def _word_width(reading: Reading, values: Values) -> int:
    width = reading.field("embedding_width", size("word_embed_proj_dim", same("width", "the hidden size"), 0), values)
    return 0 if width == values["width"] else int(width)


MEMBERS = (
    GPT2,
    GPT_BIGCODE,
    GPTJ,
    CODEGEN,
    GPT_NEO,
    OPT,
)
