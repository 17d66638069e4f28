"""Rotary position embeddings (RoPE), exact at any position.

    rope = ropewalk.Rope(ropewalk.Spec(head_dim=128, base=500000.0))
    q, k = ropewalk.rotate(rope, q, start, k=k)        # new arrays
    ropewalk.rotate_(rope, q, start, k=k)              # in place

Arrays are NumPy's, PyTorch's, JAX's, or of anything that has DLPack or the buffer protocol. They are not
copied, and may have any strides; float32, bfloat16, float16 and float64. Results are of the type, dtype and
order of dimensions of what was given; of subclasses of numpy.ndarray they are plain arrays.

Layouts, by the order of the dimensions: "bthd" is [batch, tokens, heads, head_dim], "bhtd"
[batch, heads, tokens, head_dim]; "thd" and "htd" have no batch.

Errors: ValueError for values, shapes and overlaps, TypeError for what is no array or no dtype of a tensor,
BufferError for memory that is read-only or not the CPU's, NotImplementedError for what the library does
not do. Nothing is written then. Calls release the GIL.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _arrays, _typing
from ._ropewalk import (
    Grid, LayerKind, Model, Positions, QueryScale, Run, SequenceRules, Spec, TokenPositions, XPos, axial_spec,
    centred_positions, cosmos_spec, depends_on_length, dinov3_spec, flux2_positions, flux_positions,
    hunyuan_token_positions, image_positions, pixel_spec, presets, qwen_image_positions, sequence_rules,
    spanned_positions, stepped_image_positions, stepped_video_positions, token_positions, video_positions,
    vision_forms, vision_spec)
from ._ropewalk import _Angles, _Rope, _check, _rerotate, _run, _run_angles, _set_threads, _threads, _version

__all__ = [
    "Angles", "Grid", "LayerKind", "Model", "Positions", "QueryScale", "Rope", "Run", "SequenceRules", "Spec",
    "TokenPositions", "XPos", "__version__", "axial_spec", "backward", "backward_", "centred_positions", "check",
    "cosmos_spec", "depends_on_length", "dinov3_spec", "flux2_positions", "flux_positions",
    "hunyuan_token_positions", "image_positions", "pixel_spec", "presets", "qwen_image_positions", "rerotate",
    "rerotate_", "rotate", "rotate_", "sequence_rules", "set_threads", "spanned_positions",
    "stepped_image_positions", "stepped_video_positions", "threads", "token_positions", "unrotate", "unrotate_",
    "video_positions", "vision_forms", "vision_spec",
]

__version__ = _version
_ROTATE, _UNROTATE, _BACKWARD = 0, 1, 2


class Rope(_Rope):
    """A plan: the frequencies of a Spec, ready to rotate. Immutable, and shared by threads.

    length: how many positions a sequence has, for the scaling rules that depend on it (dynamic, longrope).

    frequencies: radians per position, one per pair, float64. attention_factor: on cos and sin. axes: how many
    coordinates a position has. spec and length: what it was made of.
    """

    def __init__(self, spec: Spec, length: int | None = None):
        if not isinstance(spec, Spec):
            raise TypeError(f"spec is a {type(spec).__name__}, want ropewalk.Spec")
        super().__init__(spec, length)
        self._length = length
        fields = spec.to_dict()
        for key in ("base", "scaling", "frequency_rounding"):
            fields.pop(key, None)
        fields |= {"frequencies": self.frequencies.tolist(), "attention_factor": self.attention_factor}
        # What this plan is, whatever it was made of, as text: for graphs that are saved.
        self._plan = json.dumps(fields)

    @property
    def length(self) -> int | None:
        """As it was given."""
        return self._length

    def __repr__(self) -> str:
        return f"Rope({self.spec!r}{'' if self.length is None else f', {self.length}'})"

    def __reduce__(self) -> Any:
        return Rope, (self.spec, self.length)


class Angles(_Angles):
    """Rows of cos and sin of a batch of tokens, made once and used for all layers, for q and for k.

    positions: as in rotate(); where they do not say how many tokens there are, Positions.start(p, tokens).
    dtype: "f32" for tensors of float32, bfloat16 and float16, "f64" for float64.
    factor: a constant on cos and sin. token_factors: one for each token, [tokens] or [batch, tokens]: a query's
        temperature (LayerKind.query_scale), log-n. All > 0.
    as_seen_in: "f32", "bf16" or "f16": the angles as a checkpoint saw them, position x frequency, cos and sin in
        float32, and those rounded to this type. For parity with such a model; outside the promise of accuracy.
    xpos: an XPos.

    batch (1 if the rows serve every sequence), tokens, pairs, dtype: of the rows.
    """

    def __init__(self, rope: Rope, positions: Any, *, dtype: str = "f32", factor: float = 1.0,
                 token_factors: Any = None, as_seen_in: str | None = None, xpos: XPos | None = None):
        super().__init__()
        self.assign(rope, positions, dtype=dtype, factor=factor, token_factors=token_factors, as_seen_in=as_seen_in,
                    xpos=xpos)

    def assign(self, rope: Rope, positions: Any, *, dtype: str = "f32", factor: float = 1.0,
               token_factors: Any = None, as_seen_in: str | None = None, xpos: XPos | None = None) -> None:
        """New rows in the same memory. If it raises, the old rows stay."""
        _want_ropes(rope=rope)
        if _arrays.is_torch(token_factors):
            token_factors = token_factors.detach().double()
        factors = np.asarray([] if token_factors is None else token_factors, np.float64)
        if factors.ndim not in (1, 2):
            raise ValueError(f"token_factors has {factors.ndim} dimensions, want [tokens] or [batch, tokens]")
        self._assign(rope, _arrays.positions(positions), dtype, factor, factors.ravel().tolist(),
                     factors.shape[-1] if factors.ndim == 2 else None, as_seen_in, xpos)

    def __repr__(self) -> str:
        return f"<Angles of {self.batch} x {self.tokens} tokens, {self.pairs} pairs, {self.dtype}>"

    @classmethod
    def of_rows(cls, spec: Spec, cos: Any, sin: Any, positions: Any = None, *, dtype: str = "f32") -> Angles:
        """Of given cos and sin, which need not lie on the unit circle: a model's own buffers, ONNX's caches.

        cos, sin: [rows, width] or [batch, rows, width], of any dtype of a tensor. Without positions a row for
        each token; with integer positions the row of that number. width: rotary_dim / 2, or rotary_dim where
        each is there twice. Of spec, the dimensions and pairings are used.
        """
        angles = cls.__new__(cls)
        _Angles.__init__(angles)
        if not isinstance(spec, Spec):
            raise TypeError(f"spec is a {type(spec).__name__}, want ropewalk.Spec")
        angles._assign_rows(spec, _arrays.dense(cos, "cos"), _arrays.dense(sin, "sin"),
                            None if positions is None else _arrays.positions(positions), dtype)
        return angles

    @property
    def cos(self) -> np.ndarray:
        """[batch, tokens, pairs], float64, all factors included: what rotate() multiplies by."""
        return self._read_compact()[0]

    @property
    def sin(self) -> np.ndarray:
        """As cos."""
        return self._read_compact()[1]

    def read_compact(self) -> tuple[np.ndarray, np.ndarray]:
        """cos and sin, [batch, tokens, pairs], float64: for kernels of one's own."""
        return self._read_compact()

    def read_duplicated(self) -> tuple[np.ndarray, np.ndarray]:
        """cos and sin, [batch, tokens, rotary_dim], each value twice, as the elements of a head are paired."""
        return self._read_duplicated()

    def read_complex(self) -> np.ndarray:
        """cos + i sin, [batch, tokens, pairs], complex128."""
        cos, sin = self._read_compact()
        return cos + 1j * sin


