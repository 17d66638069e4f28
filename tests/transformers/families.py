"""The families that are compared: a line each, with what is special of it.

config  arguments for the config class, where its defaults make no model that works
lacks   what its rotary class cannot do: scaling, partial, or a rule of scaling by name
drops   keys of its config that do not survive JSON, or say again what the block says
old     how its old configs spell rope_theta and partial_rotary_factor
model   the class of the model, where it is not the shortest name
sorts   its rotary class keeps the frequencies in another order, beside an order of axes
decided case by case, where docs/models.md decides otherwise: the config that has, by the family's own
        class, what ropewalk makes of the case's config; None: it is refused
"""

import copy
import dataclasses

from transformers import CONFIG_MAPPING


@dataclasses.dataclass(frozen=True)
class Family:
    model_type: str
    config: dict = dataclasses.field(default_factory=dict)
    lacks: frozenset = frozenset()
    drops: frozenset = frozenset()
    old: dict = dataclasses.field(default_factory=dict)
    model: str | None = None
    sorts: bool = False
    decided: dict = dataclasses.field(default_factory=dict)


def family(model_type, lacks="", drops="", **fields):
    return Family(model_type, lacks=frozenset(lacks.split()), drops=frozenset(drops.split()), **fields)


def honoured(config):
    """Keys beside the block count, as in other families, where the class has its own instead."""
    block = dict(config.get("rope_scaling") or {})
    block["rope_type"] = block.pop("type", "default")
    for key in ("rope_theta", "partial_rotary_factor"):
        if key in config:
            block[key] = config[key]
    return {**copy.deepcopy(config), "rope_parameters": block}


def in_own_block(config):
    """The base beside no block counts, where the class has a block of its own and takes that one's."""
    block = CONFIG_MAPPING[config["model_type"]]().rope_parameters
    return {**copy.deepcopy(config), "rope_parameters": block | {"rope_theta": config["rope_theta"]}}


def half(config):
    """rotary_dim, 64 of 128, is honoured."""
    result = copy.deepcopy(config) if "rope_parameters" in config else honoured({"rope_theta": 5e6} | config)
    result["rope_parameters"]["partial_rotary_factor"] = 0.5
    return result


OLD_SCALINGS = {f"{name}, old form": honoured for name in ("yarn", "longrope, long")}
ONLY_LONGROPE = "linear yarn llama3 dynamic"
NEEDS_HEAD_DIM = {"head_dim": 128}
GLM_AXES = {
    "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12],
}
NEOX = {"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"}

# Those of which nothing is special.
PLAIN = """
arcee aria_text axk1 bitnet blt_global_transformer cohere cohere2 diffllama doge ernie4_5 ernie4_5_moe esmc
eurobert exaone4 exaone_moe flex_olmo gemma gemma2 gemma3n_text gemma3_text glm glm4 glm_moe_dsa granite
granite_docling_text granitemoe granitemoeshared gte helium hrm_text hy_v3 hy_v4 hyperclovax jais2
jina_embeddings_v3 lfm2 llama longcat_flash mimo_v2_flash minicpm3 minimax_m2 mistral
molmo2_text moshi nanochat nomic_bert olmo olmo2 olmo3 olmo_hybrid olmoe paddleocr_vl_text
phi persimmon qwen2 qwen2_5_omni_talker qwen2_5_omni_text qwen2_5_vl_text qwen2_moe qwen2_vl_text qwen3
qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next qwen3_vl_moe_text qwen3_vl_text seed_oss smollm3
solar_open stablelm starcoder2 step3p5 unlimited_ocr_text vaultgemma youtu zaya deepseek_v3 deepseek_v32
deepseek_v2 llama4_text gpt_oss openai_privacy_filter afmoe kolibri1 flint
lara_mini beam ultrabert mllama_text_model modernbert modernbert-decoder falcon emu3_text_model axk2
pocket_tts gradium_phonon_tts voxtral_realtime_encoder dia_encoder hy_v4_vl_text neomme dory lfm3
laguna mellum gemma4_text gemma4_unified_text embedding_gemma2_text dots3_note_text
"""

# Whose class has a block of its own, with a base.
OWN_BLOCK = "apertus apertus1p5_text cwm ministral3 mistral4 mistral_large4_text"

FAMILIES = [
    *(family(name) for name in PLAIN.split()),
    *(family(name, decided={"base, no block": in_own_block}) for name in OWN_BLOCK.split()),
    family("bailing_hybrid", "dynamic"),
    family("bamba", drops="time_step_limit", config={"attn_layer_indices": [1, 4]},
           decided={"partial 0.25, old form": honoured}),
    family("falcon_h1", drops="time_step_limit"),
    family("cohere2_moe", decided=OLD_SCALINGS),
    family("cosmos3_edge_text", "scaling", decided={"base, no block": in_own_block}),
    family("ernie4_5_vl_moe_text", sorts=True),
    family("glm4_moe", config=NEEDS_HEAD_DIM),
    family("glm4_moe_lite", "partial"),
    family("glm4v_text", config={"rope_parameters": GLM_AXES}, lacks="partial"),
    family("glm4v_moe_text", config={"head_dim": 128, "rope_parameters": GLM_AXES}, lacks="partial"),
    family("glm_image_text", config={"rope_parameters": GLM_AXES}, lacks="partial"),
    family("glm_ocr_text", "partial"),
    family("gpt_neox", old=NEOX),
    family("gpt_neox_japanese", old=NEOX),
    family("granite_swa", drops="layer_rope_theta"),
    family("granitemoe_swa", drops="layer_rope_theta"),
    family("muse_glimmer_text", drops="layer_rope_theta"),
    family("muse_spark_text", drops="layer_rope_theta", decided={c: honoured for c in (
        "base, old form", "base, no block")}),
    family("granitemoehybrid", drops="time_step_limit",
           config={"position_embedding_type": "rope", "layer_types": ["mamba", "attention"] * 16}),
    family("hunyuan_v1_dense", config=NEEDS_HEAD_DIM),
    family("hunyuan_v1_moe", config=NEEDS_HEAD_DIM),
    family("minimax", config=NEEDS_HEAD_DIM),
    family("minimax_m3_vl_text", "scaling partial", decided={c: half for c in (
        "default", "default, few keys", "default, left out", "base", "base, no block", "base, old form")}),
    family("ministral", config=NEEDS_HEAD_DIM),
    family("mixtral", config=NEEDS_HEAD_DIM),
    family("nemotron", config=NEEDS_HEAD_DIM | {"num_key_value_heads": 8}),
    family("phi3", ONLY_LONGROPE),
    family("phi4_multimodal", ONLY_LONGROPE),
    family("phimoe", "scaling"),
    family("qwen3_omni_moe_text", config=NEEDS_HEAD_DIM),
    family("recurrent_gemma"),
    family("zamba2", config={"use_mem_rope": True}),
    family("lfm2_moe", config={"layer_types": ["conv", "full_attention"] * 16}),
    family("deepseek_v4", drops="qk_rope_head_dim"),
]

# Their layers rotate nothing.
UNROTATED = ["inkling_text", "inkling2_text", "inkling2_loop_text", "kimi_linear"]

# Their defaults are refused, and why.
REFUSED = {"glm4_moe": "want an even number of elements"}
