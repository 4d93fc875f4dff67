"""Functions of the program as arguments: the memory that they name goes with them.

A parameter that takes a function takes what that captures too: buffers, tensors and arrays, and values
of weft's types (``Float32(x)``, structs), each time as they are then. That may be a variable of a function
around it, a global, or an attribute of either, as ``self.x``; and what functions capture that it calls. All
else that it names is known at compile time, as for every kernel. Functions made of one ``def`` or lambda that
differ only in what they are given share their code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from weft.compiler.ir.core import Value
from weft.compiler.source.capturing import CapturingFunction, Chain, assigned_in, variable_of
from weft.compiler.source.definition import Scope
from weft.compiler.source.python import PythonFunction, definition_of
from weft.compiler.source.steady import steady as steady
from weft.diagnostics import is_internal, refuse
from weft.lang.accept import Accepted, Mismatch, accept_as
from weft.lang.captured import is_library
from weft.lang.decorators import Func, Kernel
from weft.lang.elaboration import current
from weft.lang.enums import EnumSpec
from weft.lang.number import Number
from weft.lang.partials import PartialSpec, taken_apart
from weft.lang.signature import bracketed
from weft.lang.spec import Leaf, PartsSpec, Spec, StaticSpec, build_each, leaves_of, leaves_within, spec_of
from weft.lang.structs import is_struct
from weft.lang.told_apart import Identity, told_apart
from weft.record import record

Accept = Callable[[Any], Accepted]
"""What a value is as an argument."""

FUNCTIONS = (FunctionType, Func, MethodType, functools.partial)
_MOST = 4096
_KNOWN: frozenset[Any] = frozenset(
    (bool, int, float, complex, str, bytes, range, slice, list, dict, set, frozenset, type(None), ModuleType)
)
_CONSTANT: frozenset[Any] = frozenset((bool, int, float, str, type(None)))
_NO_MEMORY = (type, ModuleType, BuiltinFunctionType, Kernel)
_definitions: dict[object, CapturingFunction] = {}
_ABSENT: Any = object()


@record
class HostClosureSpec:
    """A function: its code, and of what kinds that is which it captures."""

    definition: CapturingFunction
    bound: StaticSpec
    chains: tuple[Chain, ...]
    items: tuple[Spec, ...]

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return leaves_within([f".{'.'.join(chain)}" for chain in self.chains], self.items)

    def build(self, leaves: Sequence[Value]) -> HostClosure:
        """The value, from its leaves."""
        return HostClosure(self.definition, self.bound.value, self.chains, build_each(self.items, leaves))

    def describe(self) -> str:
        """How a message names it."""
        return f"the function {self.definition.name}"


class HostClosure:
    """A function of the program, in a kernel that was given it."""

    __weft_nested__ = True

    def __init__(
        self,
        definition: CapturingFunction,
        bound: dict[str, Any],
        chains: tuple[Chain, ...],
        values: list[Any],
    ) -> None:
        self.definition = definition
        self.bound = bound
        self.chains: tuple[Chain, ...] = tuple(chains)
        self._values = values
        self.__name__: str = definition.name

    @property
    def captures(self) -> tuple[str, ...]:
        """The variables of what it captures."""
        return tuple(map(variable_of, self.chains))

    def captured(self) -> list[Any]:
        """What it captures."""
        return self._values

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it from the code at hand."""
        return current().elaborator.call(cast("Any", self), args, kwargs)

    def __getitem__(self, item: Any) -> HostClosure:
        """The function with type variables and compile-time parameters given, in their order."""
        values = bracketed(self.definition, self.bound, item)
        if values is None:
            message = f"{self.__name__} has no compile-time parameters left for all that is in the brackets"
            refuse("argument-count", message, hint="leave out the rest")
        return HostClosure(self.definition, {**self.bound, **values}, self.chains, self._values)

    def __weft_spec__(self) -> Spec:
        items = tuple(map(spec_of, self._values))
        return HostClosureSpec(self.definition, StaticSpec(self.bound), self.chains, items)

    def __weft_leaves__(self) -> list[Value]:
        return [leaf for value in self._values for leaf in leaves_of(value)]

    def __weft_carried__(self) -> Any:
        refuse(
            "not-compile-time",
            f"{self.__name__} is code, so no run-time branch or loop can choose it",
            hint="call it in the branch, or choose it by a condition known at compile time",
        )


