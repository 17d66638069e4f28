"""Rotation as an operator of PyTorch: with autograd, under torch.compile and torch.export.

    q, k = ropewalk.torch.rotate(q, k, positions, rope)

The operators are ropewalk::turn and ropewalk::turn_qk. A plan goes to them as text, the JSON of its frequencies
and factor, so that what torch.export saves is all there is to know. Tensors are the CPU's.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from . import Rope, Spec, backward
from . import rotate as _rotate

__all__ = ["RotaryEmbedding", "rotate"]

_ROTATE, _BACKWARD = 0, 1
_CALLS = _rotate, backward


@functools.lru_cache(maxsize=1024)
def _rope(plan: str) -> Rope:
    return Rope(Spec.from_json(plan))


_library = torch.library.Library("ropewalk", "DEF")
_ARGUMENTS = "Tensor? positions, SymInt start, str plan, str layout, int operation"
_library.define(f"turn(Tensor x, {_ARGUMENTS}) -> Tensor")
_library.define(f"turn_qk(Tensor q, Tensor k, {_ARGUMENTS}) -> (Tensor, Tensor)")


def _positions(positions: torch.Tensor | None, start: int) -> Any:
    return start if positions is None else positions


def _turn(x, positions, start, plan, layout, operation):
    return _CALLS[operation](_rope(plan), x.detach(), _positions(positions, start), layout=layout)


def _turn_qk(q, k, positions, start, plan, layout, operation):
    return _CALLS[operation](_rope(plan), q.detach(), _positions(positions, start), k=k.detach(), layout=layout)


_library.impl("turn", _turn, "CPU")
_library.impl("turn_qk", _turn_qk, "CPU")


@torch.library.register_fake("ropewalk::turn", lib=_library)
def _(x, positions, start, plan, layout, operation):
    return torch.empty_like(x)


@torch.library.register_fake("ropewalk::turn_qk", lib=_library)
def _(q, k, positions, start, plan, layout, operation):
    return torch.empty_like(q), torch.empty_like(k)


def _save(ctx, inputs, output):
    *_, positions, ctx.start, ctx.plan, ctx.layout, operation = inputs
    ctx.save_for_backward(positions)
    ctx.adjoint = _BACKWARD if operation == _ROTATE else _ROTATE


def _turn_back(ctx, grad):
    positions, = ctx.saved_tensors
    grad = torch.ops.ropewalk.turn(grad, positions, ctx.start, ctx.plan, ctx.layout, ctx.adjoint)
    return grad, None, None, None, None, None


def _turn_qk_back(ctx, grad_q, grad_k):
    positions, = ctx.saved_tensors
    grads = torch.ops.ropewalk.turn_qk(grad_q, grad_k, positions, ctx.start, ctx.plan, ctx.layout, ctx.adjoint)
    return *grads, None, None, None, None, None


torch.library.register_autograd("ropewalk::turn", _turn_back, setup_context=_save, lib=_library)
torch.library.register_autograd("ropewalk::turn_qk", _turn_qk_back, setup_context=_save, lib=_library)


def _is_plain(*tensors: torch.Tensor | None) -> bool:
    """Whether nobody watches: no graph, no gradient, no transform. Then the operator's way there, some 50 us, is
    left out."""
    if torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None:
        return False
    watches = torch.is_grad_enabled()
    return all(x is None or (type(x) is torch.Tensor and x.is_cpu and not (watches and x.requires_grad) and not x.is_neg())
               for x in tensors)


def rotate(q: torch.Tensor, k: torch.Tensor | None, positions: torch.Tensor | int, rope: Rope, *,
           layout: str = "bthd") -> Any:
    """q and k rotated at their positions, as new tensors; q alone if k is None.

    q, k: [batch, tokens, heads, head_dim] in the order that layout says ("bhtd": as attention has it).
    positions: a tensor of ids [tokens], [batch, tokens] or [axes, batch, tokens], int32, int64, float32 or
        float64; or an integer, where the first token stands.

    The gradient is that of the rotation, its transpose, exact as the rotation is. Under vmap it is
    called in a loop: a dimension of batch is faster. Raises as ropewalk.rotate does; NotImplementedError for tensors of other devices.
    """
    if isinstance(positions, torch.Tensor) and positions.requires_grad:
        raise NotImplementedError("positions requires grad, and angles have no gradient here: give positions.detach()")
    if _is_plain(q, k):
        return _rotate(rope, q, positions, k=k, layout=layout)
    start = 0
    if not isinstance(positions, torch.Tensor):
        positions, start = None, positions
    if k is None:
        return torch.ops.ropewalk.turn(q, positions, start, rope._plan, layout, _ROTATE)
    return torch.ops.ropewalk.turn_qk(q, k, positions, start, rope._plan, layout, _ROTATE)


class RotaryEmbedding(torch.nn.Module):
    """rotate() with its plan: no parameters, and nothing in the state dict."""

    def __init__(self, rope: Rope | Spec, *, layout: str = "bthd"):
        super().__init__()
        self.rope = rope if isinstance(rope, Rope) else Rope(rope)
        self.layout = layout

    def forward(self, q: torch.Tensor, k: torch.Tensor | None, positions: torch.Tensor | int) -> Any:
        return rotate(q, k, positions, self.rope, layout=self.layout)

    def extra_repr(self) -> str:
        return f"{self.rope.spec!r}, layout={self.layout!r}"