def _run_any(operation: int, source: Any, x: Any, positions: Any, k: Any, outs: Any, layout: str) -> tuple[Any, Any]:
    """outs: None in place, else where the results go, or (None, None) for new arrays. Returns what was written to."""
    one = k is None
    given_x = _arrays.taken(x, "x" if one else "q")
    given_k = None if one else _arrays.taken(k, "k")
    if outs is None:
        out_x = out_k = to_x = to_k = None
    else:
        out_x, out_k = outs
        out_x = _arrays.empty_like(x, "x") if out_x is None else out_x
        to_x = _arrays.taken(out_x, "out" if one else "out_q")
        to_k = None
        if not one:
            out_k = _arrays.empty_like(k, "k") if out_k is None else out_k
            to_k = _arrays.taken(out_k, "out_k")
    _want_layout(layout)
    if isinstance(source, Rope):
        _run(operation, source, _arrays.positions(positions), given_x, given_k, to_x, to_k, layout)
    elif not isinstance(source, Angles):
        raise TypeError(f"the first argument is a {type(source).__name__}, want ropewalk.Rope or ropewalk.Angles")
    elif positions is not None:
        raise TypeError("positions are given beside Angles, which were made of positions: leave them out")
    else:
        _run_angles(operation, source, given_x, given_k, to_x, to_k, layout)
    if outs is None:
        _arrays.written(x, k)
    else:
        _arrays.written(*outs)
    return out_x, out_k


