"""JAX: the usual formula under jit, on the CPU."""

import jax
import jax.numpy as jnp
import numpy as np

import work as w
from contender import Calls, Contender, Form

FORM = Form(in_place=False, ready=True)

# A call runs on the thread that makes it: less waiting.
jax.config.update("jax_cpu_enable_async_dispatch", False)


@jax.jit
def halves(x, cos, sin):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((a * cos - b * sin, a * sin + b * cos), axis=-1)


@jax.jit
def adjacent(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.stack((a * cos - b * sin, a * sin + b * cos), axis=-1).reshape(x.shape)


def prepare(work):
    function = {"halves": halves, "adjacent": adjacent}[work.pairing]
    x = jnp.asarray(w.tensor(work))
    cos, sin = (jnp.asarray(each[:, None], dtype=x.dtype) for each in w.table(work))
    return Calls(lambda: function(x, cos, sin).block_until_ready(), np.asarray)


def contenders():
    return [Contender("JAX, jit", FORM, prepare)]


def versions():
    return {"jax": jax.__version__}
