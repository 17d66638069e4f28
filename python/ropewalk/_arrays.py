"""Arrays of NumPy, PyTorch, JAX and others, as the module takes them and as results are made.

The frameworks are not imported here: an array can only be there if its framework is.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._ropewalk import Positions as _Positions
from ._ropewalk import _want_large_pages

_LARGE = 1 << 22  # bytes from which NumPy asks for large pages


def is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def as_given(x: Any, made: Any) -> Any:
    """A result that was made for x as the caller has it: in JAX, where x is."""
    return sys.modules["jax"].device_put(made, x.sharding) if is_jax(x) else made


def is_jax(x: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def taken(x: Any, name: str) -> Any:
    """What is handed to the module, which shares the memory of x.

    NumPy knows bfloat16 through ml_dtypes only, and hands such arrays out neither by DLPack nor as a
    buffer: they go as 16-bit integers, in a tuple of one.
    """
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array: give {name}.data or {name}.filled(0)")
        # The name takes microseconds, and NumPy's own dtypes are none of that.
        return (x.view(np.uint16),) if x.dtype.isbuiltin != 1 and x.dtype.name == "bfloat16" else x
    if is_torch(x):
        return _of_torch(x, name, sys.modules["torch"])
    if is_jax(x):
        places = {device.platform for device in x.devices()}
        if places != {"cpu"}:
            raise BufferError(f"{name} is on {', '.join(sorted(places))}: "
                              "ropewalk rotates in the memory of the CPU only")
        return taken(np.asarray(x), name)  # a read-only view
    if isinstance(x, (tuple, list)):
        raise TypeError(_no_array(x, name))
    return x


def _of_torch(x: Any, name: str, torch: Any) -> Any:
    # DLPack would hand it out, and the graph would not know what happens to it.
    if x.requires_grad and torch.is_grad_enabled():
        raise BufferError(f"{name} requires grad, and this call would not be seen by autograd: use ropewalk.torch, "
                          f"give {name}.detach(), or call it under torch.no_grad()")
    if not x.is_cpu:
        raise BufferError(f"{name} is on the device {x.device}: ropewalk rotates in the memory of the CPU only")
    if x.layout is not torch.strided or x.is_quantized:
        raise TypeError(f"{name} is a tensor of {x.layout}, {x.dtype}: "
                        "want a dense one of float32, bfloat16, float16 or float64")
    if x.is_neg():
        raise BufferError(f"{name} has PyTorch's negative bit set, its memory holds other values: give "
                          f"{name}.resolve_neg()")
    if type(x) not in (torch.Tensor, torch.nn.Parameter):
        return x  # a subclass may have ideas of its own
    # As x.__dlpack__() does, in a tenth of the time.
    return torch.utils.dlpack.to_dlpack(x.detach() if x.requires_grad else x)


def empty_like(x: Any, name: str) -> Any:
    """Where a result goes: of the type, dtype and order of dimensions of x."""
    if is_torch(x):
        made = sys.modules["torch"].empty_like(x)
        if made.nbytes >= _LARGE:
            _want_large_pages(made.data_ptr(), made.nbytes)
        return made
    if isinstance(x, np.ndarray):
        return np.empty_like(x, subok=False)
    if is_jax(x):
        return np.empty(x.shape, x.dtype)
    if hasattr(x, "__dlpack__") or isinstance(x, (memoryview, bytes, bytearray)):
        raise TypeError(f"{name} is a {type(x).__module__}.{type(x).__qualname__}: no result can be made like it; "
                        "give out=, an array to write to")
    raise TypeError(_no_array(x, name))


def _no_array(x: Any, name: str) -> str:
    what = "None" if x is None else f"a {type(x).__name__}"
    return f"{name} is {what}, want an array: of NumPy, PyTorch or JAX, or anything with DLPack or the buffer protocol"


def check_writable(x: Any, name: str) -> None:
    if is_jax(x):
        raise BufferError(f"{name} is an array of JAX, which is never written: use the form without _")


def written(*arrays: Any) -> None:
    """Tells PyTorch that memory was written, as its own operators in place do: a graph that kept it then says so."""
    for x in arrays:
        if is_torch(x) and not x.is_inference():
            sys.modules["torch"].autograd.graph.increment_version(x)


def dense(x: Any, name: str) -> Any:
    """taken(), of what is only read, once: a copy if it does not lie densely."""
    given = taken(x, name)
    if is_torch(x):
        return taken(x.detach().contiguous(), name)
    return taken(np.ascontiguousarray(x), name) if isinstance(x, np.ndarray) else given


def positions(given: Any) -> _Positions:
    """Positions of whatever stands for them: see ropewalk.Positions."""
    if isinstance(given, _Positions):
        return given
    if isinstance(given, (bool, np.bool_)):
        raise TypeError(f"positions is {given!r}, want an integer, an array or ropewalk.Positions")
    if isinstance(given, (int, np.integer)):
        if not -2**63 <= given < 2**63:
            raise ValueError(f"positions is {given}, want an integer of 64 bits")
        return _Positions.start(int(given))
    if isinstance(given, float):
        raise TypeError(f"positions is {given!r}, want an integer; real ones stand in an array of ids")
    if given is None:
        raise TypeError("positions are missing: an integer (where the first token stands), an array of ids "
                        "or ropewalk.Positions")
    if isinstance(given, (list, tuple, range)) or is_jax(given):
        given = np.asarray(given)
    if getattr(given, "ndim", None) == 0:
        return positions(given.item())
    return _Positions._of(dense(given, "positions"))


_LAYOUTS = {"bthd": "batch tokens heads head_dim", "bhtd": "batch heads tokens head_dim",
            "thd": "tokens heads head_dim", "htd": "heads tokens head_dim"}


def check_shapes(rope: Any, layout: str, tensors: dict[str, Any], positions: Any) -> None:
    """Raises ValueError for shapes that no call takes: for those who know shapes before there are values.

    positions: their shape, or None where they are a start.
    """
    if layout not in _LAYOUTS:
        raise ValueError(f"layout is {layout!r}, want bthd, bhtd, thd or htd")
    names = _LAYOUTS[layout].split()
    sizes: dict[str, tuple[str, Any]] = {}
    for name, shape in tensors.items():
        if len(shape) != len(names):
            raise ValueError(f"{name} has {len(shape)} dimensions, layout {layout!r} wants {len(names)}")
        for dimension, size in zip(names, shape):
            if dimension == "heads":
                continue
            if dimension == "head_dim":
                wanted = rope.spec.head_dim, rope.spec.rotary_dim
                if size not in wanted:
                    raise ValueError(f"{name} has heads of {size} elements, "
                                     f"want head_dim {wanted[0]} or rotary_dim {wanted[1]}")
                continue
            other, known = sizes.setdefault(dimension, (name, size))
            if size != known:
                raise ValueError(f"{name} has {dimension} {size}, {other} has {known}: they must be equal")
    if not positions:
        return
    if len(positions) > 3:
        raise ValueError(f"positions have {len(positions)} dimensions, "
                         "want [tokens], [batch, tokens] or [axes, batch, tokens]")
    if positions[-1] != sizes["tokens"][1]:
        raise ValueError(f"positions are of {positions[-1]} tokens, {sizes['tokens'][0]} has {sizes['tokens'][1]}")
    batch = sizes["batch"][1] if "batch" in sizes else 1
    if len(positions) == 3 and 1 < positions[0] < rope.axes:
        raise ValueError(f"positions have {positions[0]} axes, the rope wants {rope.axes}")
    if len(positions) > 1 and positions[-2] != 1 and positions[-2] != batch:
        raise ValueError(f"positions are of {positions[-2]} sequences, want {batch} or 1")
