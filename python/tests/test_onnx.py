"""ropewalk.onnx against the operators' own numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from ropewalk.onnx import microsoft_rotary_embedding, rotary_embedding

CASES = sorted((Path(__file__).parents[2] / "tests/conformance/onnx").glob("*.json"))


def array(case, name, dtype):
    return None if case[name] is None else np.array(case[name], dtype).reshape(case[f"{name}_shape"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_its_numbers_are_those_of_onnx(path):
    case = json.loads(path.read_text())
    caches = [array(case, name, np.float32) for name in ("cos_cache", "sin_cache")]
    result = rotary_embedding(array(case, "input", np.float32), *caches, array(case, "position_ids", np.int64),
                              **case["attributes"])
    np.testing.assert_allclose(result, np.array(case["output"]).reshape(case["output_shape"]), atol=1e-6)


def test_all_cases_are_there():
    assert len(CASES) == 11


def run(domain, inputs, names, **attributes):
    """By onnxruntime, a model of one node."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    types = {"float32": onnx.TensorProto.FLOAT, "float16": onnx.TensorProto.FLOAT16, "int64": onnx.TensorProto.INT64}
    infos = [onnx.helper.make_tensor_value_info(name, types[str(x.dtype)], x.shape) for name, x in zip(names, inputs)]
    output = onnx.helper.make_tensor_value_info("y", types[str(inputs[0].dtype)], inputs[0].shape)
    node = onnx.helper.make_node("RotaryEmbedding", names, ["y"], domain=domain, **attributes)
    opsets = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", infos, [output]), opset_imports=opsets,
                                   ir_version=10)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs)))[0]


def caches(rows, pairs, dtype):
    angles = np.arange(rows)[:, None] * 100.0 ** (-np.arange(pairs) / pairs)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape, heads, rotary", [((2, 3, 5, 16), 0, 0), ((2, 5, 48), 3, 0), ((2, 3, 5, 16), 3, 8),
                                                  ((2, 5, 48), 3, 8)])
def test_its_numbers_are_those_of_onnxruntime(interleaved, dtype, shape, heads, rotary, random):
    x = random.standard_normal(shape).astype(dtype)
    cos, sin = caches(20, (rotary or 16) // 2, dtype)
    ids = random.integers(0, 20, (2, 5))
    tolerance = {"atol": 2e-6 if dtype == "float32" else 4e-3}
    attributes = {"interleaved": interleaved, "num_heads": heads, "rotary_embedding_dim": rotary}
    names = ["x", "cos_cache", "sin_cache", "position_ids"]
    np.testing.assert_allclose(rotary_embedding(x, cos, sin, ids, **attributes),
                               run("", [x, cos, sin, ids], names, **attributes), **tolerance)
    rows = cos[ids], sin[ids]
    np.testing.assert_allclose(rotary_embedding(x, *rows, **attributes),
                               run("", [x, *rows], names[:3], **attributes), **tolerance)
    names = ["x", "position_ids", "cos_cache", "sin_cache"]
    for positions in (ids, np.array([7])):
        ours = microsoft_rotary_embedding(x, positions, cos, sin, **attributes)
        theirs = run("com.microsoft", [x, positions, cos, sin], names, **attributes)
        np.testing.assert_allclose(ours, theirs, **tolerance)
    # What it takes and does not use.
    np.testing.assert_array_equal(microsoft_rotary_embedding(x, positions, cos, sin, scale=2.0, **attributes), ours)
    np.testing.assert_allclose(run("com.microsoft", [x, positions, cos, sin], names, scale=2.0, **attributes), theirs)


def test_shapes_that_the_operators_do_not_allow(random):
    x = random.standard_normal((1, 2, 3, 8)).astype("float32")
    cos, sin = caches(4, 4, "float32")
    with pytest.raises(ValueError, match="positions\\[2\\]"):
        rotary_embedding(x, cos, sin, np.array([[0, 1, 4]]))
    with pytest.raises(ValueError, match="cos_cache has 2 dimensions, want 3"):
        rotary_embedding(x, cos, sin)
    with pytest.raises(ValueError, match="num_heads is 0"):
        rotary_embedding(x[0], cos, sin, np.array([[0, 1]]))
    with pytest.raises(ValueError, match="not a multiple of num_heads 3"):
        rotary_embedding(x[0], cos, sin, np.array([[0, 1]]), num_heads=3)
    with pytest.raises(ValueError, match="input has 2 dimensions"):
        rotary_embedding(x[0, 0], cos, sin, np.array([[0, 1]]))
    with pytest.raises(ValueError, match="interleaved is 2"):
        rotary_embedding(x, cos, sin, np.array([[0, 1, 2]]), interleaved=2)
    ids, wide = np.array([[0, 1, 2]]), (cos.repeat(2, 1), sin.repeat(2, 1))
    for error, message, call in (
            (ValueError, "want both as wide as half of 8", lambda: rotary_embedding(x, *wide, ids)),
            (ValueError, "position_ids have the shape", lambda: rotary_embedding(x, cos, sin, ids[0])),
            (ValueError, "position_ids have the shape", lambda: rotary_embedding(x.repeat(2, 0), cos, sin, ids)),
            (ValueError, "num_heads is 3, the input has 2", lambda: rotary_embedding(x, cos, sin, ids, num_heads=3)),
            (ValueError, "want a row for each token", lambda: rotary_embedding(x, cos[None], sin[None])),
            (ValueError, "interleaved is True", lambda: rotary_embedding(x, cos, sin, ids, interleaved=True)),
            (TypeError, "cos_cache is of float64, X of float32",
             lambda: rotary_embedding(x, cos * np.ones(1), sin, ids)),
            (TypeError, "position_ids are of float64", lambda: rotary_embedding(x, cos, sin, ids * 1.0)),
            (TypeError, "X is a list", lambda: rotary_embedding(x.tolist(), cos, sin, ids)),
            (ValueError, "cos_cache has 3 dim", lambda: microsoft_rotary_embedding(x, ids, cos[None], sin[None])),
            (ValueError, "is_packed_batching is 2",
             lambda: microsoft_rotary_embedding(x, ids, cos, sin, is_packed_batching=2)),
            (ValueError, "num_heads is 0 beside",
             lambda: microsoft_rotary_embedding(x, ids, cos, sin, rotary_embedding_dim=8)),
            (ValueError, "num_heads is 0 beside",
             lambda: microsoft_rotary_embedding(x[0], ids, cos, sin, rotary_embedding_dim=4))):
        with pytest.raises(error, match=message):
            call()