def memory_of(value: Any) -> list[Any]:
    """The memory that a value is, or that a function captures."""
    spec, leaves = accept_as(Any, value)
    return [item for leaf, item in zip(spec.leaves(), leaves, strict=True) if leaf.pointer]


def accept_function(value: Callable[..., Any], accept: Accept) -> Accepted:
    """A function as an argument: what it captures, and is given beforehand, are its machine values.

    Raises:
        Mismatch: it captures what cannot be an argument.
    """
    return _Given(accept).callable(value)


class _Given:
    """Functions that are looked into for one argument; those under way capture nothing of each other."""

    def __init__(self, accept: Accept) -> None:
        self.accept = accept
        self.under_way: list[object] = []

    def callable(self, value: Callable[..., Any]) -> Accepted:
        """A function of any kind as an argument."""
        parts = taken_apart(value)
        if parts is None:
            return self.function(cast("Any", value))
        (function, *items), names = parts
        known: Accepted = _known(function), []
        first = self.callable(cast("Any", function)) if isinstance(function, FUNCTIONS) else known
        taken = [first, *[self._taken(item) or (_known(item), []) for item in items]]
        spec = PartialSpec(tuple([item for item, _ in taken]), names)
        if not spec.leaves() and isinstance(first[0], StaticSpec):
            return StaticSpec(value), []
        return spec, [leaf for _, leaves in taken for leaf in leaves]

    def function(self, value: FunctionType | Func[..., Any]) -> Accepted:
        """A function, or a ``@func``, as an argument."""
        bound = value.bound if isinstance(value, Func) else {}
        of = _function_of(value)
        if of is None or of.overloads or of in self.under_way or not _is_open(of):
            return StaticSpec(value), []  # an overload is chosen where it is called, with what it names known
        self.under_way.append(of)
        taken = dict(self._captured(of))
        self.under_way.pop()
        if isinstance(value, Func) and not any(spec.leaves() for spec, _ in taken.values()):
            return StaticSpec(value), []
        chains = tuple(taken)
        items = tuple([taken[chain][0] for chain in chains])
        spec = HostClosureSpec(_definition(of, chains), StaticSpec(bound), chains, items)
        return spec, [leaf for chain in chains for leaf in taken[chain][1]]

    def _captured(self, of: PythonFunction) -> Iterator[tuple[Chain, Accepted]]:
        """What the function names and is given, and what its captured variables mean beside that."""
        scope, left = of.scope, set[str]()
        done: set[tuple[str, ...]] = set()
        taken: Accepted | None
        for chain in _chains(of):
            root = chain[0]
            value = _start(scope, root)
            own = len(chain) > 1 and is_instance(value) and root not in assigned_in(of)
            for length in range(1, len(chain) + 1 if own else 2):
                if length > 1:
                    value = getattr(value, "__dict__", {}).get(chain[length - 1], _ABSENT)
                if value is _ABSENT or chain[:length] in done:
                    break
                try:
                    taken = self._taken(value)
                    if taken is None and length > 1 and type(value) in _CONSTANT:
                        taken = _known(value), list[Any]()
                except Mismatch as wrong:
                    hint = wrong.hint and f"for `{'.'.join(chain[:length])}`, {wrong.hint}"
                    raise Mismatch(f"one that captures {wrong.found}", "a function", hint) from None
                if taken is not None:
                    done.add(chain[:length])
                    yield chain[:length], taken
                    break
            if not any(chain[:length] in done for length in range(1, len(chain) + 1)):
                left.add(root)
        for name in scope.cells:
            value = _start(scope, name)
            stands = name in left or name not in {one[0] for one in done}
            if value is not _ABSENT and stands and (name,) not in done:
                yield (name,), (_known(value), [])

    def _taken(self, value: Any) -> Accepted | None:
        """What is given of a value; None of one that is known at compile time."""
        kind = cast("type[Any]", type(value))
        if kind in _KNOWN or isinstance(value, _NO_MEMORY):
            return None
        if isinstance(value, FUNCTIONS):
            taken = self.callable(cast("Any", value))
            return taken if taken[0].leaves() else None
        spec, leaves = self.accept(value)
        typed = isinstance(value, Number) or is_struct(kind)
        return (spec, leaves) if typed or any(leaf.pointer for leaf in spec.leaves()) else None


