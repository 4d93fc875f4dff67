"""When two Python values lead to one code: the one notion of equality that the compiler has.

``==`` will not do: 1, 1.0 and True are equal, and so are 0.0 and -0.0, {"a": 1} and {"a": True}, arrays of
several types, and dataclasses that leave a field out. Here values are the same where type and content are,
all the way down; what is no container, number, text or array is the same only where it is the same object.
"""

from __future__ import annotations

import array
import collections
import enum
import functools
import struct
import sys
import types
from collections.abc import Callable
from typing import Any, cast

from weft.lang.number import Number
from weft.lang.objects import STATE

ITEMS, BYTES = 1 << 16, 1 << 20
"""Items of a captured container, and bytes of an array, up to which launches see that they have changed."""
_MANY = 1024
_PLAIN = frozenset((int, bool, str, bytes, type(None)))
_pairs: Any = dict[Any, Any].items


def _in_order(cls: Any) -> Callable[[Any], list[Any]]:
    """The items as a loop takes them, those of sets too."""
    return lambda v: list(cls.__iter__(v))


_CONTENTS: dict[Any, Callable[[Any], list[Any]]] = {
    tuple: _in_order(tuple),
    list: _in_order(list),
    dict: lambda v: [part for pair in _pairs(v) for part in pair],
    set: _in_order(set),
    frozenset: _in_order(frozenset),
    collections.deque: lambda v: [v.maxlen, *v],
    types.MappingProxyType: lambda v: [dict(v)],
    types.SimpleNamespace: lambda v: [vars(v)],
    float: lambda v: [struct.pack("<d", float.__float__(v))],
    int: lambda v: [int.__int__(v)],
    str: lambda v: [str.__str__(v)],
    bytes: lambda v: [bytes.__getitem__(v, slice(None))],
    bytearray: lambda v: [bytes(v)],
    complex: lambda v: [struct.pack("<dd", v.real, v.imag)],
    array.array: lambda v: [v.typecode, v.tobytes()],
    memoryview: lambda v: [v.format, v.shape, v.strides, v.tobytes()],
    range: lambda v: [v.start, v.stop, v.step],
    slice: lambda v: [v.start, v.stop, v.step],
    functools.partial: lambda v: [v.func, v.args, v.keywords],
    types.MethodType: lambda v: [v.__func__, v.__self__],
    types.GenericAlias: lambda v: [v.__origin__, v.__args__],
    types.UnionType: lambda v: [v.__args__],
}
"""What of an instance of a class is its content."""
_BY_TEXT = frozenset((("decimal", "Decimal"), ("fractions", "Fraction")))
"""Classes whose instances are what they print, by name: they are seldom imported."""


class Identity:
    """An object that only it itself equals; kept alive, so that no other gets its address."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value: object = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class _End:
    """Where the parts of a container end."""

    __slots__ = ("of",)

    def __init__(self, of: int) -> None:
        self.of = of


def told_apart(value: object) -> tuple[object, ...]:
    """A key that two values share only where their types and contents are the same, as they are now.

    Containers, dataclasses and NumPy's arrays count by content, in order; any other object is itself. The
    key is flat, however deep a value is.

    Example:
        >>> told_apart([1]) == told_apart([1]), told_apart([1]) == told_apart([1.0])
        (True, False)
    """
    if type(value) in _PLAIN:
        return type(value), value
    key: list[object] = []
    waiting: list[object] = [value]
    begun: dict[int, int] = {}
    """How deep the containers under way are, by address: one may hold itself."""
    alive: list[object] = []
    while waiting:
        one = waiting.pop()
        kind = cast("type[Any]", type(one))
        if kind in _PLAIN:
            key += (kind, one)
            continue
        if kind is _End:
            del begun[cast("_End", one).of]
            continue
        if id(one) in begun:
            key += (_End, begun[id(one)])
            continue
        parts = _parts(one, kind)
        if parts is None:
            key.append(Identity(one))
            continue
        key += (kind if kind in _CONTENTS else Identity(kind), len(parts))
        begun[id(one)] = len(begun)
        alive.append(one)
        waiting.append(_End(id(one)))
        waiting += reversed(parts)
    return tuple(key)


def same(a: object, c: object) -> bool:
    """Whether two values lead to one code."""
    return a is c or (type(a) is type(c) and told_apart(a) == told_apart(c))


def is_array(value: object) -> bool:
    """Whether a value is an array of NumPy's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def may_change(array: Any) -> bool:
    """Whether somebody may write to an array of NumPy's: to itself, or to what it is a part of."""
    if not is_array(array):
        return not isinstance(array, (bytes, type(None)))
    return array.flags.writeable or may_change(array.base)


def _parts(value: Any, kind: type[Any]) -> list[Any] | None:
    """The content of a value; None for one that is only itself."""
    usual = _CONTENTS.get(kind)
    if usual is not None:
        return usual(value)
    if isinstance(value, (type, enum.Enum)):
        return None
    parts_of = getattr(kind, "__weft_parts__", None)
    if parts_of is not None:
        return parts_of(value)
    if "numpy" in sys.modules and any(c.__module__ == "numpy" for c in kind.__mro__):
        found = _parts_of_numpy(value)
        if found is not None:
            return found
    for cls, content in _CONTENTS.items():
        if issubclass(kind, cls):
            return [*content(value), state_of(value)]
    if (kind.__module__, kind.__name__) in _BY_TEXT:
        return [str(value)]
    if isinstance(value, Number) or hasattr(kind, "__dataclass_fields__"):
        return [state_of(value)]
    if kind in (types.BuiltinMethodType, types.MethodWrapperType):
        of = value.__self__
        return None if of is None or isinstance(of, types.ModuleType) else [value.__name__, of]
    if kind.__module__ == "typing" and hasattr(value, "__origin__"):
        return [value.__origin__, getattr(value, "__args__", ()), getattr(value, "__metadata__", ())]
    return None


def state_of(value: Any) -> dict[str, Any]:
    """The attributes that an instance has of its own, by name; not what it computes and remembers."""
    kind = cast("type[Any]", type(value))
    state: dict[str, Any] = dict(getattr(value, "__dict__", ()))
    state.pop(STATE, None)  # which says nothing of what it holds
    for cls in kind.__mro__:
        for name, member in cls.__dict__.items():
            if isinstance(member, types.MemberDescriptorType):  # of __slots__, or of a class of C's
                try:
                    state[name] = member.__get__(value)
                except AttributeError:  # not set
                    continue
    computed = [n for n in state if isinstance(getattr(kind, n, None), functools.cached_property)]
    return {name: state[name] for name in sorted(state.keys() - set(computed))}


def _short(data: bytes) -> bytes:
    """Bytes, or what stands for many of them."""
    if len(data) <= _MANY:
        return data
    from hashlib import sha256  # here, since it loads OpenSSL

    return sha256(data).digest()


def _parts_of_numpy(value: Any) -> list[Any] | None:
    """The content of an array, of a scalar or of a type of NumPy's; None for another object."""
    import numpy as np

    if isinstance(value, np.dtype):
        dtype = cast("Any", value)
        return [dtype.char, repr(dtype), dict(dtype.metadata or {})]
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    held = cast("Any", value)
    content = held.tolist() if held.dtype.hasobject else _short(held.tobytes())
    return [held.dtype, held.shape, held.strides, content, getattr(held, "__dict__", None)]
