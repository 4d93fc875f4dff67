"""Buffers and tensors of the host in arithmetic: Python's is refused, NumPy's is made with their elements.

Of a format that NumPy has not, such as bfloat16, ``.numpy()`` is the bits, with which nobody computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from weft.diagnostics.errors import LaunchError, a_, elaborating, refuse

SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
"""The binary operators: their methods are ``__add__``, ``__radd__`` and ``__iadd__``, and so on."""
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}
_OF_SHAPES = ("shape", "size", "ndim")
"""Functions of NumPy's that look at no element."""


def not_in_arithmetic(
    cls: type[Any], elements: Callable[[Any], str], is_copied: Callable[[Any], bool] = lambda _: False
) -> None:
    """Have objects of a class refuse Python's arithmetic, and be arrays to NumPy's functions.

    Args:
        cls: the class.
        elements: how the host comes to the elements of one as an array.
        is_copied: whether ``.numpy()`` of one is a copy, to which NumPy must not write.
    """

    def operator(sign: str, *, in_place: bool = False) -> Callable[..., Any]:
        def computed(self: Any, *other: object) -> Any:
            if not in_place and any(map(is_numpys, other)):
                return NotImplemented  # which asks NumPy
            if elaborating.now:
                hint = f"give the kernel a parameter for it, and compute with its elements: x[i] {sign} y[i]"
                refuse("operand", f"`{sign}` does not compute with {a_(cls.__name__)}", hint)
            hint = f"{elements(self)} and compute with that; or write a kernel, or weft.algorithm.elementwise"
            raise LaunchError.here("operand", f"`{sign}` does not compute with {a_(cls.__name__)}", hint)

        return computed

    def as_array(self: Any, *, bits: bool) -> Any:
        if hasattr(cls, "numpy") and (bits or self.dtype.in_numpy):
            array = self.numpy()
            if is_copied(self):
                array.flags.writeable = False
            return array
        _refuse_numpy(cls, self.dtype, elements(self))

    def ufunc(self: Any, called: Any, method: str, /, *inputs: Any, **named: Any) -> Any:
        return getattr(called, method)(*_arrays(inputs), **_arrays(named))

    def function(self: Any, called: Any, types: Any, args: Any, named: Any) -> Any:
        bits = called.__name__ in _OF_SHAPES
        return called(*_arrays(args, bits=bits), **_arrays(named, bits=bits))

    made: dict[str, Any] = {f"{r}{name}": operator(s) for name, s in SIGNS.items() for r in ("", "r")}
    made |= {f"i{name}": operator(f"{sign}=", in_place=True) for name, sign in SIGNS.items()}
    made |= {name: operator(sign) for name, sign in _UNARY.items()}
    made |= {"array_ufunc": ufunc, "array_function": function, "weft_as_array": as_array}
    for name, method in made.items():
        setattr(cls, f"__{name}__", method)


def is_numpys(value: object) -> bool:
    """Whether NumPy computes with it: an array or a number of its own, or of a library that joins it."""
    kind = type(value)
    return hasattr(kind, "__array_ufunc__") and not hasattr(kind, "__weft_as_array__")


def _refuse_numpy(cls: type[Any], dtype: object, hint: str) -> NoReturn:
    message = f"NumPy has no {dtype}, and would compute with its bits"
    if not hasattr(cls, "numpy"):
        message = f"NumPy does not compute with {a_(cls.__name__)}, whose elements are on the device"
    raise LaunchError.here("operand", message, f"{hint} and compute with that")


def _arrays(value: Any, *, bits: bool = False) -> Any:
    """Arguments with arrays in place of buffers and tensors."""
    if hasattr(value, "__weft_as_array__"):
        return value.__weft_as_array__(bits=bits)
    kind: Any = value.__class__
    if kind is dict:
        return {name: _arrays(each, bits=bits) for name, each in value.items()}
    each = [_arrays(each, bits=bits) for each in value] if kind in (list, tuple) else []
    return each if kind is list else tuple(each) if kind is tuple else value
