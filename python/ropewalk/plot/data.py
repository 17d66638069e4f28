"""What the pictures show, as NumPy arrays. Nothing here draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import Angles, Rope, Spec

# 2π in units of 2^-_BITS. The first 256 bits of π's fraction, as in Bailey, Borwein and Plouffe (1997).
_BITS = 255
_TWO_PI = (3 << 256) + 0x243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89


class Scores(NamedTuple):
    """Scores by distance, float64 [distances] each; see scores()."""

    distances: np.ndarray
    ones: np.ndarray
    alike: np.ndarray
    independent: np.ndarray
    given: np.ndarray | None


class Rotation(NamedTuple):
    """positions [positions]; cos and sin [positions, pairs]; all float64."""

    positions: np.ndarray
    cos: np.ndarray
    sin: np.ndarray


class Errors(NamedTuple):
    """Errors of the angle in radians, the worst over pairs, float64 [positions] each; see errors()."""

    positions: np.ndarray
    ropewalk: np.ndarray
    float32_angles: np.ndarray
    float16_table: np.ndarray
    bfloat16_table: np.ndarray


def frequencies(rope: Rope) -> np.ndarray:
    """ω_i, radians per position, float64 [pairs].

    Unscaled, base^(-2i / rotary_dim): Su et al., RoFormer, arXiv 2104.09864, section 3.2.2.
    """
    return np.array(rope.frequencies, np.float64)


def wavelengths(rope: Rope) -> np.ndarray:
    """2π / |ω_i|, positions per turn, float64 [pairs]; infinite for a pair that does not turn."""
    with np.errstate(divide="ignore"):
        return 2 * np.pi / np.abs(frequencies(rope))


def _direction(spec: Spec) -> int:
    return -1 if spec.clockwise else 1


def _pairs(spec: Spec, x: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second elements of the pairs of x, [vectors, pairs] each."""
    x = np.atleast_2d(np.asarray(x, np.float64))
    if x.ndim != 2 or x.shape[1] not in (spec.head_dim, spec.rotary_dim):
        raise ValueError(f"{name} has shape {list(x.shape)}, want [head_dim] or [vectors, head_dim], "
                         f"with head_dim {spec.head_dim}, or {spec.rotary_dim} for the rotated window alone")
    if not np.all(np.isfinite(x)):
        raise ValueError(f"{name} has elements that are not finite")
    if x.shape[1] != spec.rotary_dim:
        x = x[:, spec.rotary_offset:spec.rotary_offset + spec.rotary_dim]
    parts = x.reshape(len(x), spec.window_parts, -1)
    half = parts.shape[2] // 2
    if spec.pairing == "adjacent":
        first, second = parts[:, :, 0::2], parts[:, :, 1::2]
    else:
        first, second = parts[:, :, :half], parts[:, :, half:]
    return first.reshape(len(x), -1), second.reshape(len(x), -1)


def scores(rope: Rope, distances: Any, *, samples: int = 256, seed: int = 1, q: Any = None,
           k: Any = None) -> Scores:
    """The score of a query and of a key that stands so many positions before it, as a part of |q| |k|.

    With Δ the distance, of the rotated window alone,

        q · R(-Δ) k = m² Σ_i (q_i · k_i) cos(Δ ω_i) + (q_i x k_i) sin(Δ ω_i)

    where q_i and k_i are the pairs, as 2-D vectors (Su et al., RoFormer, arXiv 2104.09864, eq. 16 and
    section 3.4.3, which sums the same with k_i* as complex numbers). Returned is its mean over vectors,
    divided by the mean of |q| |k|:

    ones: all elements of q and k are 1: m²/n Σ_i cos(Δ ω_i), for n pairs.
    alike: the mean over `samples` random vectors of independent, normal elements of variance 1, k being q.
        What it tends to for many samples is `ones`.
    independent: as alike, but k is another random vector. It tends to 0 at any distance.
    given: of q and k, [head_dim] or [vectors, head_dim], or as wide as rotary_dim; None without them. k
        without q is an error, and q without k is as k = q.

    distances: integers or real numbers, [distances]. Positions of several axes all differ by Δ.
    Raises ValueError for shapes that do not fit and vectors that are not finite or all zero.
    """
    spec, omega = rope.spec, frequencies(rope)
    if samples < 1:
        raise ValueError(f"samples is {samples}, want 1 or more")
    if q is None and k is not None:
        raise ValueError("k is given without q")
    distances = np.asarray(distances, np.float64)
    turns = distances[:, None] * omega * _direction(spec)
    cos, sin = np.cos(turns), np.sin(turns)

    def mean(x, y):
        (x0, x1), (y0, y1) = _pairs(spec, x, "q"), _pairs(spec, y, "k")
        if len(x0) != len(y0):
            raise ValueError(f"q has {len(x0)} vectors and k {len(y0)}: they must be as many")
        lengths = np.sqrt(np.sum(x0**2 + x1**2, axis=1) * np.sum(y0**2 + y1**2, axis=1))
        if not np.mean(lengths) > 0:
            raise ValueError("q or k is zero in the rotated window: there is no score to compare with")
        # The mean over vectors is taken first, since the score is linear in these.
        dot, cross = np.mean(x0 * y0 + x1 * y1, axis=0), np.mean(x0 * y1 - x1 * y0, axis=0)
        return rope.attention_factor**2 * (cos @ dot + sin @ cross) / np.mean(lengths)

    random = np.random.default_rng(seed)
    one, other = random.standard_normal((2, samples, spec.rotary_dim))
    ones = np.ones(spec.rotary_dim)
    given = None if q is None else mean(q, q if k is None else k)
    return Scores(distances, mean(ones, ones), mean(one, one), mean(one, other), given)


