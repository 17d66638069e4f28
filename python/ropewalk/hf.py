"""The rotary part of a model of transformers, done by ropewalk.

    ropewalk.hf.patch(model)
    ...
    ropewalk.hf.unpatch(model)

Only this instance changes: its modules get forwards of their own, and neither classes nor modules of
transformers are touched. The frequencies are the model's own, as its rotary embedding holds them at each
call, with rules that depend on the length.

What is replaced: the rotary embedding hands on positions in place of cos and sin, and each attention, whose
code is the same, finds a function of ours under the name of the one that it calls with them.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import weakref
from typing import Any

import torch

from . import Rope, Spec
from .torch import rotate

__all__ = ["families", "patch", "unpatch"]


@dataclasses.dataclass(frozen=True)
class _Apply:
    """A function that a family's attention calls, and what its results are."""

    pairing: str = "halves"
    output_pairing: str | None = None
    layout: str | None = None  # None: by its argument unsqueeze_dim
    one_tensor: bool = False  # f(x, sin, cos); else f(q, k, cos, sin, ...) or f(q, k, cis)


@dataclasses.dataclass(frozen=True)
class _Family:
    applies: dict[str, _Apply]
    axes_order: str | None = None  # of position_ids [3, batch, tokens], by mrope_section
    is_complex: bool = False  # one factor cos + i sin in place of the two


_HALVES = _Family({"apply_rotary_pos_emb": _Apply()})
_ADJACENT = _Family({"apply_rotary_pos_emb": _Apply("adjacent")})

# By the folder of transformers.models that their code stands in.
_FAMILIES = {
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gpt_neox", "gpt_oss", "granite", "llama", "mistral", "mixtral",
                     "modernbert", "olmo", "olmo2", "phi3", "qwen2", "qwen3", "smollm3", "stablelm"), _HALVES),
    **dict.fromkeys(("cohere", "ernie4_5", "glm", "glm4"), _ADJACENT),
    "deepseek_v2": _Family({"apply_rotary_emb": _Apply("adjacent", layout="bhtd")}, is_complex=True),
    "deepseek_v3": _Family({"apply_rotary_pos_emb": _Apply(),
                            "apply_rotary_pos_emb_interleave": _Apply("adjacent", "halves")}),
    "gptj": _Family({"apply_rotary_pos_emb": _Apply("adjacent", layout="bthd", one_tensor=True)}),
    "llama4": _Family({"apply_rotary_emb": _Apply("adjacent", layout="bthd")}, is_complex=True),
    "qwen2_vl": _Family({"apply_rotary_pos_emb": _Apply()}, axes_order="blocks"),
    "qwen3_vl": _Family({"apply_rotary_pos_emb": _Apply()}, axes_order="cycle"),
}


def families() -> list[str]:
    """The families that patch() takes, as folders of transformers.models."""
    return sorted(_FAMILIES)


class _Rotation:
    """What stands in for cos and sin on their way from the rotary embedding to attention."""

    def __init__(self, positions: torch.Tensor, frequencies: torch.Tensor, factor: float, axes: dict | None,
                 ropes: dict):
        self.positions, self.frequencies, self.factor, self.axes, self.ropes = (positions, frequencies, factor,
                                                                                axes, ropes)

    def to(self, *_) -> _Rotation:
        """As attention asks of factors, for its device."""
        return self

    def rope(self, width: int, apply: _Apply) -> Rope:
        """Of heads so wide; made once for the same frequencies."""
        key = width, apply, self.factor, self.frequencies.numpy().tobytes()
        if key not in self.ropes:
            if len(self.ropes) > 64:  # frequencies that follow the length
                self.ropes.clear()
            frequencies = self.frequencies.double().tolist()
            self.ropes[key] = Rope(Spec(head_dim=width, rotary_dim=2 * len(frequencies), frequencies=frequencies,
                                        attention_factor=self.factor, pairing=apply.pairing,
                                        output_pairing=apply.output_pairing, axes=self.axes))
        return self.ropes[key]


def _replacement(apply: _Apply):
    """The function that attention finds."""
    if apply.one_tensor:
        def one(tensor, sin, cos):
            return rotate(tensor, None, cos.positions, cos.rope(tensor.shape[-1], apply), layout=apply.layout)
        return one

    def both(q, k, rotation, *_, unsqueeze_dim=1, **__):
        layout = apply.layout or ("bhtd" if unsqueeze_dim == 1 else "bthd")
        return rotate(q, k, rotation.positions, rotation.rope(q.shape[-1], apply), layout=layout)
    return both