def _function_of(value: Any) -> PythonFunction | None:
    """A function as a definition, and a ``@func`` that was made of one."""
    if isinstance(value, FunctionType):
        return definition_of(value)
    found: object = value.definition if isinstance(value, Func) else None
    return found if isinstance(found, PythonFunction) else None


def _is_open(of: PythonFunction) -> bool:
    """Whether a function is the program's own."""
    return not is_internal(of.file) and not is_library(str(of.module).partition(".")[0])


def _start(scope: Scope, name: str) -> Any:
    """What a name means; _ABSENT where it means nothing yet."""
    cell = scope.cells.get(name)
    if cell is None:
        return scope.globals.get(name, _ABSENT)
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def is_instance(value: Any) -> bool:
    """Whether a value is an instance of one of the program's classes, or a module of it."""
    kind = cast("type[Any]", type(value))
    return not isinstance(value, type) and _is_program(
        value.__name__ if kind is ModuleType else str(kind.__module__)
    )


@functools.lru_cache(maxsize=1024)
def _is_program(module: str) -> bool:
    """Whether a module is the program's, by its name."""
    package = module.partition(".")[0]
    return package not in ("weft", "builtins") and not is_library(package)


def _chains(of: PythonFunction) -> list[Chain]:
    names = of.reads()
    return sorted(names.free | names.globals)


def _known(value: Any) -> StaticSpec:
    """A value that is known at compile time; functions are the same where their code and captures are."""
    spec = StaticSpec(value)
    inner = _function_of(value)
    if inner is not None and not getattr(value, "bound", None):
        spec.key = (type(value), *_content(inner, []))
    return spec


def _definition(of: PythonFunction, chains: tuple[Chain, ...]) -> CapturingFunction:
    """The definition of a function: the same one for all that differ in what they are given."""
    key = (chains, *_code(of))
    found = _definitions.get(key)
    if found is None:
        if len(_definitions) >= _MOST:
            _definitions.clear()
        found = _definitions[key] = CapturingFunction(of, chains)
    return found


def _code(of: PythonFunction) -> list[object]:
    """What tells a function apart, but for what it captures."""
    key: list[object] = [Identity(of.code), Identity(of.scope.globals)]
    for part in of.parts:
        key += told_apart(part)
    key += [Identity(d) for d in of.defaults if type(d).__hash__ is None]  # which may change
    return key


def _content(of: PythonFunction, under_way: list[object]) -> list[object]:
    """What tells a function and what it captures apart."""
    under_way, key = [*under_way, of], _code(of)
    for name in of.scope.cells:
        value = _start(of.scope, name)
        inner = _function_of(value)
        if inner is None or getattr(value, "bound", None):
            key += told_apart(value)
        elif inner in under_way:
            key.append(under_way.index(inner))
        else:
            key += _content(inner, under_way)
    return key


def known(spec: Spec) -> list[Any]:
    """What a spec has of Python's objects."""
    if isinstance(spec, StaticSpec):
        return [spec.value]
    if isinstance(spec, HostClosureSpec):
        return [spec.definition, spec.bound.value, *(value for item in spec.items for value in known(item))]
    if isinstance(spec, EnumSpec):
        return [spec.cls]
    if isinstance(spec, PartsSpec):
        return [spec.cls, *(value for item in spec.items for value in known(item))]
    return []
