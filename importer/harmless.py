"""Fields that every family may have and that change neither a size nor the operations, each group with its reason."""

from __future__ import annotations

HARMLESS: dict[str, str] = {
    "what the file is, and who wrote it": (
        "architectures model_type transformers_version auto_map name_or_path custom_pipelines task_specific_params license "
        "torchscript use_bfloat16 tf_legacy_loss return_dict base_model_tp_plan base_model_pp_plan unsloth_version "
        "unsloth_fixed model_name transformers.js_config is_llama_config adapter_config"
    ),
    "special tokens": (
        "bos_token_id eos_token_id pad_token_id sep_token_id unk_token_id decoder_start_token_id tokenizer_class prefix "
        "suppress_tokens begin_suppress_tokens forced_bos_token_id forced_eos_token_id bad_words_ids user_token_id "
        "assistant_token_id system_token_id image_token_id video_token_id vision_start_token_id vision_end_token_id vision_token_id "
        "image_token_index audio_token_index boi_token_index eoi_token_index boi_token_id eoi_token_id ignore_index"
    ),
    "how text is generated": (
        "do_sample temperature top_k top_p typical_p min_length max_length max_new_tokens num_beams num_beam_groups early_stopping "
        "diversity_penalty length_penalty repetition_penalty encoder_no_repeat_ngram_size no_repeat_ngram_size num_return_sequences "
        "remove_invalid_values exponential_decay_length_penalty output_scores return_dict_in_generate use_cache cache_implementation"
    ),
    "outputs and labels of other tasks": (
        "output_attentions output_hidden_states output_router_logits id2label label2id num_labels problem_type finetuning_task "
        "classifier_dropout classifier_bias classifier_activation"
    ),
    "initialisation": (
        "initializer_range initializer_factor init_std initializer_cutoff_factor mup_init rescale_prenorm_residual "
        "embedding_initializer_range"
    ),
    "training": "gradient_checkpointing use_return_dict router_aux_loss_coef z_loss seq_aux",
    "precision and the small number in norms": (
        "rms_norm_eps layer_norm_eps layer_norm_epsilon norm_eps norm_epsilon rmsnorm_eps fp32_residual_connection residual_in_fp32"
    ),
    "tables of positions, which have no weights": (
        "max_position_embeddings rope_theta rope_scaling rope_parameters rope_type rope_ratio rope_interleaved rope_interleave "
        "rotary_base rotary_emb_base rope_local_base_freq original_max_position_embeddings model_max_length "
        "seq_length max_seq_len max_seq_length"
    ),
    "how a program runs it": (
        "pretraining_tp attn_implementation attention_implementation use_flash_attn use_flash_attention flash_attn use_fast_kernels "
        "_attn_implementation chunk_size_feed_forward use_fused_rms_norm torch_compile"
    ),
}

NAMES = frozenset(name for group in HARMLESS.values() for name in group.split())
"""All of them."""

FIXED: dict[str, tuple[object, ...]] = {
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (),
    "tie_encoder_decoder": (False,),
    "is_decoder": (False, True),
    "pruned_heads": ("empty",),
    "partial_rotary_factor": (1, 1.0),
    "is_causal": (True,),
    "use_bidirectional_attention": (False,),
    "use_sliding_window": (False,),
    "sliding_window": (),
    "layer_types": (),
    "quantization_config": (),
    "compression_config": (),
}
"""Fields of every family that change the computation, with the values that leave it as it is; null always does."""

REASONS = {
    "quantization_config": "gives weights another type than activations have in a way that is not known",
    "compression_config": "gives weights another type than activations have in a way that is not known",
}
"""The effect of some of them, if it can be said in a few words."""
