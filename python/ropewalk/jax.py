"""Rotation inside JAX: under jit, grad and vmap, on the CPU's memory.

    q, k = ropewalk.jax.rotate(q, k, positions, rope)

The rotation is a callback (jax.pure_callback) with a derivative of its own, the transposed rotation.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from . import Rope, backward
from . import rotate as _rotate

__all__ = ["rotate"]


def _call(function, rope, layout, positions, *tensors):
    """The tensors turned on the host; a tuple."""
    def on_host(positions, *tensors):
        positions, *tensors = (np.asarray(x) for x in (positions, *tensors))
        given = int(positions) if positions.ndim == 0 else positions
        x, k = tensors if len(tensors) == 2 else (*tensors, None)
        result = function(rope, x, given, k=k, layout=layout)
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
    is_real = jax.numpy.issubdtype(positions.dtype, jax.numpy.floating)
    none = jax.numpy.zeros_like(positions) if is_real else np.zeros(positions.shape, jax.dtypes.float0)
    return none, *_call(backward, rope, layout, positions, *grads)


_turned.defvjp(_forward, _backward)


def rotate(q: jax.Array, k: jax.Array | None, positions: Any, rope: Rope, *, layout: str = "bthd") -> Any:
    """q and k rotated at their positions; q alone if k is None.

    q, k: [batch, tokens, heads, head_dim] in the order that layout says.
    positions: an integer, where the first token stands, or ids [tokens], [batch, tokens] or
        [axes, batch, tokens]; integers of 32 bits unless jax_enable_x64 is set. They have no gradient.

    The derivative is first order, in reverse mode. Raises as ropewalk.rotate does, when it is run.
    """
    tensors = (q,) if k is None else (q, k)
    result = _turned(rope, layout, jax.numpy.asarray(positions), *tensors)
    return result[0] if k is None else result
