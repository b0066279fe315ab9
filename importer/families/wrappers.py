"""Models of pictures and text: the decoder of text is what is imported, from `text_config`."""

from __future__ import annotations

import attrs


@attrs.frozen
class Wrapper:
    """A model around a decoder.

    Attributes:
        type: its `model_type`.
        tied: whether its class ties the head to the embedding where `tie_word_embeddings` is absent.
        inner: whether `tie_word_embeddings` of the decoder ties as well; else only that of the whole model counts.
        flat: the `model_type` of the decoder where there is no `text_config` and its fields are beside those of the whole model.
    """

    type: str
    tied: bool = False
    inner: bool = False
    flat: str = ""


WRAPPERS: dict[str, Wrapper] = {
    "Gemma3ForConditionalGeneration": Wrapper("gemma3", tied=True),
    "Gemma4ForConditionalGeneration": Wrapper("gemma4", tied=True),
    "KimiK25ForConditionalGeneration": Wrapper("kimi_k25"),
    "KimiK3ForConditionalGeneration": Wrapper("kimi_k3"),
    "Llama4ForConditionalGeneration": Wrapper("llama4"),
    "LlavaForConditionalGeneration": Wrapper("llava", inner=True),
    "LlavaNextForConditionalGeneration": Wrapper("llava_next"),
    "LlavaOnevisionForConditionalGeneration": Wrapper("llava_onevision", inner=True),
    "Mistral3ForConditionalGeneration": Wrapper("mistral3", tied=True),
    "PaliGemmaForConditionalGeneration": Wrapper("paligemma", tied=True),
    "Qwen2VLForConditionalGeneration": Wrapper("qwen2_vl", inner=True, flat="qwen2_vl_text"),
    "Qwen2_5_VLForConditionalGeneration": Wrapper("qwen2_5_vl", inner=True, flat="qwen2_vl_text"),
    "Qwen3VLForConditionalGeneration": Wrapper("qwen3_vl"),
    "Qwen3VLMoeForConditionalGeneration": Wrapper("qwen3_vl_moe"),
    "Qwen3_5ForConditionalGeneration": Wrapper("qwen3_5"),
    "Qwen3_5MoeForConditionalGeneration": Wrapper("qwen3_5_moe"),
}
"""By the class that the configuration names; the defaults are those of transformers 5.24."""

BY_TYPE: dict[str, Wrapper] = {wrapper.type: wrapper for wrapper in WRAPPERS.values()}

_AROUND = (
    "text_config vision_config audio_config projector_hidden_act projection_dim multimodal_projector_bias spatial_merge_size "
    "vision_feature_layer vision_feature_select_strategy image_seq_length image_grid_pinpoints use_image_newline_parameter "
    "mm_tokens_per_image vision_aspect_ratio vision_token_id vision_soft_tokens_per_image hidden_size vocab_size ignore_index "
    "tie_word_embeddings torch_dtype dtype media_placeholder_token_id use_unified_vision_chunk "
    "video_placeholder video_token_index"
)
AROUND = frozenset(_AROUND.split())
"""Fields of the whole model that say nothing of the decoder's sizes."""
