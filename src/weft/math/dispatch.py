"""From a public function to what computes it: Python's own for Python numbers, code for the others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from weft.diagnostics import refuse
from weft.dtype import DType
from weft.lang import no_contraction
from weft.lang.elaboration import note_result
from weft.lang.number import Number, unify
from weft.lang.promote import fits
from weft.lang.python_number import python_number


def is_plain(*args: object) -> bool:
    """Whether all are Python numbers."""
    return not any(isinstance(a, Number) for a in args)


def by_elements(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a function gives for the elements of tensors, tiles and vectors; None where there is none."""
    for a in args:
        apply = getattr(cast("type[Any]", type(a)), "__weft_elements__", None)
        if apply is not None:
            return apply(a, function, args)
    return None


def meet(name: str, *args: Any) -> tuple[Number, ...]:
    """The arguments, some of them Python numbers, as numbers of the type in which they meet."""
    kind: Any = next(a for a in args if isinstance(a, Number))
    for a in args:
        cls, weak = unify(name, kind, a)
        kind = cls.of(kind.value, weak)
    for a in args:
        if not isinstance(a, Number):
            fits(cast("float", python_number(a)), cast("type[Number]", type(kind)))
    numbers: list[Number] = [a if type(a) is type(kind) else type(kind)(a) for a in args]
    return tuple([n if n.weak is kind.weak else type(n).of(n.value, kind.weak) for n in numbers])


def floating(
    name: str,
    emit: Callable[..., Any],
    plain: Callable[..., Any],
    *args: Any,
    wide: bool = True,
    many: bool = False,
) -> Any:
    """Apply a function of floats.

    Args:
        name: what a message calls it.
        emit: computes it on Float32 and Float64, on the others too if not ``wide``.
        plain: computes it on Python floats, as a constant.
        args: its arguments; Python numbers take the type of the others.
        wide: whether Float16 and BFloat16 go through Float32.
        many: whether these are numbers of what holds several, which a hint then converts at once.
    """
    if not all(isinstance(a, Number) for a in args):
        several = any(hasattr(cast("Any", type(a)), "cast") for a in args if not isinstance(a, Number))
        made = by_elements(functools.partial(floating, name, emit, plain, wide=wide, many=several), args)
        if made is not None:
            return made
        if is_plain(*args):
            return plain(*map(python_number, args))
    numbers = meet(name, *args)
    first: Number = numbers[0]
    cls = type(first)
    if not cls.dtype.is_float:
        given = ("x", "y")[: len(args)]
        shown = [f"{n}.cast(Float32)" if many or cls.lanes > 1 else f"Float32({n})" for n in given]
        refuse(
            "argument-type",
            f"{name} takes floats, not {cls.__name__}",
            hint=f"write {name}({', '.join(shown)})",
        )
    weak = first.weak
    narrow = wide and cls.dtype.bits < 32
    numbers = tuple(cls.of(n.value) for n in numbers)  # what computes it must not type literals
    if narrow:
        numbers = tuple(n.cast(DType.float32) for n in numbers)
    with no_contraction():
        result = emit(*numbers)
    if isinstance(result, tuple):
        return tuple(_finished(r, cls, narrow, weak) for r in cast("tuple[Any, ...]", result))
    made = _finished(result, cls, narrow, weak)
    note_result(name, meet(name, *args), made)
    return made


def _finished(result: Any, cls: type[Number], narrow: bool, weak: object) -> Any:
    if result.dtype.is_float:
        result = result.cast(cls.dtype) if narrow else result
        result.weak = weak
    return result
