"""MLX's CPU build: mx.fast.rope, by an offset."""

import mlx.core as mx
import numpy as np
from importlib.metadata import version

import work as w
from contender import Calls, Contender, Form

FORM = Form(in_place=False, ready=False, layout="bhtd")
DTYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}


def prepare(work):
    mx.set_default_device(mx.cpu)
    heads_first = w.tensor(work).astype(np.float32).swapaxes(0, 1)[None]
    x = mx.array(np.ascontiguousarray(heads_first)).astype(DTYPES[work.dtype])
    mx.eval(x)

    def call():
        y = mx.fast.rope(x, work.head_dim, traditional=work.pairing == "adjacent", base=w.BASE, scale=1.0,
                         offset=work.start)
        mx.eval(y)
        return y
    return Calls(call, lambda y: np.array(y.astype(mx.float32))[0].swapaxes(0, 1))


def contenders():
    return [Contender("MLX", FORM, prepare)]


def versions():
    return {"mlx": version("mlx")}