def _functional(operation: int, source: Any, x: Any, positions: Any, k: Any, out: Any, layout: str) -> Any:
    outs: Any
    if k is None:
        outs, names = (out, None), ("out", "")
    else:
        if out is not None and (not isinstance(out, (tuple, list)) or len(out) != 2):
            raise TypeError("out is not a pair: with k it is (out_q, out_k)")
        outs = (None, None) if out is None else out
        names = ("out_q", "out_k")
    for each, name in zip(outs, names):
        _arrays.check_writable(each, name)
    made_x, made_k = _run_any(operation, source, x, positions, k, outs, layout)
    made_x = _arrays.as_given(x, made_x) if outs[0] is None else made_x
    if k is None:
        return made_x
    return made_x, _arrays.as_given(k, made_k) if outs[1] is None else made_k


def _in_place(operation: int, source: Any, x: Any, positions: Any, k: Any, layout: str) -> Any:
    _arrays.check_writable(x, "x" if k is None else "q")
    _arrays.check_writable(k, "k")
    _run_any(operation, source, x, positions, k, None, layout)
    return x if k is None else (x, k)


@_typing.functional
def rotate(rope_or_angles: Rope | Angles, x: Any, positions: Any = None, *, k: Any = None, out: Any = None,
           layout: str = "bthd") -> Any:
    """x rotated at its positions; with k, the pair (q, k), whose batch and tokens must be equal.

    x: [batch, tokens, heads, head_dim] in the order that layout says; as wide as the rope's head_dim, or as
        its rotary_dim, being then the window alone.
    positions: with a Rope. An integer: token t of every sequence stands there + t. An array of int32, int64,
        float32 or float64: ids [tokens], [batch, tokens] or [axes, batch, tokens]; without the axes all coordinates
        are the same, as text has them, and axes beyond the rope's are not read. Or Positions.
    out: where the result goes, and what is returned: of the shape and dtype of x; with k, a pair. It
        must not share memory with anything that is read, but may be x itself.

    Raises ValueError, TypeError, BufferError or NotImplementedError; nothing is written then.
    Rotation: Su et al., RoFormer, arXiv 2104.09864, equation 34; pair i of width d turns by p x base^(-2i/d).
    """
    return _functional(_ROTATE, rope_or_angles, x, positions, k, out, layout)


@_typing.in_place
def rotate_(rope_or_angles: Rope | Angles, x: Any, positions: Any = None, *, k: Any = None,
            layout: str = "bthd") -> Any:
    """rotate() in place; returns x, or (x, k)."""
    return _in_place(_ROTATE, rope_or_angles, x, positions, k, layout)


@_typing.functional
def unrotate(rope_or_angles: Rope | Angles, x: Any, positions: Any = None, *, k: Any = None, out: Any = None,
             layout: str = "bthd") -> Any:
    """The inverse of rotate(), attention factor included: unrotate(rotate(x)) is x but for rounding."""
    return _functional(_UNROTATE, rope_or_angles, x, positions, k, out, layout)


