"""Rotation inside JAX: under jit, grad and vmap, on the CPU's memory.

    q, k = ropewalk.jax.rotate(q, k, positions, rope)

The rotation is a callback (jax.pure_callback) with a derivative of its own, the transposed rotation.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import jax
import numpy as np

from . import Rope, _arrays, backward
from . import rotate as _rotate

__all__ = ["rotate"]

_DTYPES = "float32", "bfloat16", "float16", "float64"


def _call(function, rope, layout, positions, *tensors):
    """The tensors turned on the host; a tuple."""
    def on_host(positions, *tensors):
        positions, *tensors = (np.asarray(x) for x in (positions, *tensors))
        x, k = tensors if len(tensors) == 2 else (*tensors, None)
        result = function(rope, x, positions, k=k, layout=layout)
        return result if k is not None else (result,)
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in tensors)
    return jax.pure_callback(on_host, shapes, positions, *tensors, vmap_method="sequential")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _turned(rope, layout, positions, *tensors):
    return _call(_rotate, rope, layout, positions, *tensors)


def _forward(rope, layout, positions, *tensors):
    return _turned(rope, layout, positions, *tensors), positions


def _backward(rope, layout, positions, grads):
    # Positions have no derivative here; of integers JAX wants a zero of its own type.
    is_real = jax.numpy.issubdtype(jax.numpy.result_type(positions), jax.numpy.floating)
    none = jax.numpy.zeros_like(positions) if is_real else np.zeros(np.shape(positions), jax.dtypes.float0)
    return none, *_call(backward, rope, layout, positions, *grads)


_turned.defvjp(_forward, _backward)


def _would_hang() -> bool:
    """jax-ml/jax, issue 24255: what a callback waits for is to be done by the thread that it is on."""
    return len(os.sched_getaffinity(0)) == 1 and jax.config.read("jax_cpu_enable_async_dispatch")


def _ids(positions):
    """Positions as JAX has them, which must be all that they were."""
    if not isinstance(positions, jax.Array):
        given = np.asarray(positions)
        positions = given.astype(jax.dtypes.canonicalize_dtype(given.dtype)) if given.dtype.kind in "iuf" else given
        if not np.array_equal(positions, given):
            raise ValueError(f"positions do not fit into {positions.dtype}, which JAX makes of them: "
                             "set jax_enable_x64")
    if positions.dtype not in (np.int32, np.int64, np.float32, np.float64):
        raise TypeError(f"positions are of {positions.dtype}, want int32, int64, float32 or float64")
    if positions.ndim == 0 and positions.dtype.kind == "f":
        raise TypeError("positions is a real number: want an integer, or an array of ids")
    return jax.numpy.asarray(positions)


def rotate(q: jax.Array, k: jax.Array | None, positions: Any, rope: Rope, *, layout: str = "bthd") -> Any:
    """q and k rotated at their positions; q alone if k is None.

    q, k: [batch, tokens, heads, head_dim] in the order that layout says.
    positions: an integer, where the first token stands, or ids [tokens], [batch, tokens] or
        [axes, batch, tokens]; integers of 32 bits unless jax_enable_x64 is set. They have no gradient.

    The derivative is first order, in reverse mode. Raises ValueError and TypeError for shapes and dtypes. On one
    CPU, JAX waits for itself in a callback of large arrays unless its asynchronous dispatch is off, which has to be
    said before it computes anything: RuntimeError says how.
    """
    if _would_hang():
        raise RuntimeError("on one CPU JAX hangs in callbacks of large arrays: "
                           "call jax.config.update('jax_cpu_enable_async_dispatch', False) before anything else")
    if not isinstance(rope, Rope):
        raise TypeError(f"rope is a {type(rope).__name__}, want ropewalk.Rope")
    tensors = tuple(map(jax.numpy.asarray, (q,) if k is None else (q, k)))
    positions = _ids(positions)
    named = dict(zip(("x",) if k is None else ("q", "k"), tensors))
    for name, x in named.items():
        if x.dtype.name not in _DTYPES:
            raise TypeError(f"{name} has elements of {x.dtype.name}, want float32, bfloat16, float16 or float64")
    _arrays.check_shapes(rope, layout, {name: x.shape for name, x in named.items()}, positions.shape)
    result = _turned(rope, layout, positions, *tensors)
    return result[0] if k is None else result
