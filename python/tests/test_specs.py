"""Spec and Model, as Python has them; what they mean is tested in C++."""

import copy
import json
import os
import pathlib
import pickle

import numpy as np
import pytest

import ropewalk

YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


def test_a_spec_says_what_it_was_made_of():
    spec = ropewalk.Spec(head_dim=128, rotary_dim=64, base=1e6, scaling=YARN, pairing="adjacent")
    assert (spec.head_dim, spec.rotary_dim, spec.rotary_offset, spec.window_parts, spec.part_dim) == (128, 64, 0, 1, 64)
    assert (spec.pairing, spec.output_pairing, spec.clockwise) == ("adjacent", "adjacent", False)
    assert spec.base == 1e6 and spec.scaling["factor"] == 4.0
    assert spec.frequencies is None and spec.attention_factor is None and spec.frequency_rounding == "none"
    assert spec.axes is None and spec.axis_of_pair == []
    plain = ropewalk.Spec(head_dim=4)
    assert plain.base == 10000.0 and plain.scaling == {"type": "default"}
    assert ropewalk.Spec(head_dim=4, frequencies=[1.0, 0.5]).base is None
    axes = {"sections": [1, 2, 1], "order": "blocks"}
    assert ropewalk.Spec(head_dim=8, axes=axes).axes == axes
    assert ropewalk.Spec(head_dim=8, axes=axes).axis_of_pair == [0, 1, 1, 2]
    assert repr(spec).startswith("Spec(head_dim=128, rotary_dim=64, pairing='adjacent'")


@pytest.mark.parametrize("spec", [
    ropewalk.Spec(head_dim=128, base=1e6, scaling=YARN),
    ropewalk.Spec(head_dim=8, frequencies=[1.0, 0.1, 1e-3 / 3, 0.0], attention_factor=1.1, clockwise=True),
])
def test_a_spec_survives_json_pickle_copy_and_repr(spec):
    for other in (ropewalk.Spec.from_json(spec.to_json()), ropewalk.Spec(**spec.to_dict()), copy.deepcopy(spec),
                  pickle.loads(pickle.dumps(spec)), eval(repr(spec), {"Spec": ropewalk.Spec})):
        assert other == spec and hash(other) == hash(spec)
    assert spec != ropewalk.Spec(head_dim=4) and spec != 3


def test_a_rope_survives_pickle_and_copy():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=8, scaling={"type": "dynamic", "factor": 2.0,
                                                            "original_max_position_embeddings": 64}), 128)
    for other in (copy.deepcopy(rope), pickle.loads(pickle.dumps(rope))):
        assert other.spec == rope.spec and other.length == 128
        np.testing.assert_array_equal(other.frequencies, rope.frequencies)
    assert ropewalk.depends_on_length(rope.spec) and not ropewalk.depends_on_length(ropewalk.Spec(head_dim=8))
    assert repr(rope).startswith("Rope(Spec(head_dim=8") and repr(rope).endswith(", 128)")


def test_numbers_and_arrays_of_numpy_are_numbers_and_lists():
    spec = ropewalk.Spec(head_dim=np.int64(8), base=np.float32(500), attention_factor=np.float64(2))
    assert spec == ropewalk.Spec(head_dim=8, base=500.0, attention_factor=2.0)
    spec = ropewalk.Spec(head_dim=4, frequencies=np.array([1.0, 0.5]))
    assert spec.frequencies == [1.0, 0.5]


@pytest.mark.parametrize("fields, error, message", [
    ({}, ValueError, "head_dim: missing"),
    ({"head_dim": 7}, ValueError, "7"),
    ({"head_dim": 8, "bas": 3}, ValueError, "bas: not a key that is known"),
    ({"head_dim": 8, "base": float("nan")}, ValueError, "base: "),
    ({"head_dim": 8, "base": object()}, TypeError, "base: got a object"),
    ({"head_dim": True}, ValueError, "head_dim: got a boolean"),
    ({"head_dim": 8, "scaling": {"type": "yarn"}}, ValueError, "factor"),
    ({"head_dim": 8, "pairing": "neox"}, ValueError, "pairing"),
])
def test_a_bad_spec_is_an_error_that_names_the_key(fields, error, message):
    with pytest.raises(error, match=message):
        ropewalk.Spec(**fields)


