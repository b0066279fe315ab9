"""The table of families: one entry for each architecture that is known."""

from __future__ import annotations

from bpir.importer.families import alibi, gemma, gpt, later, llama, neox, norms, qwen
from bpir.importer.family import Family

FAMILIES: tuple[Family, ...] = tuple(family for module in (llama, qwen, gemma, gpt, neox, alibi, norms, later) for family in module.MEMBERS)
"""All families, those that can't be imported last."""

BY_ARCHITECTURE: dict[str, Family] = {architecture: family for family in FAMILIES for architecture in family.architectures}
"""Families by the class that a configuration names."""

BY_TYPE: dict[str, Family] = {type: family for family in FAMILIES for type in (family.name, *family.types)}
"""Families by `model_type`."""

WRAPPERS: dict[str, str] = {
    "Gemma3ForConditionalGeneration": "gemma3",
    "Gemma4ForConditionalGeneration": "gemma4",
    "KimiK25ForConditionalGeneration": "kimi_k25",
    "KimiK3ForConditionalGeneration": "kimi_k3",
    "Llama4ForConditionalGeneration": "llama4",
    "LlavaForConditionalGeneration": "llava",
    "LlavaNextForConditionalGeneration": "llava_next",
    "LlavaOnevisionForConditionalGeneration": "llava_onevision",
    "Mistral3ForConditionalGeneration": "mistral3",
    "PaliGemmaForConditionalGeneration": "paligemma",
    "Qwen2VLForConditionalGeneration": "qwen2_vl",
    "Qwen2_5_VLForConditionalGeneration": "qwen2_5_vl",
    "Qwen3VLForConditionalGeneration": "qwen3_vl",
    "Qwen3VLMoeForConditionalGeneration": "qwen3_vl_moe",
    "Qwen3_5ForConditionalGeneration": "qwen3_5",
    "Qwen3_5MoeForConditionalGeneration": "qwen3_5_moe",
}
"""Models of pictures and text by their class: `text_config` holds the decoder, which is what is imported."""
