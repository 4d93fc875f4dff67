"""Whole tensors that are compared, or taken for a condition: in kernels and on the host both are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.diagnostics import refuse
from weft.diagnostics.wholes import not_as_wholes
from weft.lang.hints import kind_of


def refuse_wholes(cls: type[Any]) -> None:
    """Have tensors of the class refuse it."""
    not_as_wholes(cls, _elements_of)
    setattr(cls, "__bool__", _condition(getattr(cls, "__bool__")))  # noqa: B009, B010  (of any class)
    for name, sign in (("eq", "=="), ("ne", "!="), ("lt", ""), ("le", ""), ("gt", ""), ("ge", "")):
        setattr(cls, f"__{name}__", _comparison(sign, getattr(cls, f"__{name}__")))


def _comparison(sign: str, on_host: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compared(self: Any, other: object) -> Any:
        if not self.in_kernel:
            return on_host(self, other)
        if not sign:
            return NotImplemented  # which Python refuses, with the sign as it was written
        message = f"`{sign}` cannot compare a LayoutTensor with {kind_of(other)}"
        refuse("operand", message, f"compare element by element: t[i, j] {sign} u[i, j]")

    return compared


def _condition(on_host: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def as_condition(self: Any) -> Any:
        if self.in_kernel:
            refuse("condition", "a LayoutTensor is not a condition", "compare something of it with a number")
        return on_host(self)

    return as_condition


def _elements_of(tensor: Any) -> str:
    if not hasattr(tensor.storage, "numpy"):
        return "take host.tensor(layout).numpy() in `with buffer.map_to_host() as host:`"
    return f"take {'.numpy()' if tensor.dtype.in_numpy else '.storage[:]'} of it"
