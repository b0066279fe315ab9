"""Families that may bias scores by distance (ALiBi, Press et al. 2022) in place of positions: BLOOM, MPT, Falcon."""

from __future__ import annotations

from typing import Any

from bpir.importer.families.common import activation
from bpir.importer.families.gpt import GPT2, multi_query
from bpir.importer.fields import AS_HEADS, FOUR_WIDTHS, Derived, Rule, Values, dropout, flag, layers, size
from bpir.importer.reading import Reading

BLOOM = GPT2.like(
    "bloom",
    ("BloomForCausalLM",),
    "Le Scao et al. 2022",
    depth=layers("n_layer", 2, also=("num_hidden_layers",)),
    width=size("hidden_size", 64, also=("n_embed",)),
    heads=size("n_head", 8, also=("num_attention_heads",)),
    feed_forward=FOUR_WIDTHS,
    vocabulary=size("vocab_size", 250880),
    positions=0,
    alibi=True,
    embedding_norm=True,
    activation="gelu",
    embedding_dropout=False,
    attention_dropout=dropout("attention_dropout", False),
    residual_dropout=dropout("hidden_dropout", False),
).with_fields(
    "pretraining_tp",
    "slow_but_exact",
    "offset_alibi",
    "seq_length",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "attention_softmax_in_fp32",
    "masked_softmax_fusion",
    "bias_dropout_fusion",
    "unk_token_id",
    fixed={"apply_residual_connection_post_layernorm": (False,), "n_inner": ()},
)

MPT = GPT2.like(
    "mpt",
    ("MptForCausalLM", "MPTForCausalLM"),
    "MosaicML 2023",
    depth=layers("n_layers", 24, also=("num_hidden_layers",)),
    width=size("d_model", 2048, also=("hidden_size",)),
    heads=size("n_heads", 16, also=("num_attention_heads",)),
    feed_forward=FOUR_WIDTHS,
    vocabulary=size("vocab_size", 50368),
    positions=0,
    alibi=True,
    norm_weights="gamma",
    qkv_bias=False,
    output_bias=False,
    mlp_bias=False,
    activation="gelu_erf",
    embedding_dropout=dropout("emb_pdrop", False),
    attention_dropout=dropout("attn_config.attn_pdrop", False),
    residual_dropout=dropout("resid_pdrop", False),
).with_fields(
    "max_seq_len",
    "learned_pos_emb",
    "attn_config",
    "init_device",
    "init_config",
    "verbose",
    "fc_type",
    "ffn_config",
    "tokenizer_name",
    "embedding_fraction",
    fixed={
        "attn_config.alibi": (True,),
        "attn_config.clip_qkv": (),
        "attn_config.qk_ln": (False,),
        "attn_config.prefix_lm": (False,),
        "attn_config.attn_type": ("multihead_attention",),
        "expansion_ratio": (4,),
        "no_bias": (True,),
        "norm_type": ("low_precision_layernorm", "layernorm"),
        "logit_scale": (),
    },
)


def _falcon_kv_heads(reading: Reading, values: Values) -> Any:
    new = reading.field("kv_heads", flag("new_decoder_architecture", False), values)
    if new:
        reading.find("multi_query")
        return reading.field("kv_heads", size("num_kv_heads", AS_HEADS, AS_HEADS, ("n_head_kv",)), values)
    reading.find("num_kv_heads")
    reading.find("n_head_kv")
    return multi_query(reading, values)


def _falcon_order(reading: Reading, values: Values) -> str:
    new = reading.field("order", flag("new_decoder_architecture", False), values)
    parallel = reading.field("order", flag("parallel_attn", True), values)
    one = Derived("1, or 2 with new_decoder_architecture", lambda values: 2 if new else 1)
    norms = reading.field("order", size("num_ln_in_parallel_attn", one, one), values)
    if new and not parallel:
        parallel = True  # the new decoder is always parallel
    return "before" if not parallel else "parallel_two" if norms == 2 else "parallel"


def _falcon_rotary(reading: Reading, values: Values) -> int:
    return 0 if reading.field("rotary", flag("alibi", False), values) else int(values["head_size"])


FALCON = GPT2.like(
    "falcon",
    ("FalconForCausalLM", "RWForCausalLM"),
    "Almazrouei et al. 2023",
    depth=layers("num_hidden_layers", 32, also=("n_layer",)),
    width=size("hidden_size", 4544, also=("n_embed",)),
    heads=size("num_attention_heads", 71, also=("n_head",)),
    kv_heads=Rule("multi_query, new_decoder_architecture, num_kv_heads", _falcon_kv_heads),
    feed_forward=size("ffn_hidden_size", FOUR_WIDTHS, FOUR_WIDTHS),
    vocabulary=size("vocab_size", 65024),
    positions=0,
    rotary=Rule("the whole head, unless alibi", _falcon_rotary),
    alibi=flag("alibi", False),
    order=Rule("parallel_attn, new_decoder_architecture, num_ln_in_parallel_attn", _falcon_order),
    qkv_bias=flag("bias", False),
    output_bias=flag("bias", False),
    mlp_bias=flag("bias", False),
    activation=activation("activation", "gelu"),
    embedding_dropout=False,
    attention_dropout=dropout("attention_dropout", False),
    residual_dropout=dropout("hidden_dropout", False),
).with_fields(
    types=("RefinedWeb", "RefinedWebModel"),
    remark="PyTorch's cache of the new decoder holds every head; here it holds the KV heads that the model has.",
    fixed={"apply_residual_connection_post_layernorm": (False,)},
)

MEMBERS = (BLOOM, MPT, FALCON)
