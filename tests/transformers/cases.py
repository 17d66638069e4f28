"""Configs to try a family with: what its config class makes by default, and variations of it."""

import copy
import json

from transformers import CONFIG_MAPPING

# Keys that a published config may leave out, where the class has a default for them.
LEFT_OUT = {
    "rope_parameters", "rope_theta", "partial_rotary_factor", "layer_types", "per_layer_config",
    "no_rope_layers", "layer_rope_theta",
}
# Those of a block that do not belong to its scaling.
KEPT = ("rope_theta", "partial_rotary_factor")
# One of a kind is enough.
IN_OLD_FORM = {"base", "yarn", "longrope, long", "partial 0.25"}
YARN = {"factor": 4.0, "original_max_position_embeddings": 1024, "beta_fast": 24.0, "beta_slow": 2.0}
LLAMA3 = {
    "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 2048,
}


def blocks_of(config):
    """The blocks of rope keys in a config, one for each type of layer or one for all."""
    block = config["rope_parameters"]
    nested = [v for v in block.values() if isinstance(v, dict)]
    return nested or [block]


def scaled(config, rope_type, keys):
    """The config with another scaling in every block."""
    result = copy.deepcopy(config)
    for block in blocks_of(result):
        kept = {k: v for k, v in block.items() if k in KEPT or k.startswith("mrope")}
        block.clear()
        block.update(kept, rope_type=rope_type, **keys)
    return result


def rebased(config):
    result = copy.deepcopy(config)
    for i, block in enumerate(blocks_of(result)):
        block["rope_theta"] = 54321.0 * (i + 1)
    return result


def partly(config, share):
    result = copy.deepcopy(config)
    result.pop("partial_rotary_factor", None)
    for block in blocks_of(result):
        block["partial_rotary_factor"] = share
    return result


def old_form(config, spelled):
    """rope_theta and rope_scaling beside each other, as transformers 4 wrote them."""
    result = copy.deepcopy(config)
    block = dict(result.pop("rope_parameters"))
    for key in ("rope_theta", "partial_rotary_factor"):
        if key in block:
            result.pop(key, None)
            result[spelled.get(key, key)] = block.pop(key)
    rope_type = block.pop("rope_type", "default")
    if rope_type != "default" or block:
        result["rope_scaling"] = {"type": rope_type, **block}
    return result


def is_nested(config):
    return any(v is None or isinstance(v, dict) for v in config["rope_parameters"].values())


def written(family, config, **how):
    keys = json.loads(config.to_json_string(**how))
    return {k: v for k, v in keys.items() if k not in family.drops}


def variations_of(family, default, pairs):
    yield "base", rebased(default), None
    lists = {
        "short_factor": [1 + i / 64 for i in range(pairs)],
        "long_factor": [2 + i / 8 for i in range(pairs)],
        "original_max_position_embeddings": 512,
        "factor": 4.0,
    }
    scalings = [
        ("linear", "linear", {"factor": 3.0}, None),
        ("yarn", "yarn", YARN, None),
        ("yarn, mscale", "yarn", YARN | {"mscale": 0.8, "mscale_all_dim": 0.5}, None),
        ("llama3", "llama3", LLAMA3, None),
        ("dynamic", "dynamic", {"factor": 2.0}, 3 * (default.get("max_position_embeddings") or 2048)),
    ]
    # Where blocks differ in their pairs, one list does not fit them all.
    if not is_nested(default):
        scalings += [
            ("longrope, short", "longrope", lists, None),
            ("longrope, long", "longrope", lists, 513),
        ]
    for name, rule, keys, length in scalings:
        if not family.lacks & {"scaling", rule}:
            yield name, scaled(default, rule, keys), length
    if "partial" not in family.lacks:
        for share in (0.25, 0.5):
            yield f"partial {share}", partly(default, share), None


def cases_of(family, pairs):
    """(name, config.json as a dictionary, length or None). `pairs` rotate in the first block."""
    config = CONFIG_MAPPING[family.model_type](**family.config)
    default = written(family, config, use_diff=False)
    yield "default", default, None
    yield "default, few keys", written(family, config, use_diff=True), None
    if not family.config:
        left = {k: v for k, v in default.items() if k not in LEFT_OUT}
        yield "default, left out", left, None
        if not is_nested(default):
            yield "base, no block", left | {family.old.get("rope_theta", "rope_theta"): 54321.0}, None
    for name, made, length in variations_of(family, default, pairs):
        yield name, made, length
        if name in IN_OLD_FORM and not is_nested(made):
            yield f"{name}, old form", old_form(made, family.old), length