CONFIG = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 3,
          "rope_theta": 500000.0, "max_position_embeddings": 4096}


def test_a_model_is_read_from_a_path_a_dict_and_a_configuration(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIG))
    models = [ropewalk.Model.from_file(source) for source in (CONFIG, file, str(file), bytes(file))]
    transformers = pytest.importorskip("transformers")
    models.append(ropewalk.Model.from_file(transformers.LlamaConfig(
        hidden_size=64, num_attention_heads=8, num_hidden_layers=3, max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0})))
    for model in models:
        assert model.model_type == "llama" and model.trained_length == 4096
        kind, = model.kinds
        assert kind.rotates and kind.layer_indices == [0, 1, 2] and kind.softmax_scale_factor == 1
        assert model.layer(2).spec.head_dim == 8
        frequencies = ropewalk.Rope(model.layer(2).spec).frequencies
        np.testing.assert_allclose(frequencies, 500000.0 ** -(np.arange(0, 8, 2) / 8), rtol=1e-6)
        with pytest.raises(ValueError, match="3"):
            model.layer(3)
        assert repr(model) == "Model('llama', 1 kind of layers)"
        assert repr(kind) == "LayerKind('full_attention', 3 layers, rotates)"


def test_layers_without_rotation_and_scaled_queries():
    model = ropewalk.Model.from_preset("llama-4-scout")
    rotating, still = model.kinds if model.kinds[0].rotates else reversed(model.kinds)
    assert not still.rotates
    with pytest.raises(NotImplementedError):
        still.spec
    # 1 + 0.1 ln(floor((p + 1) / 8192) + 1), as the configuration has it.
    scale = still.query_scale
    for position in (0, 8191, 100000):
        wanted = 1 + 0.1 * np.log(np.floor((position + 1) / 8192) + 1)
        assert scale.at(position) == pytest.approx(wanted, rel=1e-12)
    assert rotating.query_scale is None


def test_files_that_are_none_are_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.json"):
        ropewalk.Model.from_file(pathlib.Path("nowhere.json"))
    with pytest.raises(IsADirectoryError):
        ropewalk.Model.from_file(tmp_path)
    garbage = tmp_path / "config.json"
    garbage.write_bytes(b"\x00\xff{")
    with pytest.raises(ValueError, match="config.json"):
        ropewalk.Model.from_file(garbage)
    with pytest.raises(TypeError):
        ropewalk.Model.from_file(3.5)
    with open(garbage) as opened:
        with pytest.raises(TypeError):
            ropewalk.Model.from_file(opened.fileno())
        assert os.fstat(opened.fileno())
    strange = os.fsencode(tmp_path) + b"/\xff.json"
    with open(strange, "w") as file:
        json.dump(CONFIG, file)
    assert ropewalk.Model.from_file(strange).model_type == "llama"
    with open(strange, "w") as file:
        file.write("{")
    with pytest.raises(ValueError, match=r"\\xff.json"):
        ropewalk.Model.from_file(strange)
    with pytest.raises(ValueError, match="config"):
        ropewalk.Model.from_file({**CONFIG, "rope_theta": float("inf")})
    with pytest.raises(ValueError, match="llama-3.1-8b"):
        ropewalk.Model.from_preset("llama")
    assert "llama-3.1-8b" in ropewalk.presets()


def test_check_measures_and_keeps_its_bounds():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=16))
    rows = ropewalk.check(rope, q_heads=4, k_heads=2, tokens=4, positions_below=100, seed=3)
    assert {row["property"] for row in rows} >= {"length", "angle", "scores", "unrotate", "backward", "rerotate"}
    assert all(row["ok"] and row["worst"] <= row["bound"] for row in rows)
    with pytest.raises(ValueError, match="k_heads"):
        ropewalk.check(rope, q_heads=3, k_heads=2)
