"""The values of a benchmarked function's parameters."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NoReturn, cast

from weft.diagnostics import LaunchError, a_, nearest


def choices(
    name: str, function: Callable[..., object], params: Mapping[str, Iterable[Any]]
) -> Iterable[dict[str, Any]]:
    """Every choice of one value for each parameter, the last changing first.

    Raises:
        LaunchError: the function has not these parameters, or there are no values of one.
    """
    if not isinstance(params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"params of a benchmark is a dict of lists, not {a_(type(params).__name__)}"
        _refuse(message, 'write params={"n": [1, 2, 3]}')
    with suppress(TypeError, ValueError):  # some builtins do not say
        _check_names(name, list(inspect.signature(function).parameters.values()), params)
    every = [_values(of, values) for of, values in params.items()]
    return [dict(zip(params, chosen, strict=True)) for chosen in itertools.product(*every)]


def _check_names(name: str, parameters: list[inspect.Parameter], params: Mapping[str, Any]) -> None:
    if not parameters:
        hint = f"write `def {name}(b: Bencher)`, and `b.iter(...)` around what is meant"
        _refuse(f"{name} takes nothing, but is given a Bencher", hint, ("function", 0))
    known = [p for p in parameters[1:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = [p.name for p in known]
    wrong = next((given for given in params if given not in names), None)
    if wrong is not None and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        close = nearest(wrong, names)
        has = f"its parameters are {', '.join(names)}" if names else "it has none but the Bencher"
        _refuse(f"{name} has no parameter {wrong!r}", f"did you mean {close!r}?" if close else has)
    missing = [p.name for p in known if p.default is p.empty and p.name not in params]
    if missing:
        given = ", ".join(f'"{of}": [...]' for of in missing)
        _refuse(f"{name} needs values of {', '.join(missing)}", f"give them: params={{{given}}}")


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str) or not isinstance(cast("object", values), Iterable):
        hint = f'write a list: params={{"{name}": [{values!r}]}}'
        _refuse(f"the values of {name!r} are {a_(type(values).__name__)}", hint)
    found = list(values)
    if not found:
        _refuse(f"there is no value of {name!r}, so nothing would be measured", "give one or more")
    return found


def _refuse(message: str, hint: str, at: tuple[str, int] = ("params", -1)) -> NoReturn:
    raise LaunchError.here("benchmark", message, hint, at=at)
