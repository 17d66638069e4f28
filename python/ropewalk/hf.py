"""The rotary part of a model of transformers, done by ropewalk.

    ropewalk.hf.patch(model)
    ...
    ropewalk.hf.unpatch(model)

Only this instance changes: its modules get forwards of their own, and neither classes nor modules of
transformers are touched. The frequencies are the model's own, as its rotary embedding holds them at each
call, with rules that depend on the length.

What is replaced: the rotary embedding hands on positions in place of cos and sin, and each attention, whose
code is the same, finds a function of ours under the name of the one that it calls with them. What these
functions do is known of transformers 5.24; patch() runs the family's own beside ours, and refuses one that does
something else.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import types
from typing import Any, Optional

import numpy as np
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
# Either, as an option of the model says.
_LATENT = _Family({"apply_rotary_pos_emb": _Apply(),
                   "apply_rotary_pos_emb_interleave": _Apply("adjacent", "halves")})

# By the folder of transformers.models that their code stands in. Two that look alike are not here: nanochat
# turns the other way, and phimoe has factors of its own, by length.
_FAMILIES = {
    **dict.fromkeys(("apertus", "arcee", "bamba", "bitnet", "cwm", "dbrx", "diffllama", "doge", "dots1",
                     "eurobert", "exaone4", "falcon", "falcon_h1", "flex_olmo", "gemma", "gemma2", "gemma3",
                     "glm4_moe", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "granite", "granitemoe",
                     "granitemoehybrid", "granitemoeshared", "hunyuan_v1_dense", "hunyuan_v1_moe", "jais2",
                     "jetmoe", "lfm2", "lfm2_moe", "llama", "mimo_v2_flash", "minicpm3", "minimax",
                     "minimax_m2", "ministral", "ministral3", "mistral", "mixtral", "modernbert",
                     "modernbert_decoder", "nemotron", "nomic_bert", "olmo", "olmo2", "olmo3", "olmoe",
                     "persimmon", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen3_next",
                     "seed_oss", "smollm3", "solar_open", "stablelm", "starcoder2", "vaultgemma",
                     "zamba2"), _HALVES),
    **dict.fromkeys(("cohere", "cohere2", "ernie4_5", "ernie4_5_moe", "glm", "glm4", "helium"), _ADJACENT),
    **dict.fromkeys(("deepseek_v3", "glm4_moe_lite", "longcat_flash", "mistral4", "youtu"), _LATENT),
    "deepseek_v2": _Family({"apply_rotary_emb": _Apply("adjacent", layout="bhtd")}, is_complex=True),
    "gptj": _Family({"apply_rotary_pos_emb": _Apply("adjacent", layout="bthd", one_tensor=True)}),
    "llama4": _Family({"apply_rotary_emb": _Apply("adjacent", layout="bthd")}, is_complex=True),
    "qwen2_vl": _Family({"apply_rotary_pos_emb": _Apply()}, axes_order="blocks"),
    "qwen3_vl": _Family({"apply_rotary_pos_emb": _Apply()}, axes_order="cycle"),
}


def families() -> list[str]:
    """The families that patch() takes, as folders of transformers.models."""
    return sorted(_FAMILIES)


_Axes = Optional[tuple[str, tuple[int, ...]]]  # order and sections


@functools.lru_cache(maxsize=1024)
def _rope(width: int, apply: _Apply, factor: float, frequencies: bytes, axes: _Axes) -> Rope:
    """Of heads so wide; made once for the same frequencies."""
    radians = np.frombuffer(frequencies, np.float32).astype(np.float64)
    return Rope(Spec(head_dim=width, rotary_dim=2 * len(radians), frequencies=radians, attention_factor=factor,
                     pairing=apply.pairing, output_pairing=apply.output_pairing,
                     axes=axes and {"order": axes[0], "sections": axes[1]}))


@dataclasses.dataclass
class _Rotation:
    """What stands in for cos and sin on their way from the rotary embedding to attention."""

    positions: torch.Tensor
    frequencies: torch.Tensor
    factor: float
    axes: _Axes

    def to(self, *_) -> _Rotation:
        """As attention asks of factors, for its device."""
        return self

    def rope(self, width: int, apply: _Apply) -> Rope:
        return _rope(width, apply, self.factor, self.frequencies.numpy().tobytes(), self.axes)


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


def _embed(module, x, position_ids, layer_type=None):
    """The forward of a rotary embedding."""
    family = _FAMILIES[_family_of(module)]
    prefix = "" if layer_type is None else f"{layer_type}_"
    if hasattr(module, "embed_positions"):
        frequencies, factor = _gptj_frequencies(module).float(), 1.0
    else:
        rope_type = module.rope_type if layer_type is None else module.rope_type[layer_type]
        if "dynamic" in rope_type or rope_type == "longrope":
            # Sets its frequencies.
            type(module).forward(module, x, position_ids, *(() if layer_type is None else (layer_type,)))
        frequencies = getattr(module, f"{prefix}inv_freq").detach().cpu().float()
        factor = float(getattr(module, f"{prefix}attention_scaling"))
    axes = None
    if family.axes_order is not None:
        axes = family.axes_order, tuple(module.mrope_section)
        position_ids = position_ids.expand(len(axes[1]), *position_ids.shape[-2:])
    if position_ids.dtype not in (torch.int64, torch.int32, torch.float32, torch.float64):
        position_ids = position_ids.long()
    rotation = _Rotation(position_ids.contiguous(), frequencies, factor, axes)
    return rotation if family.is_complex else (rotation, rotation)


def _copied(function: types.FunctionType, scope: dict[str, Any], closure: Any) -> types.FunctionType:
    # The code is a copy, too: torch.compile keeps what it made by it.
    copy = types.FunctionType(function.__code__.replace(), scope, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function, updated=())


def _rewired(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    """A function of the same code, in the same decorators, that finds other things under these names."""
    inner = getattr(function, "__wrapped__", None)
    if inner is None:
        copy = _copied(function, {**function.__globals__, **names}, function.__closure__)
        del copy.__wrapped__
        return copy
    rewired = _rewired(inner, names)

    def replaced(cell):
        try:
            return types.CellType(rewired) if cell.cell_contents is inner else cell
        except ValueError:  # empty
            return cell
    wrapper = _copied(function, function.__globals__, tuple(map(replaced, function.__closure__ or ())))
    wrapper.__wrapped__ = rewired
    return wrapper


def _bound(function: types.FunctionType, module: torch.nn.Module) -> types.MethodType:
    """A forward of this instance. A copy of the model has its own; pickled, it is the class's forward again."""
    function.__name__ = "forward"
    function.is_of_ropewalk = True
    return types.MethodType(function, module)


