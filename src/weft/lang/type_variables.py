"""One ``T`` means one type: parameters that share a TypeVar take buffers and tensors of one element type."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from weft.compiler.source.definition import Definition
from weft.dtype import DType
from weft.lang.number import type_name
from weft.lang.problems import Problems
from weft.lang.signature import argument_key, parameters
from weft.lang.spec import Spec

__all__ = ["agree", "note_clashes"]


@functools.lru_cache(maxsize=4096)
def _variables(fn: Definition) -> tuple[tuple[str, TypeVar], ...]:
    """The parameters whose element type is a TypeVar."""
    found = [(p.name, get_args(p.annotation)[:1]) for p in parameters(fn) if not p.comptime]
    return tuple([(name, args[0]) for name, args in found if args and isinstance(args[0], TypeVar)])


def _clashes(fn: Definition, specs: Mapping[str, Spec]) -> Iterator[tuple[str, str, str]]:
    """Each parameter that takes another type than its TypeVar allows, what that is, and why."""
    met: dict[TypeVar, tuple[str, DType]] = {}
    for name, variable in _variables(fn):
        dtype = getattr(specs.get(name), "dtype", None)
        if not isinstance(dtype, DType):
            continue
        shown = type_name(dtype)
        allowed = [getattr(c, "dtype", None) for c in variable.__constraints__]
        first, wanted = met.setdefault(variable, (name, dtype))
        if wanted is not dtype:
            yield name, shown, f"is {type_name(wanted)} by `{first}`"
        elif allowed and dtype not in allowed:
            yield name, shown, f"is one of {', '.join(c.__name__ for c in variable.__constraints__)}"


def agree(fn: Definition, specs: Mapping[str, Spec]) -> bool:
    """Whether every TypeVar means one type that it may mean."""
    return not _variables(fn) or next(_clashes(fn, specs), None) is None


def note_clashes(
    problems: Problems,
    fn: Definition,
    specs: Mapping[str, Spec],
    count: int,
    named: Mapping[str, Any],
) -> None:
    """Say which arguments have other types than their TypeVars; ``count`` are given by position."""
    variables = dict(_variables(fn))
    for name, shown, why in _clashes(fn, specs):
        variable = variables[name].__name__
        message = f"argument `{name}` of {fn.name} has elements of {shown}, but `{variable}` {why}"
        hint = "pass one type for all, or name another TypeVar where they may differ"
        problems.add("argument-type", message, hint, at=argument_key(fn, name, count, named))
