"""Which of several functions of one name is called: the one whose annotations say most of the arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Any, TypeVar, cast, get_args, get_origin

from weft.compiler.source.definition import Definition, Parameter
from weft.diagnostics import CompileError
from weft.diagnostics.problems import Problems
from weft.lang.accept import is_open
from weft.lang.generic import bound_of, describe_annotation, said_of, substitute, unify
from weft.lang.number import number_class
from weft.lang.signature import describe_parameters, parameters
from weft.lang.spec import PartsSpec, spec_of
from weft.lang.type_variables import assumed, outside, refused, type_of

_NOT = -1
_ANY, _BOUND, _PARTLY, _EXACT = 0, 1, 1 << 10, 1 << 11
"""How much an annotation says of a value."""


def chosen(fn: Definition, values: Mapping[str, Any], problems: Problems) -> Definition:
    """The function to be called for these arguments: ``fn``, or one that is registered with it."""
    given = [values[p.name] for p in _positional(fn)]
    types = [_type(value) for value in given]
    ranked = [(_ranks(one, types), one) for one in (fn, *fn.overloads)]
    fitting = [(ranks, one) for ranks, one in ranked if ranks is not None]
    best = [one for ranks, one in fitting if not any(_beats(other, ranks) for other, _ in fitting)]
    if len(best) > 1:
        shown = ", ".join(map(describe_annotation, types))
        message = f"several functions registered with {fn.name} take {shown}"
        notes = tuple([f"{one.name}{describe_parameters(one)}" for one in best])
        problems.add("argument-type", message, "register one whose annotations are those types", notes=notes)
    return best[0] if best else fn


def check_registered(fn: Definition, other: Definition) -> None:
    """Refuse to register what could never be called, as it takes another number of arguments.

    Raises:
        CompileError: it does.
    """
    asked, taken = len(_positional(fn)), len(_positional(other))
    if asked != taken:
        message = f"{fn.name} takes {asked} positional argument{'s' * (asked != 1)}, but this takes {taken}"
        hint = f"give it {asked}, or another name"
        raise CompileError.at("signature", message, other.place(""), hints=(hint,))


def _positional(fn: Definition) -> list[Parameter]:
    return [p for p in parameters(fn) if not p.keyword_only]


def _type(value: Any) -> Any:
    literal = assumed(value)
    if literal is not None:
        return number_class(literal)
    if type(value) is tuple:
        return GenericAlias(tuple, tuple(map(_type, cast("tuple[Any, ...]", value))))
    spec = spec_of(value)
    return spec.cls if isinstance(spec, PartsSpec) else type_of(spec)


def _ranks(fn: Definition, types: Sequence[Any]) -> list[int] | None:
    """How much each annotation says; None where one does not allow its argument."""
    params = _positional(fn)
    if len(params) != len(types):
        return None
    ranks = [_rank(p.annotation, one) for p, one in zip(params, types, strict=True)]
    return None if _NOT in ranks else ranks


def _rank(annotation: Any, found: Any) -> int:
    bound = bound_of(annotation)
    if isinstance(annotation, TypeVar):
        bound = said_of(annotation, annotation.__bound__)
        if refused(annotation, found):
            return _NOT
    if isinstance(bound, type):
        return _NOT if outside(bound, found) else _BOUND + len(bound.__mro__)
    if annotation == found:
        return _EXACT
    if get_args(annotation):
        pairs = list(unify(annotation, found))
        whole = substitute(annotation, {variable.__name__: meant for variable, meant in pairs})
        fits = _like(whole, found) and not any(refused(variable, meant) for variable, meant in pairs)
        return _PARTLY + _known(annotation) if fits else _NOT
    if is_open(annotation):
        return _ANY
    kind = get_origin(found) or found
    fits = isinstance(annotation, type) and isinstance(kind, type) and issubclass(kind, annotation)
    return _PARTLY if fits else _NOT


def _like(annotation: Any, found: Any) -> bool:
    """Whether a type is one of an annotation, in which Any is each."""
    wanted, args = get_args(annotation), get_args(found)
    if not wanted or len(wanted) != len(args):
        return annotation is Any or annotation == found
    return get_origin(annotation) == get_origin(found) and all(map(_like, wanted, args))


def _known(annotation: Any) -> int:
    """How much an annotation names: two for each type, one for what a variable's bound says."""
    if isinstance(annotation, TypeVar):
        return int(bool(annotation.__bound__ or annotation.__constraints__))
    return 0 if annotation is Any else 2 + sum(map(_known, get_args(annotation)))


def _beats(other: Sequence[int], ranks: Sequence[int]) -> bool:
    pairs = list(zip(other, ranks, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
