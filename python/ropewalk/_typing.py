"""What calls return, for type checkers: what is given is what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from . import Angles, Rope

X = TypeVar("X")
K = TypeVar("K")


class Functional(Protocol):
    """rotate() and its kin."""

    __name__: str

    @overload
    def __call__(self, rope_or_angles: Rope | Angles, x: X, positions: Any = ..., *, k: None = None, out: None = None,
                 layout: str = ...) -> X: ...

    @overload
    def __call__(self, rope_or_angles: Rope | Angles, x: X, positions: Any = ..., *, k: K, out: None = None,
                 layout: str = ...) -> tuple[X, K]: ...

    @overload
    def __call__(self, rope_or_angles: Rope | Angles, x: Any, positions: Any = ..., *, k: Any = ..., out: Any,
                 layout: str = ...) -> Any: ...


class InPlace(Protocol):
    """rotate_() and its kin."""

    __name__: str

    @overload
    def __call__(self, rope_or_angles: Rope | Angles, x: X, positions: Any = ..., *, k: None = None,
                 layout: str = ...) -> X: ...

    @overload
    def __call__(self, rope_or_angles: Rope | Angles, x: X, positions: Any = ..., *, k: K,
                 layout: str = ...) -> tuple[X, K]: ...


def functional(function: Callable[..., Any]) -> Functional:
    return function


def in_place(function: Callable[..., Any]) -> InPlace:
    return function
