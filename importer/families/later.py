"""Families that are known and can't be imported yet, each with what is lacking."""

from __future__ import annotations

from bpir.importer.family import refused

_EXPERTS = "how its experts are routed and shared is not in the table yet"
_LATENT = "its latent attention is not in the table yet"
_SINKS = "its attention sinks and experts are not in the table yet"
_HYBRID = "layers of linear attention or a state space are not in the language"
_INDEXER = "sparse attention with an indexer is not in the language"
_CROSS = "cross-attention is not in the language"

MEMBERS = (
    refused("qwen2_moe", ("Qwen2MoeForCausalLM",), _EXPERTS),
    refused("flex_olmo", ("FlexOlmoForCausalLM",), _EXPERTS),
    refused("phimoe", ("PhimoeForCausalLM", "PhiMoEForCausalLM"), _EXPERTS),
    refused("granitemoe", ("GraniteMoeForCausalLM",), _EXPERTS),
    refused("granitemoeshared", ("GraniteMoeSharedForCausalLM",), _EXPERTS),
    refused("dbrx", ("DbrxForCausalLM",), _EXPERTS),
    refused("jetmoe", ("JetMoeForCausalLM",), _EXPERTS),
    refused("llama4_text", ("Llama4ForCausalLM",), _EXPERTS),
    refused("glm4_moe", ("Glm4MoeForCausalLM",), _EXPERTS),
    refused("dots1", ("Dots1ForCausalLM",), _EXPERTS),
    refused("ernie4_5_moe", ("Ernie4_5_MoeForCausalLM",), _EXPERTS),
    refused("hunyuan_v1_moe", ("HunYuanMoEV1ForCausalLM",), _EXPERTS),
    refused("exaone_moe", ("ExaoneMoeForCausalLM",), _EXPERTS),
    refused("minimax_m2", ("MiniMaxM2ForCausalLM",), _EXPERTS),
    refused("minimax_m3", ("MiniMaxM3ForCausalLM", "MiniMaxM3SparseForConditionalGeneration"), _EXPERTS, "minimax_m3_vl"),
    refused("mimo_v2_flash", ("MiMoV2FlashForCausalLM",), _SINKS),
    refused("gemma4_text", ("Gemma4ForCausalLM",), "layers with other head sizes and shared keys and values are not in the language"),
    refused("minicpm3", ("MiniCPM3ForCausalLM",), _LATENT),
    refused("glm4_moe_lite", ("Glm4MoeLiteForCausalLM",), _LATENT),
    refused("longcat_flash", ("LongcatFlashForCausalLM",), _LATENT),
    refused("deepseek_v32", ("DeepseekV32ForCausalLM",), _INDEXER),
    refused("deepseek_v4", ("DeepseekV4ForCausalLM",), _INDEXER, "deepseek_ref"),
    refused("glm_moe_dsa", ("GlmMoeDsaForCausalLM",), _INDEXER),
    refused("qwen3_next", ("Qwen3NextForCausalLM",), _HYBRID),
    refused("qwen3_5_text", ("Qwen3_5ForCausalLM",), _HYBRID),
    refused("qwen3_5_moe_text", ("Qwen3_5MoeForCausalLM",), _HYBRID),
    refused("minimax", ("MiniMaxForCausalLM", "MiniMaxText01ForCausalLM"), _HYBRID, "minimax_text_01"),
    refused("kimi_linear", ("KimiLinearForCausalLM",), _HYBRID),
    refused("nemotron_h", ("NemotronHForCausalLM",), _HYBRID),
    refused("jamba", ("JambaForCausalLM",), _HYBRID),
    refused("bamba", ("BambaForCausalLM",), _HYBRID),
    refused("zamba", ("ZambaForCausalLM",), _HYBRID),
    refused("zamba2", ("Zamba2ForCausalLM",), _HYBRID),
    refused("granitemoehybrid", ("GraniteMoeHybridForCausalLM",), _HYBRID),
    refused("falcon_h1", ("FalconH1ForCausalLM",), _HYBRID),
    refused("lfm2", ("Lfm2ForCausalLM",), "layers of convolution are not in the language"),
    refused("recurrent_gemma", ("RecurrentGemmaForCausalLM",), _HYBRID),
    refused("mamba", ("MambaForCausalLM",), _HYBRID),
    refused("mamba2", ("Mamba2ForCausalLM",), _HYBRID),
    refused("falcon_mamba", ("FalconMambaForCausalLM",), _HYBRID),
    refused("rwkv", ("RwkvForCausalLM",), _HYBRID),
    refused("mllama_text_model", ("MllamaForCausalLM",), _CROSS),
    refused("apertus", ("ApertusForCausalLM",), "the activation function xIELU, which has weights, is not in the language"),
    refused("nanochat", ("NanoChatForCausalLM",), "norms without weights around rotary embeddings are not in the language"),
    refused("diffllama", ("DiffLlamaForCausalLM",), "differential attention is not in the language"),
    refused("nemotron-nas", ("DeciLMForCausalLM",), "layers of different shapes ('block_configs') are not in the language"),
    refused("gemma3n_text", ("Gemma3nForCausalLM",), "embeddings of each layer and shared keys and values are not in the language"),
    refused("step3p7", ("Step3p7FlashForCausalLM",), _EXPERTS),
)