@_typing.in_place
def unrotate_(rope_or_angles: Rope | Angles, x: Any, positions: Any = None, *, k: Any = None,
              layout: str = "bthd") -> Any:
    """unrotate() in place."""
    return _in_place(_UNROTATE, rope_or_angles, x, positions, k, layout)


@_typing.functional
def backward(rope_or_angles: Rope | Angles, x: Any, positions: Any = None, *, k: Any = None, out: Any = None,
             layout: str = "bthd") -> Any:
    """The gradient of rotate(): x is the gradient of its result, returned is that of its input.

    The transposed matrix: unrotate() times the square of the attention factor.
    """
    return _functional(_BACKWARD, rope_or_angles, x, positions, k, out, layout)


@_typing.in_place
def backward_(rope_or_angles: Rope | Angles, x: Any, positions: Any = None, *, k: Any = None,
              layout: str = "bthd") -> Any:
    """backward() in place."""
    return _in_place(_BACKWARD, rope_or_angles, x, positions, k, layout)


def rerotate(old_rope: Rope, new_rope: Rope, keys: _typing.X, from_: Any, to: Any, *, out: Any = None,
             layout: str = "bthd") -> _typing.X:
    """Keys that old_rope rotated at positions from_, as new_rope would have rotated them at `to`."""
    _want_ropes(old_rope=old_rope, new_rope=new_rope)
    _want_layout(layout)
    _arrays.check_writable(out, "out")
    taken = _arrays.taken(keys, "keys")
    target = _arrays.empty_like(keys, "keys") if out is None else out
    _rerotate(old_rope, new_rope, taken, _arrays.positions(from_), _arrays.positions(to),
              _arrays.taken(target, "out"), layout)
    _arrays.written(out)
    result: _typing.X = _arrays.as_given(keys, target) if out is None else target
    return result


def rerotate_(old_rope: Rope, new_rope: Rope, keys: _typing.X, from_: Any, to: Any, *,
              layout: str = "bthd") -> _typing.X:
    """rerotate() in place."""
    _want_ropes(old_rope=old_rope, new_rope=new_rope)
    _want_layout(layout)
    _arrays.check_writable(keys, "keys")
    taken = _arrays.taken(keys, "keys")
    _rerotate(old_rope, new_rope, taken, _arrays.positions(from_), _arrays.positions(to), None, layout)
    _arrays.written(keys)
    return keys


def _want_layout(layout: Any) -> None:
    if not isinstance(layout, str):
        raise TypeError(f"layout is {layout!r}, want 'bthd', 'bhtd', 'thd' or 'htd'")


def _want_ropes(**ropes: Any) -> None:
    for name, rope in ropes.items():
        if not isinstance(rope, Rope):
            raise TypeError(f"{name} is a {type(rope).__name__}, want ropewalk.Rope")


def check(rope: Rope, *, q_heads: int | None = None, k_heads: int | None = None, tokens: int | None = None,
          positions_below: int | None = None, seed: int = 1) -> list[dict[str, Any]]:
    """The properties of the rotation, measured on random q and k: rows of property, dtype, shift, worst, bound and ok.

    Tokens stand at random positions 0 .. positions_below (4096). None: as `ropewalk check` has it.
    """
    _want_ropes(rope=rope)
    return _check(rope, seed, q_heads, k_heads, tokens, positions_below)


def threads() -> int:
    """Into how many threads a call is split. At first, as many as the process may run on.

    They are the package's own, and not of an OpenMP runtime, of which PyTorch has its own: two of these in
    one process fight for the cores. Results do not depend on the number.
    """
    return _threads()


def set_threads(count: int) -> None:
    """Splits calls into so many threads from now on; 1 keeps each on the calling one."""
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or not 1 <= count <= 1024:
        raise ValueError(f"count is {count!r}, want an integer from 1 to 1024")
    _set_threads(int(count))