def rotation(rope: Rope, positions: Any, pairs: int = 4) -> Rotation:
    """Where the rotation takes (1, 0) in each of the first pairs: (cos(p ω_i), sin(p ω_i)), without m.

    positions: integers or real numbers, [positions]. With `clockwise` the sine is negative.
    Raises ValueError if there are not so many pairs.
    """
    omega = frequencies(rope)
    if not 1 <= pairs <= len(omega):
        raise ValueError(f"pairs is {pairs}, want 1 to {len(omega)}")
    positions = np.asarray(positions, np.float64)
    turns = positions[:, None] * omega[:pairs] * _direction(rope.spec)
    return Rotation(positions, np.cos(turns), np.sin(turns))


def heatmap(rope: Rope, positions: Any) -> np.ndarray:
    """cos(p ω_i), float64 [pairs, positions]."""
    return np.cos(frequencies(rope)[:, None] * np.asarray(positions, np.float64))


def exact_angles(positions: Any, omega: Any) -> np.ndarray:
    """p ω_i modulo 2π, in [0, 2π], float64 [positions, pairs], correctly reduced.

    positions: integers of any size. omega: finite float64 [pairs], taken as the numbers that they are.
    In integers: a double is an integer times a power of two, so that the product is exact, and 2π is
    known to 2^-255; for |p ω_i| < 2^64 what is left is far below a double's rounding.
    """
    angles = np.empty((len(positions), len(omega)))
    for i, frequency in enumerate(omega):
        numerator, denominator = float(frequency).as_integer_ratio()
        shift = _BITS + 1 - denominator.bit_length()
        for row, position in enumerate(positions):
            product = int(position) * numerator
            scaled = product << shift if shift >= 0 else product >> -shift
            angles[row, i] = (scaled % _TWO_PI) / (1 << _BITS)
    return angles


def _to_float16(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float64)


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    """To 8 significant bits, to nearest even. Of numbers that are not subnormal."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(mantissa * 2**8), exponent - 8)


def errors(rope: Rope, positions: Any) -> Errors:
    """How far the angle that is used is from p ω_i, modulo 2π, for the pair where it is worst; in radians.

    ω_i is as the rope holds it, in float64. The angle used is atan2(sin, cos) of

    ropewalk: ropewalk.Angles of float32.
    float32_angles: p and ω_i rounded to float32, and their product too; cos and sin are exact then.
    float16_table, bfloat16_table: the exact cos and sin, rounded to nearest.

    positions: integers, [positions]. Raises ValueError if they are not integers, or beyond ±2^62.
    """
    positions = np.asarray(positions)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise ValueError(f"positions are {positions.dtype} of shape {list(positions.shape)}, want integers "
                         "of one dimension")
    if np.any(np.abs(positions.astype(np.float64)) > 2.0**62):
        raise ValueError("positions are beyond 2^62")
    positions = positions.astype(np.int64)
    omega = frequencies(rope)
    exact = exact_angles(positions, omega)
    cos, sin = np.cos(exact), np.sin(exact)

    def worst(used):
        off = used - exact
        return np.max(np.abs(off - 2 * np.pi * np.rint(off / (2 * np.pi))), axis=1)

    ids = np.broadcast_to(positions, (rope.axes, 1, len(positions))) if rope.axes > 1 else positions
    angles = Angles(rope, ids)
    rounded = positions.astype(np.float32)[:, None] * omega.astype(np.float32)
    return Errors(
        positions,
        worst(np.arctan2(_direction(rope.spec) * angles.sin[0], angles.cos[0])),
        worst(exact_angles([1], rounded.ravel()).reshape(rounded.shape)),
        worst(np.arctan2(_to_float16(sin), _to_float16(cos))),
        worst(np.arctan2(_to_bfloat16(sin), _to_bfloat16(cos))))
