"""What a function reads of the program around it, found from its code and all that it reaches.

Functions, methods, classes, modules, containers and instances are followed; libraries are not looked into
(Python's own, installed packages, weft itself), but what is read of them by name counts. A name that is
made while a kernel is compiled, a file, or the inside of a foreign object cannot be followed.
"""

from __future__ import annotations

import enum
import functools
import gc
import importlib.util
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from operator import attrgetter, methodcaller
from types import (
    BuiltinMethodType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, TypeVar, cast

from weft.compiler.source.definition import Definition, Scope
from weft.compiler.source.names import Named, named
from weft.compiler.source.python import scope_of
from weft.lang.decorators import Compiled
from weft.lang.number import Number
from weft.lang.reads import NOTHING, Reads, annotations_of
from weft.lang.told_apart import BYTES, ITEMS, is_array, may_change

T = TypeVar("T")

_UNKNOWN: Any = object()
_HEAP = 1 << 9
"""The flag of classes whose attributes can be set."""
_OPEN = (list, tuple, set, frozenset, deque)
_elaborated: ContextVar[list[Definition] | None] = ContextVar("weft_elaborated", default=None)


def note(fn: Definition) -> None:
    """Say that a function is elaborated; ``read_while`` wants to know."""
    under_way = _elaborated.get()
    if under_way is not None:
        under_way.append(fn)


def read_while(roots: Iterable[Any], make: Callable[[], T]) -> tuple[T, Reads]:
    """What ``make`` gives, and what the code that it elaborates has read.

    Where that changes meanwhile, it is made again. What the elaboration itself changes each time is left
    out, since it would never be the same.
    """
    roots = list(roots)
    made: list[Definition] = []
    token = _elaborated.set(made)
    try:
        before = reads_of(roots)
        result = make()
        reads = reads_of([*roots, *made])
        if not before.hold():
            result = make()
            reads = reads.unchanged()
        return result, reads
    finally:
        _elaborated.reset(token)


def reads_of(roots: Iterable[Any]) -> Reads:
    """What functions and values read, as it is now."""
    walk = _Walk()
    for root in roots:
        walk.root(root)
    walk.finish()
    return walk.reads


def reads_of_signature(fn: Definition) -> Reads:
    """What the parameters of a function depend on."""
    walk = _Walk(deep=False)
    if fn.function is not None:
        walk.signature(fn.function)
    return walk.reads


class _Walk:
    def __init__(self, *, deep: bool = True) -> None:
        self.deep = deep
        self.reads = Reads()
        self.seen: dict[int, Any] = {}
        self.homes: set[str] = set()
        """Packages that are looked into though they are installed: those of the functions to compile."""
        self.loose: set[str] = set()
        """Attributes of what is only known when it runs: looked for in all that has attributes."""
        self.holders: list[Any] = []

    def root(self, value: Any) -> None:
        """Begin with a value, whose own content is known."""
        if isinstance(value, Definition):
            self.homes.add(package_of(value.module))
        self.value(value, inside=False)

    def finish(self) -> None:
        """Look for loose attributes, until there are no more."""
        done: set[tuple[int, str]] = set()
        while True:
            todo = [(h, n) for h in self.holders for n in self.loose if (id(h), n) not in done]
            if not todo:
                return
            for holder, name in todo:
                done.add((id(holder), name))
                if any(name in space for space in _spaces(holder)):
                    self.value(self.attribute(holder, name))
                    self.of_bases(holder, name)

    def of_bases(self, holder: Any, name: str) -> None:
        """Read an attribute of all classes of a holder: by super() another than the first may be meant."""
        cls = cast("type[Any]", holder if isinstance(holder, type) else type(holder))
        for base in cls.__mro__:
            if _is_settable(base) and not _is_own(base.__module__) and name in base.__dict__:
                self.value(self.reads.name(_dict_of(base), name))

    # -- values ---------------------------------------------------------------------------------
    def value(self, value: Any, *, inside: bool = True) -> None:
        """Look into a value; ``inside`` says whether its items are to be compared."""
        kind = cast("type[Any]", type(value))
        if not self.deep or kind in _SIMPLE or id(value) in self.seen or isinstance(value, Number):
            return
        self.seen[id(value)] = value
        if isinstance(value, FunctionType):
            self.function(value)
        elif isinstance(value, Definition):
            self.definition(value)
        elif isinstance(value, Compiled):
            self.value(value.definition)
            self.every(value.bound.values())
        elif isinstance(value, ModuleType):
            if not _is_own(value.__name__):
                self.holders.append(value)
        elif isinstance(value, type):
            self.cls(value)
        elif issubclass(kind, (*_OPEN, dict, MappingProxyType)):
            self.container(value, inside)
        elif is_array(value):
            if inside and value.nbytes <= BYTES and may_change(value):
                self.reads.container(value)
        else:
            self.instance(value, kind)

    def every(self, values: Iterable[Any]) -> None:
        """Look into several values."""
        for value in values:
            self.value(value)

    def container(self, value: Any, inside: bool) -> None:
        """Look into the items, where these are few."""
        kind = cast("type[Any]", type(value))
        if len(value) > ITEMS:
            return
        if inside and not issubclass(kind, (tuple, frozenset)):
            self.reads.container(value)
        items: list[Any] = list(cast("Iterable[Any]", value))
        if issubclass(kind, (dict, MappingProxyType)):
            items += value.values()
        for item in items:
            self.value(item, inside=inside)
        if type(value) not in _SIMPLE_CONTAINERS:
            self.instance(value, cast("type[Any]", type(value)))

    def instance(self, value: Any, kind: type[Any]) -> None:
        """Look into an object: what it wraps, and its class."""
        if kind is MethodType:
            self.every((value.__func__, value.__self__))
        elif kind in (BuiltinMethodType, MethodWrapperType):
            if isinstance(value.__self__, ModuleType):
                self.reads.builtins.add(value)
            else:
                self.value(value.__self__)
        elif kind in (staticmethod, classmethod):
            self.value(value.__func__)
        elif kind is property:
            self.every((value.fget, value.fset))
        elif kind is functools.partial:
            self.every((value.func, value.args, value.keywords))
        elif kind in (attrgetter, methodcaller):
            texts = [text for text in value.__reduce__()[1] if isinstance(text, str)]
            self.loose.update(name for text in texts for name in text.split("."))
        elif kind is functools.cached_property:
            self.value(value.func)
        elif isinstance(value, (functools._lru_cache_wrapper)):  # pyright: ignore[reportPrivateUsage]
            self.value(value.__wrapped__)
        elif not _is_own(kind.__module__) and (hasattr(value, "__dict__") or self.open(kind.__module__)):
            self.cls(kind)
            if not isinstance(value, enum.Enum):
                self.holders.append(value)

    def cls(self, cls: type[Any]) -> None:
        """Look into a class: what its methods read."""
        if not self.open(cls.__module__) or cls.__module__ == "builtins":
            return
        self.seen[id(cls)] = cls
        self.holders.append(cls)
        for base in cls.__mro__:
            if not _is_settable(base) or not self.open(base.__module__):
                continue
            space = _dict_of(base)
            for name, item in list(space.items()):
                if isinstance(item, (FunctionType, Compiled, staticmethod, classmethod, property)):
                    if name[:2] == name[-2:] == "__":  # it is called without being named
                        self.reads.name(space, name)
                    self.value(item)
        if issubclass(cls, enum.Enum):
            self.every(member.value for member in cls)
        kind = cast("type[Any]", type(cls))
        if kind is not type and self.open(kind.__module__):
            self.value(kind)

    def open(self, module: object) -> bool:
        """Whether the code of a module is looked into."""
        return not _is_own(module) and (
            package_of(module) in self.homes or not is_library(package_of(module))
        )

    # -- functions ------------------------------------------------------------------------------
    def function(self, fn: FunctionType) -> None:
        """Look into a function: its parts, and what its code names."""
        module = str(fn.__globals__.get("__name__", fn.__module__))
        if not self.open(module):
            if not _is_own(module) and package_of(module) not in sys.stdlib_module_names:
                self.reads.foreign.append(fn)
            self.value(fn.__dict__.get("__wrapped__"))  # the program's, as of contextlib.contextmanager
            return
        self.signature(fn)
        self.every(fn.__defaults__ or ())
        self.every((fn.__kwdefaults__ or {}).values())
        self.every((annotations_of(fn) or {}).values())
        if fn.__dict__:
            self.holders.append(fn)
        self.code(scope_of(fn), named(fn.__code__), None)

    def definition(self, of: Definition) -> None:
        """Look into a definition: a Python function, or what cannot be given other parts."""
        for one in of.overloads:
            self.value(one)
        if of.function is not None:
            self.value(of.function)
        elif self.open(of.module):
            self.reads.definitions.append(of)
            for p in of.parameters():
                self.every((p.annotation, p.default))
            self.code(of.scope, of.reads(), None)

    def signature(self, fn: FunctionType) -> None:
        """What the parameters depend on: defaults, annotations and what these name."""
        self.reads.function(fn)
        annotations = annotations_of(fn)
        for part in (fn.__kwdefaults__, annotations):
            if part:
                self.reads.container(part)
        for annotation in (annotations or {}).values():
            if isinstance(annotation, str):
                self.annotation(fn, annotation)

    def annotation(self, fn: FunctionType, text: str) -> None:
        """What an annotation names, which is evaluated where the function stands."""
        code = _compiled(text)
        if code is not None:
            self.code(scope_of(fn), code, getattr(fn, "__weft_locals__", {}))

    def code(self, scope: Scope, code: Named, local: dict[str, Any] | None) -> None:
        """What code in a scope reads; of an annotation, ``local`` is what hides all other names."""
        cells = scope.cells
        self.loose |= code.attributes | code.strings
        reached: list[Any] = []
        for chain in (*sorted(code.free), *sorted(code.globals)):
            name, *rest = chain
            if local is not None and name in local:
                value = local[name]
            elif name in cells and (chain in code.free or local is not None):
                value = self.reads.cell(cells[name])
            else:
                value = self.reads.name(scope.globals, name)
                if value is NOTHING:
                    value = self.reads.name(scope.builtins, name)
            reached += self.chain(value, rest)
        if code.strings:
            for name in sorted(code.strings):
                if ("globals",) in code.globals:
                    self.value(self.reads.name(scope.globals, name))
                for holder in reached:
                    self.attribute(holder, name)
        for name, level in code.imports:
            found = _module(scope, name, level)
            self.value(found)

    def chain(self, value: Any, names: Sequence[str]) -> list[Any]:
        """Look into a value, and what attributes lead to from it; all of them.

        Where that ends, at a property or at what is given to a function, the rest may be of anything.
        """
        self.value(value)
        reached = [value]
        for n, name in enumerate(names):
            if value is NOTHING:
                break
            holder, value = value, self.attribute(value, name)
            if value is _UNKNOWN:
                kind = cast("type[Any]", type(holder))
                own = holder.__name__ if isinstance(holder, ModuleType) else kind.__module__
                self.loose.update(names[n:] if not _is_own(own) else ())
                break
            self.value(value)
            reached.append(value)
        return reached

    def attribute(self, holder: Any, name: str) -> Any:
        """Read an attribute as Python finds it; _UNKNOWN where it is computed or not there."""
        if isinstance(holder, ModuleType):
            if _is_own(holder.__name__):
                return _UNKNOWN
            found = self.reads.name(vars(holder), name)
            if found is NOTHING:
                self.value(self.reads.name(vars(holder), "__getattr__"))
            return _UNKNOWN if found is NOTHING else found
        kind = cast("type[Any]", type(holder))
        if _is_own(kind.__module__) and not isinstance(holder, type):
            return _UNKNOWN
        if isinstance(holder, enum.EnumMeta) and name in holder.__members__:
            return holder.__members__[name]
        found = self.of_class(cast("type[Any]", holder) if isinstance(holder, type) else kind, name)
        if isinstance(found, MemberDescriptorType) and not isinstance(holder, type):
            found = self.reads.slot(holder, found)
            return _UNKNOWN if found is NOTHING else found
        if not isinstance(holder, type):
            space = getattr(holder, "__dict__", None)
            if type(space) is dict and not isinstance(found, property):
                own = self.reads.name(cast("dict[str, Any]", space), name)
                found = found if own is NOTHING else own
        elif found is _UNKNOWN and kind is not type:
            found = self.of_class(kind, name)
        if isinstance(found, (staticmethod, classmethod)):
            return cast("Any", found).__func__
        self.value(found)
        return _UNKNOWN if isinstance(found, (property, MemberDescriptorType)) else found

    def of_class(self, cls: type[Any], name: str) -> Any:
        """Read an attribute of a class or of its bases."""
        for base in cls.__mro__:
            if _is_settable(base) and not _is_own(base.__module__):
                found = self.reads.name(_dict_of(base), name)
                if found is not NOTHING:
                    return found
        return _UNKNOWN


_SIMPLE: frozenset[Any] = frozenset(
    (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, slice)
)
_SIMPLE_CONTAINERS: frozenset[Any] = frozenset((*_OPEN, dict, MappingProxyType))


def _spaces(holder: Any) -> list[Any]:
    """The namespaces in which attributes of an object are found."""
    spaces = [getattr(holder, "__dict__", {})]
    if not isinstance(holder, ModuleType):
        cls = holder if isinstance(holder, type) else type(holder)
        spaces += [base.__dict__ for base in cast("type[Any]", cls).__mro__ if _is_settable(base)]
    return spaces


def _dict_of(cls: type[Any]) -> dict[str, Any]:
    """The dictionary itself that a class shows a view of."""
    return cast("dict[str, Any]", gc.get_referents(cls.__dict__)[0])


def _is_settable(cls: type[Any]) -> bool:
    return bool(cls.__flags__ & _HEAP)


def package_of(module: object) -> str:
    """The package of a module's name, which a class may have set to anything."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def _is_own(module: object) -> bool:
    return package_of(module) == "weft"


@functools.lru_cache(maxsize=1024)
def is_library(top: str) -> bool:
    """Whether a package is Python's own or an installed one."""
    if top == "__main__":  # a file of its own, or a notebook
        return False
    if top in sys.stdlib_module_names:
        return True
    found = sys.modules.get(top)
    places = [getattr(found, "__file__", None), *getattr(found, "__path__", ())]
    return any("site-packages" in str(place) or "dist-packages" in str(place) for place in places)


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> Named | None:
    try:
        return named(compile(text, "<annotation>", "eval"))
    except SyntaxError:
        return None


def _module(scope: Scope, name: str, level: int) -> Any:
    """The module that an import in a function means; None where it is not imported yet."""
    if level:
        package = str(scope.globals.get("__package__") or "")
        try:
            name = importlib.util.resolve_name("." * level + name, package)
        except ImportError:
            return None
    return sys.modules.get(name)
