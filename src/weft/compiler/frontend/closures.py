"""Functions within functions: values that are code, and what it reads of the variables around it.

A ``def`` is elaborated like a ``@func``; what it captures is given to it beside its arguments, as it is when
it is called. A lambda runs in the code that made it. Either may be an argument of a ``@func``, or returned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from weft.compiler.frontend.containers import Held, noted
from weft.compiler.frontend.nonlocals import SharedVar
from weft.compiler.frontend.variables import UNDEFINED, Var
from weft.compiler.ir.core import Value
from weft.compiler.source.definition import MISSING, Definition, Parameter, Scope
from weft.diagnostics import refuse
from weft.lang.elaboration import Elaboration, current
from weft.lang.host_closures import HostClosure
from weft.lang.number import Number
from weft.lang.objects import looking
from weft.lang.products import parts_of
from weft.lang.spec import Leaf, Spec, build_each, given_spec, is_literal, leaves_of, leaves_within
from weft.lang.told_apart import told_apart
from weft.record import record

written: dict[CodeType, ast.FunctionDef] = {}
"""The definitions in staged functions, by their staged code."""

_DEFINITIONS = 4096
_definitions: dict[object, Definition] = {}


class _Unset:
    """In place of a captured variable that is not assigned yet."""


class _Itself:
    """In place of a function that captures itself."""


_UNSET, _ITSELF = _Unset(), _Itself()


@record
class ClosureSpec:
    """A function in a function: its code, and of what kinds that is which it captures."""

    made: Closure
    items: tuple[Spec, ...]

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return leaves_within([f".{name}" for name in self.made.captures], self.items)

    def build(self, leaves: Sequence[Value]) -> Closure:
        """The value, from its leaves."""
        return self.made.rebuilt(build_each(self.items, leaves))

    def describe(self) -> str:
        """How a message names it."""
        return f"the function {self.made.__name__}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClosureSpec) and (self._key(), self.items) == (other._key(), other.items)

    def __hash__(self) -> int:
        return hash((self._key(), self.items))

    def _key(self) -> object:
        return self.made.definition or self.made.function.__code__


class Closure:
    """A function in a function, for the elaboration at hand; of a lambda there is no definition."""

    __weft_nested__ = True

    def __init__(
        self, function: FunctionType, definition: Definition | None, defaults: dict[str, Any], b: Elaboration
    ) -> None:
        self.function = function
        self.definition = definition
        self.defaults = defaults
        self.b = b
        self.bound: dict[str, Any] = {}
        self.__name__ = "the lambda" if definition is None else definition.name

    @property
    def captures(self) -> tuple[str, ...]:
        """The names of what it captures, then of its defaults."""
        return (*self.function.__code__.co_freevars, *self.defaults)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it from the code that made it, or from a function that it was passed to."""
        b = current()
        if self.definition is not None:
            args, kwargs = _with_rest(written[self.function.__code__], args, kwargs)
            return cast("Any", b).elaborator.call(self, args, kwargs)
        if b is not self.b:
            refuse(
                "escaped",
                "this lambda belongs to the function that made it, and is called in another",
                hint="pass it as an argument of its own",
            )
        return self.function(*args, **kwargs)

    def captured(self) -> list[Any]:
        """What it captures, as it is now; then its defaults."""
        return [*map(self._now, self.function.__closure__ or ()), *self.defaults.values()]

    def held(self) -> list[Any]:
        """The same, with the defaults that a lambda has from Python."""
        made = self.function
        return [*self.captured(), *(made.__defaults__ or ()), *(made.__kwdefaults__ or {}).values()]

    def _now(self, cell: CellType) -> Any:
        try:
            value = cell.cell_contents
        except ValueError:
            return _UNSET
        if type(value) is Var and value.root is not None and value.scope in self._scopes():
            return SharedVar(value)
        if type(value) is Var:
            value = value.load() if value.scope in self._scopes() and value.defined else UNDEFINED
        if value is self.b:
            return None
        return _ITSELF if isinstance(value, Closure) and value.function is self.function else value

    def _scopes(self) -> list[int]:
        return cast("Any", self.b).scopes

    def rebuilt(self, captured: Sequence[Any]) -> Closure:
        """It with other values, for the elaboration at hand."""
        names = self.function.__code__.co_freevars
        cells = [CellType() if v is _UNSET else CellType(v) for v in captured[: len(names)]]
        old, b = self.function, current()
        function = FunctionType(old.__code__, old.__globals__, old.__name__, old.__defaults__, tuple(cells))
        function.__kwdefaults__ = old.__kwdefaults__
        defaults = dict(zip(self.defaults, captured[len(names) :], strict=True))
        made = Closure(function, self.definition, defaults, b)
        for name, cell, value in zip(names, cells, captured, strict=False):
            if value is _ITSELF or name == "__weft_b":
                cell.cell_contents = made if value is _ITSELF else b
        return made

    def __weft_spec__(self) -> Spec:
        if current() is not self.b:
            refuse(
                "escaped",
                f"{self.__name__} belongs to the function that made it, and is used in another",
                hint="pass it as an argument of its own",
            )
        return ClosureSpec(self, tuple(map(given_spec, self.captured())))

    def __weft_leaves__(self) -> list[Value]:
        with looking(False):  # which nobody asks what it keeps
            return [leaf for value in self.captured() for leaf in leaves_of(value)]

    def __weft_carried__(self) -> Any:
        refuse(
            "not-compile-time",
            f"{self.__name__} belongs to the code around it, so no run-time branch or loop can choose it",
            hint="call it in the branch, or choose it by a condition known at compile time",
        )


