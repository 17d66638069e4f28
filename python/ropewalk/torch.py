"""Rotation as an operator of PyTorch: with autograd, under torch.compile and torch.export.

    q, k = ropewalk.torch.rotate(q, k, positions, rope)

The operators are ropewalk::turn and ropewalk::turn_qk. A plan goes to them as text, the JSON of its frequencies
and factor, so that what torch.export saves is all there is to know. Tensors are the CPU's. Tested with PyTorch 2.13.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from . import Rope, Spec, _arrays, backward
from . import rotate as _rotate

__all__ = ["RotaryEmbedding", "rotate"]

_ROTATE, _BACKWARD = 0, 1
_CALLS = _rotate, backward
_ADJOINT = {_ROTATE: _BACKWARD, _BACKWARD: _ROTATE}


@functools.lru_cache(maxsize=1024)
def _rope(plan: str) -> Rope:
    return Rope(Spec.from_json(plan))


# ---- The operators: of one tensor, and of two ----

_library = torch.library.Library("ropewalk", "DEF")
_ARGUMENTS = "Tensor? positions, SymInt start, str plan, str layout, int operation"
_library.define(f"turn(Tensor x, {_ARGUMENTS}) -> Tensor")
_library.define(f"turn_qk(Tensor q, Tensor k, {_ARGUMENTS}) -> (Tensor, Tensor)")


def _at(positions: torch.Tensor | None, start: int) -> Any:
    return start if positions is None else positions.detach()


def _turn(x, positions, start, plan, layout, operation):
    return _CALLS[operation](_rope(plan), x.detach(), _at(positions, start), layout=layout)


def _turn_qk(q, k, positions, start, plan, layout, operation):
    return _CALLS[operation](_rope(plan), q.detach(), _at(positions, start), k=k.detach(), layout=layout)


_library.impl("turn", _turn, "CPU")
_library.impl("turn_qk", _turn_qk, "CPU")


def _check(positions, plan, layout, **tensors):
    """What is known of tensors without memory."""
    given = {**tensors, **({} if positions is None else {"positions": positions})}
    if len({x.device for x in given.values()}) > 1:
        places = ", ".join(f"{name} on {x.device}" for name, x in given.items())
        raise ValueError(f"tensors are on several devices: {places}")
    _arrays.check_shapes(_rope(plan), layout, {name: x.shape for name, x in tensors.items()},
                         None if positions is None else positions.shape)


@torch.library.register_fake("ropewalk::turn", lib=_library)
def _(x, positions, start, plan, layout, operation):
    _check(positions, plan, layout, x=x)
    return torch.empty_like(x)


@torch.library.register_fake("ropewalk::turn_qk", lib=_library)
def _(q, k, positions, start, plan, layout, operation):
    _check(positions, plan, layout, q=q, k=k)
    return torch.empty_like(q), torch.empty_like(k)


def _apply(tensors, *arguments):
    """The operator of so many tensors; a tuple."""
    if len(tensors) == 1:
        return torch.ops.ropewalk.turn(*tensors, *arguments),
    return torch.ops.ropewalk.turn_qk(*tensors, *arguments)


# ---- Derivatives ----

def _save(ctx, inputs, output):
    *_, positions, ctx.start, ctx.plan, ctx.layout, operation = inputs
    ctx.save_for_backward(positions)
    ctx.adjoint = _ADJOINT[operation]


def _back(ctx, *grads):
    positions, = ctx.saved_tensors
    return *_apply(grads, positions, ctx.start, ctx.plan, ctx.layout, ctx.adjoint), None, None, None, None, None


torch.library.register_autograd("ropewalk::turn", _back, setup_context=_save, lib=_library)
torch.library.register_autograd("ropewalk::turn_qk", _back, setup_context=_save, lib=_library)


class _Linear(torch.autograd.Function):
    """The same for what does not see an operator's autograd: torch.func and forward mode."""

    @staticmethod
    def forward(positions, start, plan, layout, operation, *tensors):
        return _apply(tensors, positions, start, plan, layout, operation)

    @staticmethod
    def setup_context(ctx, inputs, output):
        positions, *ctx.rest, operation = inputs[:5]
        ctx.save_for_backward(positions)
        ctx.save_for_forward(positions)
        ctx.operation = operation

    @staticmethod
    def backward(ctx, *grads):
        positions, = ctx.saved_tensors
        return None, None, None, None, None, *_Linear.apply(positions, *ctx.rest, _ADJOINT[ctx.operation], *grads)

    @staticmethod
    def jvp(ctx, *tangents):
        positions, = ctx.saved_tensors
        return _Linear.apply(positions, *ctx.rest, ctx.operation, *tangents[5:])

    @staticmethod
    def vmap(info, in_dims, *inputs):
        def nth(x, dim, i):
            return x if dim is None else x.select(dim, i)
        made = [_Linear.apply(*(nth(x, dim, i) for x, dim in zip(inputs, in_dims))) for i in range(info.batch_size)]
        return tuple(torch.stack(parts) for parts in zip(*made)), (0,) * len(made[0])


