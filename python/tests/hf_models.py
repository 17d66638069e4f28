"""Small models of each family of ropewalk.hf, with random weights, and what they put out. See test_hf.py."""

import copy

import torch
import transformers

TOLERANCE = 1e-4  # of logits in float32
SMALL = {"vocab_size": 128, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2}
# All experts for each token: which are picked would be a leap where a rounding is.
MOE = {"num_local_experts": 2, "num_experts_per_tok": 2}
EXPERTS = {"num_experts": 2, "n_routed_experts": 2, "num_experts_per_tok": 2, "n_shared_experts": 1,
           "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "shared_intermediate_size": 32,
           "first_k_dense_replace": 1, "num_dense_layers": 1, "head_dim": 16}
MLA = {"q_lora_rank": 32, "kv_lora_rank": 32, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16,
       "num_key_value_heads": 4, "first_k_dense_replace": 3, "n_routed_experts": 4, "n_group": 1, "topk_group": 1,
       "num_experts_per_tok": 1, "moe_intermediate_size": 32}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 8,
        "short_factor": [1.0 + i / 8 for i in range(8)], "long_factor": [2.0 + i for i in range(8)]}
SLIDING = {"head_dim": 16, "sliding_window": 8,
           "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
# Attention beside layers of another kind.
LINEAR = {"layer_types": ["full_attention", "linear_attention", "full_attention"]}
CONV = {"layer_types": ["full_attention", "conv", "full_attention"]}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 32, "mamba_d_state": 8, "mamba_chunk_size": 8}