def _gptj_frequencies(module: torch.nn.Module) -> torch.Tensor:
    """Its module keeps only a table, whose row 1 they are the angles of: found again by the rule, and compared."""
    pairs = module.embed_positions.shape[-1] // 2
    frequencies = 1.0 / 10000 ** (torch.arange(0, 2 * pairs, 2, dtype=torch.float64) / (2 * pairs))
    sines = module.embed_positions[1, :pairs].double()
    if not torch.allclose(sines, frequencies.sin(), rtol=1e-2, atol=1e-3):
        raise NotImplementedError("a GPT-J whose table of positions is not of base 10000 is not supported")
    return frequencies


def _embedding(module: torch.nn.Module, family: _Family):
    """A rotary embedding's forward."""
    original, ropes, axes = module.forward, {}, None
    if family.axes_order is not None:
        axes = {"sections": list(module.mrope_section), "order": family.axes_order}
    table_frequencies = _gptj_frequencies(module) if hasattr(module, "embed_positions") else None

    def forward(x, position_ids, layer_type=None):
        prefix = "" if layer_type is None else f"{layer_type}_"
        if table_frequencies is not None:
            frequencies, factor = table_frequencies, 1.0
        else:
            rope_type = module.rope_type if layer_type is None else module.rope_type[layer_type]
            if "dynamic" in rope_type or rope_type == "longrope":
                original(x, position_ids, *(() if layer_type is None else (layer_type,)))  # sets its frequencies
            frequencies = getattr(module, f"{prefix}inv_freq").detach().cpu().float()
            factor = float(getattr(module, f"{prefix}attention_scaling"))
        if axes is not None:
            position_ids = position_ids.expand(len(axes["sections"]), *position_ids.shape[-2:])
        rotation = _Rotation(position_ids.contiguous(), frequencies, factor, axes, ropes)
        return rotation if family.is_complex else (rotation, rotation)

    return forward


def _attention(module: torch.nn.Module, names: dict[str, Any]):
    """An attention's forward with other functions under these names."""
    function = inspect.unwrap(type(module).forward)
    scope = {**function.__globals__, **names}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__,
                              function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return types.MethodType(copy, module)


def _family_of(module: torch.nn.Module) -> str | None:
    match = re.fullmatch(r"transformers\.models\.(\w+)\.modeling_\w+", type(module).__module__)
    return match and match[1]


def _is_rotary(module: torch.nn.Module) -> bool:
    name = type(module).__name__
    return "Vision" not in name and (name.endswith("RotaryEmbedding") or hasattr(module, "inv_freq"))


_patched: weakref.WeakKeyDictionary[torch.nn.Module, list[torch.nn.Module]] = weakref.WeakKeyDictionary()


def patch(model: torch.nn.Module) -> torch.nn.Module:
    """Makes this model rotate by ropewalk, and returns it. Vision towers beside the text keep their own.

    Tensors are the CPU's. Gradients flow. Raises NotImplementedError for a family that is not one of
    families(), naming it, and ValueError for a model that has no rotary embedding or is patched already;
    nothing is changed then.
    """
    if model in _patched:
        raise ValueError("the model is patched already")
    changes: list[tuple[torch.nn.Module, Any]] = []
    found: set[str] = set()
    for module in model.modules():
        if not _is_rotary(module):
            continue
        name = _family_of(module)
        if name not in _FAMILIES:
            raise NotImplementedError(f"{name or type(module).__qualname__} is no family that is supported; these are: "
                                      f"{', '.join(families())}")
        changes.append((module, _embedding(module, _FAMILIES[name])))
        found.add(name)
    if not found:
        raise ValueError(f"{type(model).__name__} has no rotary embedding")
    served = set()
    for module in model.modules():
        name = _family_of(module)
        if name not in found:
            continue
        applies = _FAMILIES[name].applies
        used = applies.keys() & set(inspect.unwrap(type(module).forward).__code__.co_names)
        if used:
            changes.append((module, _attention(module, {one: _replacement(applies[one]) for one in used})))
            served.add(name)
    if served != found:
        raise NotImplementedError(f"{', '.join(sorted(found - served))}: no attention calls "
                                  "the function that this release of transformers should have")
    for module, forward in changes:
        module.forward = forward
    _patched[model] = [module for module, _ in changes]
    return model


def unpatch(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes patch(), and returns the model. Raises ValueError for one that is not patched."""
    if model not in _patched:
        raise ValueError("the model is not patched")
    for module in _patched.pop(model):
        del module.forward
    return model
