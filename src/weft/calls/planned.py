"""``planned``: operations that are decided once for all calls of one key."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from weft.calls.keys import FUNCTIONS, Given, Key, key_of
from weft.calls.plan import Overlapping, Plan, Unplanned
from weft.calls.recording import Recording, active
from weft.calls.spans import span_of
from weft.diagnostics.flags import with_flags
from weft.launch.tiles import asked
from weft.runtime.forks import after_fork

if TYPE_CHECKING:
    from weft.gpu.host import DeviceContext

F = TypeVar("F", bound=Callable[..., Any])
MOST, _MOST_ALIKE = 2048, 4
"""Keys, and plans of one: arrays that lie otherwise to each other have another."""
plans_by_key: dict[Key, list[Plan]] = {}
"""Plans by keys; an empty list where each call is to be decided anew."""
_contexts: weakref.WeakSet[DeviceContext] = weakref.WeakSet()
"""Those whose end is awaited, since plans keep streams and loaded code."""
after_fork(plans_by_key.clear)


def planned(operation: F, *, written: tuple[str, ...] | None = None) -> F:
    """An operation that does what it did for the last call of the same key, with the arrays of this one.

    What a call decides from is its arguments (``weft.calls.keys``), and of functions what these
    capture and what their compiled code has read. A call with arrays of a library that is not told apart is
    decided anew, as is one within a capture, in a checked context or where launches are profiled. Flags are
    looked at where a call is decided.

    Args:
        operation: the operation.
        written: the parameters whose arrays it writes, where that is known: of others it takes copies for
            arrays with strides below 0, which no launch takes, and keeps a plan for these.
    """
    names = [] if written is None else [*signature(operation).parameters]
    reads = {*names} - {*(written or ())}
    operation = with_flags(operation)

    @functools.wraps(operation)
    def call(*args: Any, **named: Any) -> Any:
        if active.recording is not None:  # part of another operation
            return operation(*args, **named)
        found = key_of(operation, args, named)
        if found is None:
            straight = _straightened(names, reads, args, named)
            if straight is None:
                return operation(*args, **named)
            args, named = straight
            found = key_of(operation, args, named)
            if found is None:
                return operation(*args, **named)
        key, given = found
        plans = plans_by_key.get(key)
        if plans is None:
            return _first(operation, key, given, args, named)
        for plan in plans:
            if plan.always or plan.fits(given):
                done = plan.run(given)
                return operation(*args, **named) if done is None else done[0]
        if 0 < len(plans) < _MOST_ALIKE:
            return _first(operation, key, given, args, named)
        return operation(*args, **named)

    return cast("F", call)


def planned_but(*written: str) -> Callable[[F], F]:
    """``planned``, for an operation that writes no arrays but those of these parameters."""
    return functools.partial(planned, written=written)


def _straightened(
    names: list[str], reads: set[str], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The same arguments with copies of arrays that are reversed and only read; None where there are none."""
    found = False

    def straight(name: str, value: Any) -> Any:
        nonlocal found
        if name not in reads or not _is_reversed(value):
            return value
        found = True
        return value.copy()

    own = tuple([straight(name, value) for name, value in zip(names, args, strict=False)])
    named = {name: straight(name, value) for name, value in named.items()}
    return ((*own, *args[len(own) :]), named) if found else None


def _is_reversed(value: Any) -> bool:
    """Whether an array of NumPy's or CuPy's has a stride below 0; no other library has such."""
    kind = cast("type[Any]", type(value))
    known = kind.__name__ == "ndarray" and kind.__module__ in ("numpy", "cupy")
    return known and min(value.strides, default=0) < 0


def _first(
    operation: Callable[..., Any],
    key: Key,
    given: Given,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Any:
    """Decide a call, and keep what is decided."""
    recording = active.recording = Recording()
    asked.tiles = recording.tiles
    try:
        result = operation(*args, **named)
    finally:
        active.recording = asked.tiles = None
    spans, values = [span_of(array) for array in given.arrays], (*args, *named.values())
    try:
        if [span.begin for span in spans] != given.addresses or _numbers(values, given.arrays, recording):
            raise Unplanned
        functions = any(isinstance(value, FUNCTIONS) for value in values)
        plan = Plan(recording, given, spans, result, functions=functions)
    except Overlapping:
        return result
    except Unplanned:
        _keep(key, None, recording)
    else:
        _keep(key, plan, recording)
    return result


def _numbers(given: Iterable[Any], arrays: list[Any], recording: Recording) -> bool:
    """Whether an array among what was given is a number, an axis say, whose value the key does not have."""
    known, read = {*map(id, arrays)}, {*map(id, recording.read)}
    for value in given:
        if isinstance(value, tuple):
            if _numbers(cast("tuple[Any, ...]", value), arrays, recording):
                return True
        elif id(value) in known - read:
            return True
    return False


def _forget_ended() -> None:
    """Drop the plans of contexts that are no more."""
    for key, plans in [*plans_by_key.items()]:
        if any(plan.ended for plan in plans):
            plans_by_key.pop(key, None)


def _keep(key: Key, plan: Plan | None, recording: Recording) -> None:
    if len(plans_by_key) >= MOST:
        for old in [*plans_by_key][: len(plans_by_key) // 2]:
            plans_by_key.pop(old, None)
    for context in {context for context, _ in recording.launches} - {*_contexts}:
        _contexts.add(context)
        weakref.finalize(context, _forget_ended).atexit = False
    alike = plans_by_key.setdefault(key, [])
    if plan is not None:
        alike[:] = [*(one for one in alike if not plan.follows(one)), plan]
