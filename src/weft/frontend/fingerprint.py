"""What a kernel's code depends on, as a digest: found without compiling it.

A function is its compiled Python code, its place, what it captures and the globals that it names,
each followed in turn; a value is its content. What cannot be told apart by content (an object of a
user's class, say) has no fingerprint, and the kernel is then compiled each time.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import hashlib
import types
from typing import Any, cast

from weft.lang.decorators import Compiled
from weft.lang.number import Number
from weft.lang.signature import closure_values

__all__ = ["NoFingerprint", "fingerprint"]

_LIMIT = 5000
_LIVE = ("weft.runtime", "weft.launch", "weft.tensor")
"""Whose objects stand for something outside, not for their content."""
_LOAD_GLOBAL, _EXTENDED = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]
_PLAIN = (bool, int, float, complex, str, bytes)


class NoFingerprint(Exception):
    """Something that the code depends on has no content to go by."""


def fingerprint(*values: Any) -> str:
    """The digest of functions and values, as hexadecimal text.

    Raises:
        NoFingerprint: one of them, or something that they reach, has none.
    """
    reader = _Reader()
    for value in values:
        reader.value(value)
    return reader.digest.hexdigest()


class _Reader:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.keep: list[Any] = []
        self.count = 0

    def put(self, *parts: object) -> None:
        """Add text; every part is followed by its length, so that no two lists of parts are alike."""
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self.digest.update(data)
            self.digest.update(b"\0%d\0" % len(data))

    def value(self, value: Any) -> None:
        """Add any value."""
        self.count += 1
        if self.count > _LIMIT:
            raise NoFingerprint("too much is reached")
        if value is None or value is Ellipsis or isinstance(value, _PLAIN):
            self.put(type(value).__name__, repr(value))
            return
        if id(value) in self.seen:
            self.put("again", self.seen[id(value)])
            return
        self.seen[id(value)] = len(self.seen)
        self.keep.append(value)  # so that no other object gets its id
        if isinstance(value, (tuple, list)):
            self.put(type(value).__name__, len(value))  # pyright: ignore[reportUnknownArgumentType]
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                self.value(item)
        elif isinstance(value, (set, frozenset)):
            items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            if not all(isinstance(item, _PLAIN) for item in items):
                raise NoFingerprint("a set of objects")
            self.put("set", sorted(map(repr, items)))
        elif isinstance(value, dict):
            self.put("dict", len(value))  # pyright: ignore[reportUnknownArgumentType]
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                self.value(key)
                self.value(item)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, Compiled):
            self.put(type(value).__name__)
            self.value(value.function)
            self.value(dict(sorted(value.bound.items())))
        elif isinstance(value, type):
            self.type(value)
        elif isinstance(value, types.ModuleType):
            self.put("module", value.__name__)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            self.put("builtin", getattr(value, "__module__", ""), value.__qualname__)
        elif type(value).__module__ == "typing":
            self.put("typing", repr(value))
        elif isinstance(value, enum.Enum):
            self.put("enum", type(value).__qualname__, value.name)
        else:
            self.instance(value)

    def function(self, fn: types.FunctionType) -> None:
        """Add a function: code, defaults, captured values, globals that it names."""
        module: str = fn.__module__ or ""
        if module.startswith("weft."):  # weft's own code is part of the key as a whole
            self.put("weft", module, fn.__qualname__)
            return
        self.code(fn.__code__)
        self.value(fn.__defaults__)
        self.value(fn.__kwdefaults__)
        self.put(sorted((k, str(v)) for k, v in fn.__annotations__.items() if isinstance(v, str)))
        for name, annotation in fn.__annotations__.items():
            if not isinstance(annotation, str):
                self.put(name, repr(annotation))
        for name, held in sorted(closure_values(fn).items()):
            self.put("free", name)
            self.value(held)
        names = _globals(fn.__code__)
        for text in fn.__annotations__.values():
            if isinstance(text, str):
                names |= {n for n in fn.__globals__ if n in text}
        for name in sorted(names & fn.__globals__.keys()):
            self.put("global", name)
            held = fn.__globals__[name]
            self.value(held)
            if isinstance(held, types.ModuleType) and not held.__name__.startswith("weft"):
                self.attributes(held, _names(fn.__code__))

    def attributes(self, module: types.ModuleType, names: set[str]) -> None:
        """Add what of a module the code may mean: every name of the code that the module has."""
        for name in sorted(names & vars(module).keys()):
            held = vars(module)[name]
            if isinstance(held, types.ModuleType):
                continue
            self.put("attribute", name)
            self.value(held)

    def code(self, code: types.CodeType) -> None:
        """Add compiled Python, with the lines that diagnostics and line tables name."""
        self.put(code.co_filename, code.co_firstlineno, code.co_name, code.co_code, code.co_linetable)
        self.put(code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                self.code(const)
            elif isinstance(const, frozenset):
                self.put("frozenset", sorted(map(repr, const)))  # pyright: ignore[reportUnknownArgumentType]
            else:
                self.value(const)

    def type(self, cls: type[Any]) -> None:
        """Add a class: by name if it is a builtin's or weft's, else by its content."""
        self.put("class", cls.__module__, cls.__qualname__)
        if issubclass(cls, Number) or cls.__module__ == "builtins" or cls.__module__.startswith("weft."):
            return
        for name, item in sorted(vars(cls).items()):
            if isinstance(item, (types.FunctionType, Compiled, staticmethod, classmethod, *_PLAIN)):
                self.put(name)
                inner: object = (
                    cast("Any", item).__func__ if isinstance(item, (staticmethod, classmethod)) else item
                )
                if not _generated(inner):
                    self.value(inner)
        self.put(repr(getattr(cls, "__annotations__", {})))
        for base in cls.__bases__:
            self.value(base)

    def instance(self, value: Any) -> None:
        """Add an object by its fields, where its class is one whose fields are all there is."""
        cls = cast("type[Any]", type(value))
        if cls.__module__.split(".")[0] == "numpy" and hasattr(value, "tobytes"):
            self.put("numpy", value.dtype.str, value.shape, value.tobytes())
            return
        if cls.__module__.startswith(_LIVE):
            raise NoFingerprint(f"a {cls.__qualname__}")
        own = cls.__module__ == "weft" or cls.__module__.startswith("weft.")
        if not own and not dataclasses.is_dataclass(cls):
            raise NoFingerprint(f"a {cls.__qualname__}")
        self.value(cls)
        names: list[str] = sorted(getattr(value, "__dict__", {}))
        for base in cls.__mro__:
            slots = base.__dict__.get("__slots__", ())
            names += [slots] if isinstance(slots, str) else list(slots)
        for name in names:
            if name not in ("__weakref__", "__dict__") and hasattr(value, name):
                self.put(name)
                self.value(getattr(value, name))


def _generated(item: object) -> bool:
    """Whether ``dataclass`` wrote the method: it follows from the fields."""
    if not isinstance(item, types.FunctionType):
        return False
    file = item.__code__.co_filename
    return file.startswith("<") or file == dataclasses.__file__


def _globals(code: types.CodeType) -> set[str]:
    """Every global that the code reads; the low bit of LOAD_GLOBAL's argument is a flag."""
    names: set[str] = set()
    text, high = code.co_code, 0
    for at in range(0, len(text), 2):
        operation, argument = text[at], text[at + 1] | high
        high = argument << 8 if operation == _EXTENDED else 0
        if operation == _LOAD_GLOBAL:
            names.add(code.co_names[argument >> 1])
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _globals(const)
    return names


def _names(code: types.CodeType) -> set[str]:
    """Every global or attribute that the code names."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _names(const)
    return names
