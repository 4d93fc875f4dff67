"""Arguments that are True or False: what is merely taken for true, as ``causal="no"``, is refused."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft.diagnostics.errors import LaunchError, a_

F = TypeVar("F", bound=Callable[..., Any])


def as_flag(operation: str, name: str, given: object) -> bool:
    """A bool of Python or NumPy, as the argument of that name.

    Raises:
        LaunchError: it is none.
    """
    numpy = sys.modules.get("numpy")
    if isinstance(given, bool) or (numpy is not None and isinstance(given, numpy.bool_)):
        return bool(given)
    plain = given is None or isinstance(given, (int, float, str))
    shown = repr(given) if plain else a_(type(given).__name__)
    hint = f"write {name}=True or {name}=False"
    raise LaunchError.here("argument-type", f"{operation}: {name} is {shown}", hint, at=(name, 0))


def with_flags(operation: F) -> F:
    """An operation that refuses what is no bool for its keywords that are annotated ``bool``."""
    flags = [name for name, kind in operation.__annotations__.items() if kind == "bool"]

    @functools.wraps(operation)
    def call(*args: Any, **named: Any) -> Any:
        for name in flags:
            if name in named:
                named[name] = as_flag(operation.__name__, name, named[name])
        return operation(*args, **named)

    return cast("F", call) if flags else operation