def _own_forward(module: torch.nn.Module) -> Any:
    """A forward that the instance has and its class does not, or None."""
    forward = vars(module).get("forward")
    return None if getattr(forward, "__func__", None) is type(module).forward else forward


def _is_patched(module: torch.nn.Module) -> bool:
    return getattr(_own_forward(module), "is_of_ropewalk", False)


def _family_of(module: torch.nn.Module) -> str | None:
    """The folder of transformers.models that its code stands in, or that of the class it is derived from."""
    for each in type(module).__mro__:
        match = re.fullmatch(r"transformers\.models\.(\w+)\.modeling_\w+", each.__module__)
        if match:
            return match[1]
    return None


def _is_rotary(module: torch.nn.Module) -> bool:
    names = [each.__name__ for each in type(module).__mro__]
    return not any("Vision" in name for name in names) and (
        any(name.endswith("RotaryEmbedding") for name in names) or hasattr(module, "inv_freq"))


def _forward_of(kind: type) -> types.FunctionType:
    return inspect.unwrap(kind.forward)


def _used(kind: type, applies: dict[str, _Apply]) -> set[str]:
    """Which of these functions the forward of a class calls."""
    function = _forward_of(kind)
    return applies.keys() & set(function.__code__.co_names) if isinstance(function, types.FunctionType) else set()


