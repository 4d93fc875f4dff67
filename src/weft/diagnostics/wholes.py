"""Buffers and tensors of the host, compared or as conditions: refused, as no one answer is meant.

NumPy compares elements and has no truth of several; Python asks whether two are one object, and whether there
are elements. Who writes ``a == b`` or ``if a:`` may mean either. As keys they stay themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from weft.diagnostics.arithmetic import is_numpys
from weft.diagnostics.errors import LaunchError, a_, elaborating, refuse


def not_as_wholes(cls: type[Any], elements: Callable[[Any], str]) -> None:
    """Have objects of a class refuse comparisons and conditions.

    Args:
        cls: the class; its ``__hash__`` stays as it is.
        elements: how the host comes to the elements of one as an array.
    """
    called = cls.__name__

    def compared(self: Any, other: object) -> Any:
        if is_numpys(other) and hasattr(cls, "numpy") and self.dtype.in_numpy:
            return NotImplemented  # NumPy's arrays compare elements
        _refuse(
            "operand",
            f"{a_(called)} is not compared as a whole",
            f"{elements(self)} and compare that; `is` asks whether two are one object",
        )

    def equal(self: Any, other: object) -> Any:  # of itself as weak references ask, which are keys
        return True if self is other and not elaborating.now else compared(self, other)

    def unequal(self: Any, other: object) -> Any:
        return False if self is other and not elaborating.now else compared(self, other)

    def as_condition(self: Any) -> NoReturn:
        _refuse(
            "condition",
            f"{a_(called)} is not a condition",
            f"{elements(self)} and of that any() or all(); `is not None` asks whether there is one",
        )

    orders = dict.fromkeys(("lt", "le", "gt", "ge"), compared)
    for name, what in {**orders, "eq": equal, "ne": unequal, "bool": as_condition}.items():
        setattr(cls, f"__{name}__", what)


def _refuse(code: str, message: str, hint: str) -> NoReturn:
    if elaborating.now:
        refuse(code, message, "give the kernel a parameter for it, and compare its elements: x[i] == y[i]")
    raise LaunchError.here(code, message, hint)
