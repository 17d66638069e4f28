"""PyTorch: the usual formula, eager and compiled.

halves is rotate_half as models have it; adjacent is the same by stacking. cos and sin have the tensor's
dtype, as in those models.
"""

import numpy as np
import torch

import work as w
from contender import Calls, Contender, Form

FORM = Form(in_place=False, ready=True)
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}

torch.set_num_threads(1)


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def halves(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def adjacent(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def tensor(work):
    """The work's tensor [1, tokens, heads, head_dim], in torch's memory."""
    return torch.from_numpy(w.tensor(work).astype(np.float32)).to(DTYPES[work.dtype])[None].clone()


def tables(work):
    """cos and sin [1, tokens, pairs]."""
    return [torch.from_numpy(each).to(DTYPES[work.dtype])[None] for each in w.table(work)]


def read(y):
    return y[0].to(torch.float32).numpy()


def arguments(work):
    cos, sin = (each[:, :, None] for each in tables(work))
    if work.pairing == "halves":
        cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    return tensor(work), cos, sin


def prepare(work, compiled=False):
    function = {"halves": halves, "adjacent": adjacent}[work.pairing]
    if compiled:
        torch.compiler.reset()
        function = torch.compile(function, dynamic=False)
    return without_gradients(function, *arguments(work))


def without_gradients(function, *given):
    @torch.inference_mode()
    def call():
        return function(*given)
    return Calls(call, read)


def contenders():
    return [Contender("PyTorch, eager", FORM, prepare),
            Contender("PyTorch, torch.compile", FORM, lambda work: prepare(work, compiled=True))]


def versions():
    return {"torch": torch.__version__}
