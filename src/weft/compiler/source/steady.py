"""One function object for all that Python makes again and again from the same code, such as lambdas."""

from __future__ import annotations

from types import FunctionType
from typing import Any

_steady: dict[int, FunctionType] = {}
_MOST = 256
_OF_CODE = "__code__", "__globals__"
_OF_FUNCTION = "__defaults__", "__kwdefaults__", "__annotations__"


def steady(func: Any) -> Any:
    """The first function of the same code that is the same otherwise: a call makes its lambda anew."""
    if type(func) is not FunctionType or func.__closure__ or func.__dict__:
        return func
    known = _steady.get(id(func.__code__))
    if known is not None and all(getattr(known, part) is getattr(func, part) for part in _OF_CODE):
        if all(getattr(known, part) == getattr(func, part) for part in _OF_FUNCTION):
            return known
    if len(_steady) >= _MOST:
        _steady.clear()
    _steady[id(func.__code__)] = func
    return func
