"""The operator RotaryEmbedding of ONNX on NumPy arrays: what an export can be held against.

    rotary_embedding             of ai.onnx, from opset 23 on
    microsoft_rotary_embedding   of com.microsoft, as onnxruntime has it

Both are given cos and sin; they turn what ropewalk.Angles.of_rows() turns. Arguments stand in the
operators' order and have their names. See the operators' specifications in ONNX and in onnxruntime.
"""

from __future__ import annotations

import numpy as np

from . import Angles, Spec
from . import rotate as _rotate

__all__ = ["microsoft_rotary_embedding", "rotary_embedding"]


def _check_arrays(**given):
    """All of NumPy, the floats of one dtype."""
    for name, x in given.items():
        if not isinstance(x, np.ndarray):
            raise TypeError(f"{name} is a {type(x).__name__}, want an array of NumPy")
    (first, x), *others = given.items()
    for name, other in others:
        if other.dtype != x.dtype:
            raise TypeError(f"{name} is of {other.dtype}, {first} of {x.dtype}: they must be equal")


def _flag(name, value):
    if isinstance(value, bool) or value not in (0, 1):
        raise ValueError(f"{name} is {value!r}, want 0 or 1")


def _heads(x, num_heads, head_size):
    """[batch, heads, tokens, head_size] as it is, or [batch, tokens, hidden] by heads: the array, its layout."""
    if x.ndim == 4:
        if num_heads not in (0, x.shape[1]):
            raise ValueError(f"num_heads is {num_heads}, the input has {x.shape[1]} heads")
        return x, "bhtd"
    if x.ndim != 3:
        raise ValueError(f"input has {x.ndim} dimensions, want [batch, heads, tokens, head_size] or "
                         "[batch, tokens, hidden_size]")
    batch, tokens, hidden = x.shape
    if num_heads == 0 and head_size == 0:
        raise ValueError("num_heads is 0: an input of 3 dimensions does not say how many heads it has")
    if num_heads == 0:
        num_heads = hidden // head_size
    if num_heads < 1 or hidden % num_heads:
        raise ValueError(f"hidden_size {hidden} is not a multiple of num_heads {num_heads}")
    return x.reshape(batch, tokens, num_heads, hidden // num_heads), "bthd"


def _ids(position_ids, batch, tokens):
    ids = np.asarray(position_ids)
    if ids.dtype not in (np.int64, np.int32):
        raise TypeError(f"position_ids are of {ids.dtype}, want int64")
    if ids.shape != (batch, tokens):
        raise ValueError(f"position_ids have the shape {list(ids.shape)}, want [batch, tokens], [{batch}, {tokens}]")
    return ids


def _turned(x, cos, sin, positions, layout, interleaved, rotary_dim, scale=1.0):
    _flag("interleaved", interleaved)
    head_size = x.shape[-1]
    spec = Spec(head_dim=head_size, rotary_dim=rotary_dim or head_size,
                pairing="adjacent" if interleaved else "halves")
    if cos.shape != sin.shape or cos.shape[-1] != spec.rotary_dim // 2:
        raise ValueError(f"the caches have the shapes {list(cos.shape)} and {list(sin.shape)}, "
                         f"want both as wide as half of {spec.rotary_dim}")
    angles = Angles.of_rows(spec, cos, sin, positions, dtype="f64" if x.dtype == np.float64 else "f32")
    return _rotate(angles, x, layout=layout)


def rotary_embedding(X: np.ndarray, cos_cache: np.ndarray, sin_cache: np.ndarray,
                     position_ids: np.ndarray | None = None, *, interleaved: int = 0, num_heads: int = 0,
                     rotary_embedding_dim: int = 0) -> np.ndarray:
    """RotaryEmbedding of ai.onnx, opset 23.

    X: [batch, heads, tokens, head_size], or [batch, tokens, hidden_size] with num_heads.
    cos_cache, sin_cache: [positions, rotary / 2] with position_ids [batch, tokens]; else a row for each token,
        [batch, tokens, rotary / 2].
    rotary_embedding_dim: 0 for all of a head.

    Raises ValueError for shapes that the operator does not allow, and for an id outside the caches.
    """
    _check_arrays(X=X, cos_cache=cos_cache, sin_cache=sin_cache)
    x, layout = _heads(X, num_heads, 0)
    batch, tokens = x.shape[0], x.shape[2 if layout == "bhtd" else 1]
    caches = 3 if position_ids is None else 2
    if cos_cache.ndim != caches:
        raise ValueError(f"cos_cache has {cos_cache.ndim} dimensions, want {caches} "
                         f"{'without' if position_ids is None else 'with'} position_ids")
    if position_ids is None and cos_cache.shape[:2] != (batch, tokens):
        raise ValueError(f"cos_cache has the shape {list(cos_cache.shape)}, "
                         f"want a row for each token, [{batch}, {tokens}, ...]")
    ids = None if position_ids is None else _ids(position_ids, batch, tokens)
    return _turned(x, cos_cache, sin_cache, ids, layout, interleaved, rotary_embedding_dim).reshape(X.shape)


def microsoft_rotary_embedding(input: np.ndarray, position_ids: np.ndarray, cos_cache: np.ndarray,
                               sin_cache: np.ndarray, *, interleaved: int = 0, is_packed_batching: int = 0,
                               num_heads: int = 0, rotary_embedding_dim: int = 0, scale: float = 1.0) -> np.ndarray:
    """RotaryEmbedding of com.microsoft.

    input: [batch, heads, tokens, head_size], or [batch, tokens, hidden_size].
    position_ids: [batch, tokens], or [1], where the first token of every sequence stands.
    cos_cache, sin_cache: [positions, rotary / 2].
    num_heads, rotary_embedding_dim: for a part of a head, both; else they may be 0.
    is_packed_batching, scale: taken and, as onnxruntime's kernels for the CPU do, not used.
    """
    _check_arrays(input=input, cos_cache=cos_cache, sin_cache=sin_cache)
    _flag("is_packed_batching", is_packed_batching)
    if cos_cache.ndim != 2:
        raise ValueError(f"cos_cache has {cos_cache.ndim} dimensions, want [positions, rotary / 2]")
    if rotary_embedding_dim != 0 and num_heads == 0:
        raise ValueError("num_heads is 0 beside a rotary_embedding_dim: give both")
    x, layout = _heads(input, num_heads, 0 if rotary_embedding_dim else 2 * cos_cache.shape[-1])
    batch, tokens = x.shape[0], x.shape[2 if layout == "bhtd" else 1]
    ids = np.asarray(position_ids)
    if ids.shape == (1,):
        ids = np.broadcast_to(ids[0] + np.arange(tokens), (batch, tokens))
    ids = _ids(ids, batch, tokens)
    return _turned(x, cos_cache, sin_cache, ids, layout, interleaved, rotary_embedding_dim).reshape(input.shape)
