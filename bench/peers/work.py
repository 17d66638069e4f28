"""What is rotated: shapes, tensors, a table of cos and sin; and the formula that outputs are held against."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

BASE = 500000.0
SEED = 1
# Tokens stand at the last positions of a context of this length: a decoded token is its last one.
CONTEXT = 4096
SHAPES = ((1, 32, 128), (512, 32, 128), (4096, 32, 128), (4096, 8, 128), (4096, 1, 64))
PAIRINGS = ("halves", "adjacent")
# What an output may be off by, relative to the length of its pair: at small positions, where the angles
# are as good as float32 makes them, and within CONTEXT, where float32 has lost some digits. Peers that
# take 16-bit cos and sin round four times on the way. A wrong pairing or sign is off by about 1.
SMALL = {"f32": 1e-5, "f16": 3e-3, "bf16": 2.5e-2}
WITHIN = {"f32": 2e-3, "f16": 5e-3, "bf16": 2.5e-2}


@dataclass(frozen=True)
class Work:
    dtype: str  # f32, f16, bf16
    pairing: str
    tokens: int
    heads: int
    head_dim: int
    start: int  # token t stands at start + t

    @property
    def shape(self):
        return (self.tokens, self.heads, self.head_dim)

    @property
    def bytes(self):
        return self.tokens * self.heads * self.head_dim * (4 if self.dtype == "f32" else 2)

    def at(self, start, tokens=1):
        return replace(self, start=start, tokens=tokens)


def works(shapes=SHAPES, dtypes=("f32", "f16", "bf16")):
    """All that is measured, in the order of the report."""
    for shape, dtype, pairing in itertools.product(shapes, dtypes, PAIRINGS):
        yield Work(dtype, pairing, *shape, start=CONTEXT - shape[0])


def numpy_dtype(dtype):
    if dtype == "bf16":
        import ml_dtypes  # numpy has none of its own
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({"f32": np.float32, "f16": np.float16}[dtype])


def memory(shape, dtype, output=False):
    """A tensor that begins a page; an output begins half a page later.

    An output that lies a multiple of a page behind its input, and a little more, makes loads wait for
    stores that they have nothing to do with. Which peer is hit by that is an accident of malloc.
    """
    page = 4096
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.empty(size + 2 * page, np.uint8)
    room[:] = 0  # every page is there before it is timed
    begin = -room.ctypes.data % page + (page // 2 if output else 0)
    return room[begin:begin + size].view(dtype).reshape(shape)


def tensor(work):
    """Random normal elements [tokens, heads, head_dim]; the same for every peer."""
    x = memory(work.shape, numpy_dtype(work.dtype))
    x[...] = np.random.default_rng(SEED).standard_normal(work.shape, np.float32)
    return x


def positions(work):
    return np.arange(work.start, work.start + work.tokens, dtype=np.int32)


def table(work):
    """cos and sin [tokens, pairs] as they are usually made for a peer: everything in float32."""
    exponents = np.arange(0, work.head_dim, 2, dtype=np.float32) / np.float32(work.head_dim)
    frequencies = (1.0 / np.float32(BASE) ** exponents).astype(np.float32)
    angles = np.outer(positions(work).astype(np.float32), frequencies)
    return np.cos(angles), np.sin(angles)


def pairs(pairing, x):
    """The first and the second elements of all pairs."""
    if pairing == "adjacent":
        return x[..., 0::2], x[..., 1::2]
    return x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]


def error(work, x, y):
    """How far y is off from x rotated exactly: the worst element, relative to the length of its pair.

    In long double, of which x86 has 64 bits of mantissa: then p w is good to 1e-13 at a million.
    """
    wide = np.longdouble
    exponents = -np.arange(0, work.head_dim, 2).astype(wide) / work.head_dim
    angles = np.outer(positions(work).astype(wide), wide(BASE) ** exponents)[:, None, :]
    cos, sin = np.cos(angles), np.sin(angles)
    (a, b), (got_a, got_b) = (pairs(work.pairing, each.astype(wide)) for each in (x, y))
    off = np.maximum(np.abs(a * cos - b * sin - got_a), np.abs(a * sin + b * cos - got_b))
    worst = (off / np.hypot(a, b)).max()
    return float(worst) if np.isfinite(worst) else float("inf")


def error_within(work, x, y, rows=4):
    """The same of the first and last rows of a big tensor."""
    if work.tokens <= 2 * rows:
        return error(work, x, y)
    first, last = work.at(work.start, rows), work.at(work.start + work.tokens - rows, rows)
    return max(error(first, x[:rows], y[:rows]), error(last, x[-rows:], y[-rows:]))