def _check_does_the_same(embedding: torch.nn.Module, family: _Family, name: str, function: Any) -> None:
    """Raises unless what attention calls by this name does with the embedding's own factors what ours will do."""
    if any(buffer.is_meta for buffer in embedding.buffers()):
        return  # there are no factors yet
    apply, rope_type = family.applies[name], getattr(embedding, "rope_type", None)
    ids = torch.arange(3).expand((1 if family.axes_order is None else len(embedding.mrope_section)), 1, 3)
    ids = ids[0] if family.axes_order is None else ids
    for layer_type in rope_type if isinstance(rope_type, dict) else (None,):
        arguments = (torch.zeros(1, 3, 1), ids, *(() if layer_type is None else (layer_type,)))
        with torch.no_grad():
            factors, rotation = type(embedding).forward(embedding, *arguments), _embed(embedding, *arguments)
            factors, rotation = ((x if isinstance(x, tuple) else (x,)) for x in (factors, rotation))
            width = 2 * len(rotation[0].frequencies)
            x = torch.randn(1, *((3, 2) if apply.layout == "bthd" else (2, 3)), width,
                            generator=torch.Generator().manual_seed(1))
            tensors = (x,) if apply.one_tensor else (x, x.flip(0, 1))
            made = [turn(*(x.clone() for x in tensors), *given)
                    for turn, given in ((function, factors), (_replacement(apply), rotation))]
        theirs, ours = ((x,) if apply.one_tensor else x for x in made)
        if not all(torch.allclose(a, b, atol=1e-3) for a, b in zip(theirs, ours)):
            raise NotImplementedError(f"{name} of {_family_of(embedding)} does something else in this release of "
                                      "transformers than in the one that ropewalk knows")


def _changes(model: torch.nn.Module) -> dict[str, types.MethodType]:
    """New forwards by the names of their modules. Raises for what cannot be patched as a whole."""
    changes: dict[str, types.MethodType] = {}
    found: dict[str, torch.nn.Module] = {}  # a rotary embedding of each family
    for path, module in model.named_modules():
        if not _is_rotary(module):
            continue
        name = _family_of(module)
        if name not in _FAMILIES:
            raise NotImplementedError(f"{name or type(module).__qualname__} is no family that is supported; these are: "
                                      f"{', '.join(families())}")
        if not _forward_of(type(module)).__module__.startswith("transformers."):
            raise NotImplementedError(f"{path}: {type(module).__qualname__} has a forward of its own, "
                                      f"not that of {name}")
        if hasattr(module, "embed_positions"):
            _gptj_frequencies(module)
        changes[path] = _bound(_rewired(_embed, {}), module)
        found.setdefault(name, module)
    if not found:
        raise ValueError(f"{type(model).__name__} has no rotary embedding that is known here")
    served = set()
    checked = set()
    for path, module in model.named_modules():
        name = _family_of(module)
        if name not in found or path in changes:
            continue
        applies = _FAMILIES[name].applies
        used = _used(type(module), applies)
        if used:
            for one in used:
                function = _forward_of(type(module)).__globals__[one]
                if (name, one, function) not in checked:
                    _check_does_the_same(found[name], _FAMILIES[name], one, function)
                checked.add((name, one, function))
            names = {one: _replacement(applies[one]) for one in used}
            changes[path] = _bound(_rewired(type(module).forward, names), module)
            served.add(name)
        elif any(_used(kind, applies) for kind in type(module).__mro__ if issubclass(kind, torch.nn.Module)):
            raise NotImplementedError(f"{path}: {type(module).__qualname__} does not call "
                                      f"{' or '.join(applies)}, as the attention of {name} does")
    if served != found.keys():
        raise NotImplementedError(f"{', '.join(sorted(found.keys() - served))}: no attention calls "
                                  "the function that this release of transformers should have")
    return changes


def patch(model: torch.nn.Module) -> torch.nn.Module:
    """Makes this model rotate by ropewalk, and returns it. Vision towers beside the text keep their own.

    Tensors are the CPU's. Gradients flow. A deep copy of the model is patched, too; what is pickled or saved
    is not. torch.compile works, with breaks of the graph where frequencies are read.

    Raises NotImplementedError for a family that is not one of families(), naming it, or for a class that is
    derived from one and does something else; ValueError for a model that has no rotary embedding or is patched
    already, or whose module has had its forward replaced (by hooks). Nothing is changed then.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is a {type(model).__name__}, want a model of transformers")
    if any(map(_is_patched, model.modules())):
        raise ValueError("the model is patched already, or a part of it is")
    changes = _changes(model)
    for path in changes:
        if _own_forward(model.get_submodule(path)) is not None:
            raise ValueError(f"{path}.forward was replaced by something else: undo that first")
    for path, forward in changes.items():
        model.get_submodule(path).forward = forward
    return model


def unpatch(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes patch(), and returns the model. Raises ValueError for one of which nothing is patched."""
    patched = [module for module in model.modules() if _is_patched(module)]
    if not patched:
        raise ValueError("the model is not patched")
    for module in patched:
        del module.forward
    return model
