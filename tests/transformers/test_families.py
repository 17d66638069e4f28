"""Each family of transformers against `ropewalk inspect` and `ropewalk rotate`.

Of every config the layers that rotate, the type of each, frequencies, attention factor and width are compared
with the family's own rotary class; pairing, direction, axes and place in the head by rotating queries.
"""

import copy
import dataclasses
import inspect
import json
import pathlib

import numpy as np
import pytest
from transformers import CONFIG_MAPPING

import ours
import recorded
import reference
from cases import cases_of
from families import FAMILIES, REFUSED, UNROTATED

COUNTED = {"model_types": 0, "cases": 0}


def lacks_of(rotary_class):
    """What a rotary class cannot do, by its own text."""
    text = inspect.getsource(rotary_class)
    lacks = set() if "ROPE_INIT_FUNCTIONS" in text else {"scaling"}
    return lacks if "partial_rotary_factor" in text else lacks | {"partial"}


def compare_numbers(kind, numbers, sorts):
    given = np.array(kind["frequencies"])
    wanted = np.sort(numbers.frequencies)[::-1] if sorts else numbers.frequencies
    assert given.shape == wanted.shape
    np.testing.assert_allclose(given, wanted, rtol=1e-6, atol=0)
    assert kind["attention_factor"] == pytest.approx(numbers.attention_factor, abs=1e-9)
    assert kind["spec"]["rotary_dim"] == 2 * len(numbers.frequencies)


def compare_rotation(kind, config, rotation):
    spec = kind["spec"]
    queries = rotation.tensors[0]
    width = queries.shape[-1]
    assert width in (spec["head_dim"], spec["rotary_dim"])
    is_view = queries.untyped_storage().nbytes() > queries.numel() * queries.element_size()
    if width < spec["head_dim"] and is_view:
        assert queries.storage_offset() == spec.get("rotary_offset", 0)
    before, after = reference.rotated(config, rotation)
    axes = reference.axes_of(rotation)
    has_axes = axes > 1 and "axes" in spec
    positions = reference.POSITIONS[:axes, None] if has_axes else reference.POSITIONS[0]
    given = ours.rotate(spec, before, positions)
    np.testing.assert_allclose(given, after, atol=3e-4 * kind["attention_factor"], rtol=0)


def compare(family, rotations, name, given, length):
    meant = family.decided.get(name, lambda config: config)(copy.deepcopy(given))
    config = CONFIG_MAPPING[family.model_type].from_dict(meant)
    answer = ours.inspect(given, length)
    types = given.get("layer_types")
    seen = set()
    for index, calls in enumerate(rotations):
        kind = ours.kind_of_layer(answer, index)
        assert kind["rotates"] == bool(calls), f"layer {index}"
        if types and len(types) == len(rotations) and len(answer["layers"]) > 1:
            assert kind["layer_type"] == types[index]
        # Layers of one kind have one table; the others are compared once.
        key = (answer["layers"].index(kind), calls[0].tables[0].layer_type if calls else None)
        if calls and key not in seen:
            seen.add(key)
            compare_numbers(kind, reference.numbers(config, calls[0], length), family.sorts)
            if name in ("default", "base"):
                compare_rotation(kind, config, calls[0])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.model_type)
def test_family(family):
    config_class = CONFIG_MAPPING[family.model_type]
    config = config_class(**family.config)
    rotations = recorded.record(config, family.model)
    first = next(calls[0] for calls in rotations if calls)
    lacks = family.lacks | lacks_of(type(first.tables[0].module))
    pairs = len(reference.numbers(config, first).frequencies)
    failures = []
    names = []
    tried = dataclasses.replace(family, lacks=frozenset(lacks))
    for name, given, length in cases_of(tried, pairs):
        names.append(name)
        try:
            compare(family, rotations, name, given, length)
        except Exception as error:  # pylint: disable=broad-except
            lines = [l.strip() for l in str(error).splitlines() if l.strip()]
            failures.append(f"{name}: {type(error).__name__} {' '.join(lines)[:160]}")
    assert not failures, "\n".join(failures)
    assert len(names) >= 4
    COUNTED["model_types"] += 1
    COUNTED["cases"] += len(names)


@pytest.mark.parametrize("model_type", UNROTATED)
def test_no_layer_rotates(model_type):
    config = CONFIG_MAPPING[model_type]()
    assert not any(recorded.record(config))
    answer = ours.inspect(json.loads(config.to_json_string(use_diff=False)))
    assert not any(kind["rotates"] for kind in answer["layers"])


@pytest.mark.parametrize("model_type, reason", REFUSED.items())
def test_default_is_refused(model_type, reason):
    with pytest.raises(AssertionError, match=reason):
        ours.inspect(json.loads(CONFIG_MAPPING[model_type]().to_json_string(use_diff=False)))


def test_docs_say_how_many():
    if COUNTED["model_types"] != len(FAMILIES):
        pytest.fail("not all families were compared")
    wanted = f"{COUNTED['model_types']} values of `model_type`, {COUNTED['cases']} configs"
    assert wanted in pathlib.Path("docs/models.md").read_text(encoding="utf-8")