def _with_rest(
    fn: ast.FunctionDef, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, those beyond the parameters as one tuple, by the name of ``*args``."""
    taken = fn.args
    if taken.vararg is None:
        return args, kwargs
    rest, count = taken.vararg.arg, len(taken.posonlyargs) + len(taken.args)
    if rest in kwargs:
        refuse("argument-name", f"`*{rest}` of {fn.name} takes no value by name", hint="give it by position")
    return args[:count], {**kwargs, rest: args[count:]}


Captures = Closure | HostClosure
"""A function that is given what it captures beside its arguments."""


def literals_in(value: Any, integers: bool = False) -> Iterator[Number]:
    """The literals in what is given to a function, in the order in which ``given_spec`` finds them."""
    if is_literal(value, integers):
        yield value
    elif isinstance(value, SharedVar):
        yield from literals_in(value.literals, True)
    else:
        for part in value.captured() if isinstance(value, Closure) else parts_of(value) or ():
            yield from literals_in(part, integers)


def defined(
    function: FunctionType, parameters: Sequence[tuple[str, Any, bool, Any]], result: Any, b: Elaboration
) -> Closure:
    """What a ``def`` in a function makes; parameters: name, annotation, whether by keyword only, default."""
    node, outer = written[function.__code__], cast("Any", b)
    key = function.__code__, outer.file, told_apart([(p[:3], p[3] is MISSING) for p in parameters] + [result])
    found = _definitions.get(key)
    if found is None:
        made = [Parameter(n, a, False, k, d if d is MISSING else _UNSET) for n, a, k, d in parameters]
        scope = Scope(function.__globals__)
        qualname = f"{outer.function.source_name}.<locals>.{node.name}"
        found = Definition(node, outer.file, scope, made, result, qualname=qualname)
        found.within = True
        if len(_definitions) >= _DEFINITIONS:
            _definitions.clear()
        _definitions[key] = found
    defaults = {name: value for name, _, _, value in parameters if value is not MISSING}
    return Closure(function, found, defaults, b)


def containers(closure: Captures) -> Held:
    """The lists, dicts, sets and arrays that it captures."""
    names = zip(closure.captures, closure.captured(), strict=True)
    return Held(held for name, value in names for held in noted(name, value))


def given(closure: Captures, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with its own defaults where there were none."""
    if isinstance(closure, HostClosure):
        return values
    return {name: closure.defaults[name] if value is _UNSET else value for name, value in values.items()}


def entry(closure: Captures, staged: Callable[[], Any]) -> Callable[..., Any]:
    """What elaborates a function for a builder, its parameters and what it captures.

    ``staged`` gives the staged code of one that does not stand in staged code itself.
    """

    def run(b: Elaboration, *values: Any) -> None:
        count = len(values) - len(closure.captures)
        captured = values[count:]
        if isinstance(closure, HostClosure):
            made = _with(staged(), dict(zip(closure.captures, captured, strict=True)))
        else:
            made = closure.rebuilt(captured).function
        made(b, *values[:count])

    return run


def _with(function: FunctionType, given: dict[str, Any]) -> FunctionType:
    """A staged function with values for some of its captured variables."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    closure = tuple([CellType(given[n]) if n in given else c for n, c in zip(names, cells, strict=True)])
    return FunctionType(function.__code__, function.__globals__, function.__name__, None, closure)
