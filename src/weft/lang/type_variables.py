"""One ``T`` means one type: what type variables stand for, found out of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import GenericAlias
from typing import Any, Protocol, TypeVar, cast, get_origin

from weft.compiler.source.definition import Parameter
from weft.diagnostics import a_
from weft.dtype import DType, as_dtype
from weft.lang.elaboration import maybe_current
from weft.lang.generic import (
    describe_annotation,
    is_open_number,
    said_of,
    substitute,
    type_meant,
    unify,
    variables_of,
    written,
)
from weft.lang.number import Number, number_class
from weft.lang.promote import promote
from weft.lang.python_number import python_number
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, StaticSpec
from weft.lang.weak import assumed_type
from weft.record import replace

__all__ = ["assumed", "check_types", "outside", "refused", "settle", "type_of"]


Note = Callable[..., None]
"""Says what is wrong: a message, a hint, and the parameter whose argument it is, or none."""
Take = Callable[[Parameter, Any], Spec | None]
"""The spec of an argument, for a parameter that may have variables in its annotation; None: it is refused."""


def assumed(value: Any) -> DType | None:
    """The type of a number that takes the type that it meets, where nothing says one; of others None.

    NumPy's scalars are such numbers in compiled code, and keep their type on the host.
    """
    if isinstance(value, Number):
        return None if value.weak is None else value.dtype
    number = python_number(value)
    if not isinstance(number, (bool, int, float)):
        return None
    own = number is not value and maybe_current() is None
    return as_dtype(str(value.dtype)) if own else assumed_type(number)


def type_of(spec: Spec) -> Any:
    """The annotation that says what a value is."""
    if isinstance(spec, NumberSpec):
        return number_class(spec.dtype, spec.lanes)
    if isinstance(spec, PartsSpec) and spec.pythons:
        return GenericAlias(tuple, tuple(map(type_of, spec.items)))
    if isinstance(spec, StaticSpec):
        kind = cast("type[Any]", type(spec.value))
        return GenericAlias(type, spec.value) if isinstance(spec.value, type) else kind
    dtype = getattr(spec, "dtype", None)
    if isinstance(spec, PointerSpec):
        from weft.lang.pointer import Pointer

        return cast("Any", Pointer)[written(spec.dtype)]
    cls: Any = getattr(spec, "cls", type(spec))
    return cls[written(dtype)] if isinstance(dtype, DType) else cls


def settle(
    function: str,
    params: Sequence[Parameter],
    given: Mapping[str, Any],
    take: Take,
    literal: Callable[[Any], DType | None],
    note: Note,
) -> dict[str, Any]:
    """Take the arguments of a function; what its type variables stand for.

    Numbers that take the type that they meet are taken last, so that others say first what ``T`` is.

    Args:
        function: its name.
        params: its parameters.
        given: the arguments by name, type variables among them.
        take: takes one argument.
        literal: of such a number its type where nothing else says one, else None.
        note: says what is wrong.
    """
    if not any(p.variable for p in params):
        for p in params:
            if p.name in given:
                take(p, given[p.name])
        return {}
    types = {p.name: type_meant(given[p.name]) for p in params if p.variable and p.name in given}
    if check_types(function, [p for p in params if p.name in types], types, note):
        return types
    said, met = dict(types), dict.fromkeys(types, "")
    waiting: list[Parameter] = []
    others: list[Parameter] = []
    unsaid: set[str] = set()
    for p in params:
        if p.variable or p.name not in given:
            continue
        p = replace(p, annotation=substitute(p.annotation, said))
        if is_open_number(p.annotation) and not p.comptime and literal(given[p.name]) is not None:
            waiting.append(p)
            continue
        spec = take(p, given[p.name])
        if spec is None:
            unsaid.update(variables_of(p.annotation))
            continue
        found = type_of(spec)
        pairs = list(unify(p.annotation, found))
        if set(variables_of(p.annotation)).difference(variable.__name__ for variable, _ in pairs):
            others.append(p)  # it says not all: NumPy's records of a struct over types, or what is none
        for variable, meant in pairs:
            name = variable.__name__
            first = met.setdefault(name, p.name)
            if types.setdefault(name, meant) != meant:
                wanted = describe_annotation(substitute(p.annotation, types))
                note(
                    f"argument `{p.name}` of {function} takes {wanted}, not {describe_annotation(found)}: "
                    f"`{name}` is {describe_annotation(types[name])} by `{first}`",
                    "pass one type for all, or name another TypeVar where they may differ",
                    p.name,
                )
    _settle_numbers(waiting, given, literal, types, met)
    for p in waiting:
        take(replace(p, annotation=substitute(p.annotation, types)), given[p.name])
    for p in params:  # of Python 3.13
        if p.variable and p.name not in types and getattr(p.annotation, "has_default", bool)():
            types[p.name] = substitute(p.annotation.__default__, types)
    if not check_types(
        function, [p for p in params if p.name in types or p.name not in unsaid], types, note, met
    ):
        for p in others:
            take(replace(p, annotation=substitute(p.annotation, types)), given[p.name])
    return types


def _settle_numbers(
    waiting: Sequence[Parameter],
    given: Mapping[str, Any],
    literal: Callable[[Any], DType | None],
    types: dict[str, Any],
    met: dict[str, str],
) -> None:
    """What numbers that take the type that they meet say of the variables in ``types``."""
    for p in [p for p in waiting if isinstance(p.annotation, TypeVar)]:
        name = p.annotation.__name__
        if met.setdefault(name, p.name) in {one.name for one in waiting}:  # it is where all of these meet
            kind = cast("DType", literal(given[p.name]))
            now: DType = types[name].dtype if name in types else kind
            types[name] = number_class(promote(now, kind) or kind)
    for p in waiting:
        for variable, meant in unify(p.annotation, number_class(cast("DType", literal(given[p.name])))):
            types.setdefault(variable.__name__, meant)  # of one lane, where nothing says how many


def check_types(
    function: str,
    params: Iterable[Parameter],
    types: Mapping[str, Any],
    note: Note,
    met: Mapping[str, str] | None = None,
) -> bool:
    """Say which type variables are not known, or may not be what they are by the arguments in ``met``."""
    found = False
    for p in params:
        if not p.variable:
            continue
        if p.name not in types:
            example = 4 if p.annotation.__bound__ is int else "Float32"
            message = f"no argument of {function} says what `{p.name}` is"
            note(message, f"give it: {function}[{example}], or {p.name}={example} by name")
            found = True
            continue
        wrong = refused(p.annotation, types[p.name])
        if wrong:
            meant = types[p.name]
            shown = (
                describe_annotation(meant) if isinstance(meant, type) or get_origin(meant) else repr(meant)
            )
            at = (met or {}).get(p.name, "") or p.name
            note(f"`{p.name}` of {function} is {wrong[0]}, not {shown}", wrong[1], at)
            found = True
    return found


def refused(variable: TypeVar, meant: Any) -> tuple[str, str] | None:
    """What a variable may mean, where it may not mean this, and what to write."""
    allowed = [substitute(said_of(variable, c), {}) for c in variable.__constraints__]
    if allowed:
        shown = ", ".join(map(describe_annotation, allowed))
        return None if meant in allowed else (f"one of {shown}", "convert the argument to one of them")
    bound: Any = said_of(variable, variable.__bound__)
    if meant in (int, float, bool, complex) or (isinstance(meant, str) and bound is None):
        return "a type of weft's", "give Int, Float32 or another"
    return None if bound is None or bound is object else outside(bound, meant)


def outside(bound: Any, meant: Any) -> tuple[str, str] | None:
    """What a bound allows, where that is not this, and what to write."""
    kind: Any = get_origin(meant) or meant
    if getattr(bound, "_is_protocol", False):
        return _lacks(bound, kind)
    if not isinstance(bound, type):
        return None
    if not isinstance(kind, type):
        return None if isinstance(kind, bound) else (a_(bound.__name__), "give it such a value")
    if issubclass(kind, bound):
        return None
    if bound in (int, float) and issubclass(kind, Number):
        types = "Integer" if bound is int else "Floating"
        return f"{a_(bound.__name__)} known at compile time", f"bind it to {types}, if it is to be a type"
    return a_(bound.__name__), f"pass what is {a_(bound.__name__)}, or leave the bound out"


def _lacks(protocol: type[Any], kind: Any) -> tuple[str, str] | None:
    """Whether a class has what a protocol asks for."""
    wanted = {
        name
        for cls in protocol.__mro__
        if getattr(cls, "_is_protocol", False) and cls is not Protocol
        for name in (*vars(cls), *vars(cls).get("__annotations__", ()))
        if callable(vars(cls).get(name)) or name in vars(cls).get("__annotations__", ())
    }
    ignored = ("__init__", "__subclasshook__", "__class_getitem__", "__hash__")
    fields: Any = getattr(kind, "__dataclass_fields__", {})
    missing = [n for n in sorted(wanted.difference(ignored)) if not hasattr(kind, n) and n not in fields]
    if not missing or not isinstance(kind, type):
        return None
    names = " and ".join(f"`{name}`" for name in missing)
    own = kind.__module__.partition(".")[0] not in ("weft", "builtins", "numpy")
    hint = f"give {kind.__name__} a method {names}" if own else f"pass a @struct that has {names}"
    return f"a {protocol.__name__}, which has {names}", hint