def _is_transformed() -> bool:
    """Whether torch.func or forward mode is at work."""
    return torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0


def _is_watched(tensors: tuple[torch.Tensor, ...]) -> bool:
    """Whether somebody has to see an operator: a graph, a gradient, a mode, a subclass. If nobody does, its way through
    the dispatcher, some 30 us, is left out."""
    if torch.jit.is_tracing() or torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack():
        return True
    watches = torch.is_grad_enabled()
    return any(type(x) is not torch.Tensor or not x.is_cpu or x.is_neg() or (watches and x.requires_grad)
               for x in tensors)


def rotate(q: torch.Tensor, k: torch.Tensor | None, positions: torch.Tensor | int, rope: Rope, *,
           layout: str = "bthd") -> Any:
    """q and k rotated at their positions, as new tensors; q alone if k is None.

    q, k: [batch, tokens, heads, head_dim] in the order that layout says ("bhtd": as attention has it).
    positions: a tensor of ids [tokens], [batch, tokens] or [axes, batch, tokens], int32, int64, float32 or
        float64; or an integer, where the first token stands. They have no gradient.

    The gradient is that of the rotation, its transpose, exact as the rotation is; forward mode and torch.func
    work too. Under vmap it is called in a loop: a dimension of batch is faster. Raises as ropewalk.rotate does;
    NotImplementedError for tensors of other devices.
    """
    if not isinstance(rope, Rope):
        raise TypeError(f"rope is a {type(rope).__name__}, want ropewalk.Rope")
    tensors = (q,) if k is None else (q, k)
    for name, x in zip(("x",) if k is None else ("q", "k"), tensors):
        if x.device.type not in ("cpu", "meta"):
            raise NotImplementedError(f"{name} is on the device {x.device}: "
                                      "ropewalk rotates in the memory of the CPU only")
    is_compiling = torch.compiler.is_compiling()
    is_transformed = not is_compiling and _is_transformed()
    start = 0
    if isinstance(positions, torch.Tensor):
        if positions.requires_grad:
            raise NotImplementedError("positions requires grad, and angles have no gradient here: "
                                      "give positions.detach()")
        if positions.device != q.device:
            raise ValueError(f"tensors are on several devices: {'x' if k is None else 'q'} on {q.device}, "
                             f"positions on {positions.device}")
    elif isinstance(positions, (int, np.integer, torch.SymInt)) and not isinstance(positions, bool):
        if not -2**63 <= positions < 2**63:
            raise ValueError(f"positions is {positions}, want an integer of 64 bits")
        positions, start = None, int(positions) if isinstance(positions, np.integer) else positions
    else:
        raise TypeError(f"positions is {positions!r}, want a tensor or an integer")
    if not (is_compiling or is_transformed or _is_watched(tensors)):
        return _rotate(rope, q, start if positions is None else positions, k=k, layout=layout)
    arguments = positions, start, rope._plan, layout, _ROTATE
    result = _Linear.apply(*arguments, *tensors) if is_transformed else _apply(tensors, *arguments)
    return result[0] if k is None else result


class RotaryEmbedding(torch.nn.Module):
    """rotate() with its plan: no parameters, and nothing in the state dict."""

    def __init__(self, rope: Rope | Spec, *, layout: str = "bthd"):
        super().__init__()
        self.rope = rope if isinstance(rope, Rope) else Rope(rope)
        self.layout = layout

    def forward(self, q: torch.Tensor, k: torch.Tensor | None, positions: torch.Tensor | int) -> Any:
        return rotate(q, k, positions, self.rope, layout=self.layout)

    def extra_repr(self) -> str:
        return f"{self.rope!r}, layout={self.layout!r}"