# Name: (config class, what differs from SMALL).
MODELS = {
    "llama": ("LlamaConfig", {"rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0,
                                                  "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                  "original_max_position_embeddings": 64}}),
    "llama, dynamic": ("LlamaConfig", {"max_position_embeddings": 8, "rope_parameters": {
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}}),
    "llama, yarn": ("LlamaConfig", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                                        "original_max_position_embeddings": 16}}),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", {"head_dim": 16}),
    "mixtral": ("MixtralConfig", MOE),
    "mistral": ("MistralConfig", {"sliding_window": 8}),
    "gemma": ("GemmaConfig", {"head_dim": 16}),
    "gemma2": ("Gemma2Config", {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 8}),
    "gemma3": ("Gemma3TextConfig", {**SLIDING, "query_pre_attn_scalar": 16}),
    "phi3": ("Phi3Config", {"rope_parameters": LONG, "original_max_position_embeddings": 8}),
    "gpt_neox": ("GPTNeoXConfig", {}),
    "gptj": ("GPTJConfig", {"n_embd": 64, "n_layer": 3, "n_head": 4, "rotary_dim": 8, "n_positions": 4096}),
    "cohere": ("CohereConfig", {}),
    "glm": ("GlmConfig", {"head_dim": 16}),
    "glm4": ("Glm4Config", {"head_dim": 16}),
    "stablelm": ("StableLmConfig", {}),
    "deepseek_v2": ("DeepseekV2Config", MLA),
    "deepseek_v3": ("DeepseekV3Config", MLA),
    "gpt_oss": ("GptOssConfig", {"head_dim": 16, **MOE, "sliding_window": 8}),
    "qwen2_vl": ("Qwen2VLTextConfig", {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0,
                                                            "mrope_section": [2, 3, 3]}}),
    "qwen3_vl": ("Qwen3VLTextConfig", {"head_dim": 16, "rope_parameters": {
        "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2], "mrope_interleaved": True}}),
    "ernie4_5": ("Ernie4_5Config", {"head_dim": 16}),
    "olmo": ("OlmoConfig", {}),
    "olmo2": ("Olmo2Config", {}),
    "granite": ("GraniteConfig", {}),
    "modernbert": ("ModernBertConfig", {"num_hidden_layers": 4, "local_attention": 8}),
    "smollm3": ("SmolLM3Config", {"num_hidden_layers": 4}),
    "llama4": ("Llama4TextConfig", {"head_dim": 16, "num_hidden_layers": 4, "intermediate_size_mlp": 96, **MOE,
                                    "attention_chunk_size": 64}),
    "falcon": ("FalconConfig", {}),
    "phi": ("PhiConfig", {}),
    "helium": ("HeliumConfig", {"head_dim": 16}),
    "nemotron": ("NemotronConfig", {"head_dim": 16}),
    "olmo3": ("Olmo3Config", SLIDING),
    "minicpm3": ("MiniCPM3Config", MLA),
    "jetmoe": ("JetMoeConfig", {**MOE, "kv_channels": 16}),
    "modernbert_decoder": ("ModernBertDecoderConfig", {"local_attention": 8, "initializer_range": 0.1}),
}
# Their functions, and how they are called, are those of models above, which are tested in more ways.
ALIKE = {
    "apertus": ("ApertusConfig", {}),
    "arcee": ("ArceeConfig", {}),
    "bamba": ("BambaConfig", {**MAMBA, "attn_layer_indices": [0, 2]}),
    "bitnet": ("BitNetConfig", {}),
    "cohere2": ("Cohere2Config", SLIDING),
    "cwm": ("CwmConfig", SLIDING),
    "dbrx": ("DbrxConfig", {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 4096,
                            "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8},
                            "ffn_config": {"hidden_size": 64, "ffn_hidden_size": 64, "moe_num_experts": 2,
                                           "moe_top_k": 2}}),
    "diffllama": ("DiffLlamaConfig", {}),
    "doge": ("DogeConfig", {}),
    "dots1": ("Dots1Config", {**EXPERTS, **SLIDING}),
    "ernie4_5_moe": ("Ernie4_5_MoeConfig", EXPERTS),
    "eurobert": ("EuroBertConfig", {}),
    "exaone4": ("Exaone4Config", SLIDING),
    "falcon, grouped": ("FalconConfig", {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon_h1": ("FalconH1Config", {**MAMBA, "head_dim": 16, "mamba_d_ssm": 128}),
    "flex_olmo": ("FlexOlmoConfig", EXPERTS),
    "glm4_moe": ("Glm4MoeConfig", EXPERTS),
    "glm4_moe_lite": ("Glm4MoeLiteConfig", {**MLA, **EXPERTS}),
    "gpt_neox_japanese": ("GPTNeoXJapaneseConfig", {}),
    "granitemoe": ("GraniteMoeConfig", MOE),
    "granitemoehybrid": ("GraniteMoeHybridConfig", {**EXPERTS, **MOE, **MAMBA, **LINEAR,
                                                    "position_embedding_type": "rope"}),
    "granitemoeshared": ("GraniteMoeSharedConfig", {**EXPERTS, **MOE}),
    "hunyuan_v1_dense": ("HunYuanDenseV1Config", {"head_dim": 16}),
    "hunyuan_v1_moe": ("HunYuanMoEV1Config", EXPERTS),
    "jais2": ("Jais2Config", {}),
    "lfm2": ("Lfm2Config", CONV),
    "lfm2_moe": ("Lfm2MoeConfig", {**EXPERTS, **CONV}),
    "longcat_flash": ("LongcatFlashConfig", {**MLA, "head_dim": 16, "num_layers": 2, "ffn_hidden_size": 96,
                                             "n_routed_experts": 2, "zero_expert_num": 1, "moe_topk": 3,
                                             "num_experts_per_tok": 3, "expert_ffn_hidden_size": 32}),
    "mimo_v2_flash": ("MiMoV2FlashConfig", {**EXPERTS, **SLIDING, "v_head_dim": 16}),
    "minimax": ("MiniMaxConfig", {**EXPERTS, **MOE, **LINEAR, "block_size": 8}),
    "minimax_m2": ("MiniMaxM2Config", {**EXPERTS, **MOE}),
    "ministral": ("MinistralConfig", SLIDING),
    "ministral3": ("Ministral3Config", {"head_dim": 16}),
    "mistral4": ("Mistral4Config", MLA),
    "nomic_bert": ("NomicBertConfig", {}),
    "olmoe": ("OlmoeConfig", EXPERTS),
    "persimmon": ("PersimmonConfig", {}),
    "qwen2_moe": ("Qwen2MoeConfig", EXPERTS),
    "qwen3_moe": ("Qwen3MoeConfig", EXPERTS),
    "qwen3_next": ("Qwen3NextConfig", {
        **EXPERTS, **LINEAR, "linear_num_key_heads": 2, "linear_key_head_dim": 8,
        "linear_num_value_heads": 2, "linear_value_head_dim": 8}),
    "seed_oss": ("SeedOssConfig", {"head_dim": 16}),
    "solar_open": ("SolarOpenConfig", EXPERTS),
    "starcoder2": ("Starcoder2Config", {}),
    "vaultgemma": ("VaultGemmaConfig", {**SLIDING, "query_pre_attn_scalar": 16}),
    "youtu": ("YoutuConfig", {**MLA, "rope_interleave": False, "initializer_range": 0.02}),
    "zamba2": ("Zamba2Config", {"use_mem_rope": True, "n_mamba_heads": 4, "mamba_d_state": 8, "chunk_size": 8,
                                "adapter_rank": 8, "num_key_value_heads": 4, "num_hidden_layers": 2,
                                "layers_block_type": ["linear_attention", "hybrid"]}),
}
ALL = MODELS | ALIKE
# Those that AutoModelForCausalLM does not make.
AUTO = {**dict.fromkeys(("eurobert", "modernbert", "nomic_bert"), transformers.AutoModelForMaskedLM),
        **dict.fromkeys(("mistral4", "qwen2_vl", "qwen3_vl"), transformers.AutoModel)}
# Weights that q and k are proportional to.
QUERIES = ("q_proj", "k_proj", "qkv", "q_norm", "k_norm", "query_key_value", "q_b_proj", "kv_a_proj", "Wqkv",
           "q_layernorm", "k_layernorm", "query_layernorm", "key_layernorm", "kv_proj",
           "self_attention.experts.input_linear")


def make(name, dtype=torch.float32):
    config_class, differs = ALL[name]
    config = getattr(transformers, config_class)(**{**SMALL, **differs}, attn_implementation="eager")
    torch.manual_seed(1)
    auto = AUTO.get(name, transformers.AutoModelForCausalLM)
    return auto.from_config(config, dtype=dtype).eval()


def outputs(model, ids, **arguments):
    with torch.no_grad():
        result = model(input_ids=ids, use_cache=False, **arguments) if "Bert" not in type(model).__name__ else \
            model(input_ids=ids, **arguments)
    return result.logits if hasattr(result, "logits") else result.last_hidden_state


def without_rotation(model):
    still = copy.deepcopy(model)
    for module in still.modules():
        if hasattr(module, "long_inv_freq"):
            module.long_inv_freq = torch.zeros_like(module.long_inv_freq)
        for key, buffer in module.named_buffers(recurse=False):
            if key.endswith("inv_freq"):
                buffer.zero_()
            if key == "embed_positions":
                sines, cosines = buffer.chunk(2, -1)
                sines.zero_()
                cosines.fill_(1)
    return still


def sharpened(model, ids):
    """Its q and k made longer until the rotation matters: a test of it would see nothing else."""
    for _ in range(12):
        moved = (outputs(model, ids) - outputs(without_rotation(model), ids)).abs().max()
        if moved > 100 * TOLERANCE:
            return moved
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if any(one in key for one in QUERIES):
                    parameter.mul_(1.5)
    return moved


IDS = torch.randint(3, 128, (2, 24), generator=torch.Generator().manual_seed(2))
