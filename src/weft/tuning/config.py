"""What is tuned: values of compile-time parameters and of launch options, and the spaces of them."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from weft.compiler.source.definition import Definition
from weft.diagnostics import CompileError, LaunchError, a_, nearest
from weft.lang.signature import parameters
from weft.lang.told_apart import told_apart

T = TypeVar("T")
OPTIONS = ("grid_dim", "block_dim", "shared_mem_bytes", "cluster_dim", "cooperative", "pdl")
"""What a configuration may say of a launch; all else are compile-time parameters of the kernel."""


class Config(Mapping[str, Any]):
    """One choice: a value for each tuned parameter, and for launch options such as ``block_dim``.

    Example:
        >>> from weft.tuning import Config
        >>> config = Config(TILE=64, block_dim=128)
        >>> config["TILE"], str(config)
        (64, 'TILE=64, block_dim=128')
    """

    __slots__ = ("_key", "_values")

    def __init__(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._values = {**(values or {}), **named}
        self._key: Any = None

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter or an option."""
        try:
            return self._values[name]
        except KeyError:
            has = ", ".join(self._values) or "nothing"
            guess = nearest(name, self._values)
            hint = f"did you mean {guess!r}?" if guess else f"it has {has}"
            raise LaunchError.here("autotune", f"this configuration has no {name!r}: {self}", hint) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a parameter or an option, or something else."""
        return self._values.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def key(self) -> object:
        """What it has in common with configurations of the same values, in any order."""
        if self._key is None:
            self._key = tuple((name, told_apart(self._values[name])) for name in sorted(self._values))
        return self._key

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Config):
            return self.key == other.key
        return isinstance(other, dict) and self.key == Config(cast("dict[str, Any]", other)).key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self._values.items())

    def __repr__(self) -> str:
        return f"Config({self})"

    def texts(self) -> dict[str, Any]:
        """Its values as files have them: what JSON has as it is, all else by name."""
        plain = (bool, int, float, str, type(None))
        return {n: v if type(v) in plain else shown(v) for n, v in self._values.items()}


class PerConfig:
    """An argument of a launch that is another for each configuration.

    Args:
        make: called with the configuration, at each launch; it gives the argument.

    Example:
        >>> from weft.tuning import Config, PerConfig
        >>> PerConfig(lambda config: config["TILE"] * 2).make(Config(TILE=8))
        16
    """

    __slots__ = ("make",)
    if TYPE_CHECKING:

        def __new__(cls, make: Callable[[Config], T]) -> T:
            """To type checkers it is the argument that it gives."""
            ...

    def __init__(self, make: Callable[[Config], Any]) -> None:
        self.make: Callable[[Config], Any] = make


def shown(value: object) -> str:
    """A value in one word: functions and types by their names."""
    return value if isinstance(value, str) else str(getattr(value, "__name__", value))


def space_of(name: str, configs: object) -> list[Config]:
    """The configurations of a dict of lists, or of a list of dicts, each once.

    Raises:
        LaunchError: it is neither, or there is none.
    """
    example = 'write {"TILE": [32, 64]}, or a list of Config(TILE=32)'
    if isinstance(configs, Mapping):
        given = cast("Mapping[str, Any]", configs)
        if isinstance(configs, Config):
            hint = "write it into a list: [Config(...), ...]"
            refuse(f"configs of {name} is one configuration, so there is no choice", hint)
        lists = {of: _values(name, of, values) for of, values in given.items()}
        found = [
            Config(dict(zip(lists, chosen, strict=True))) for chosen in itertools.product(*lists.values())
        ]
        found = found[: len(found) * bool(lists)]
    elif isinstance(configs, Iterable) and not isinstance(configs, str):
        found = list[Config]()
        for one in cast("Iterable[object]", configs):
            if not isinstance(one, Mapping):
                refuse(
                    f"a configuration of {name} is a dict or a Config, not {a_(type(one).__name__)}", example
                )
            found.append(one if isinstance(one, Config) else Config(cast("Mapping[str, Any]", one)))
    else:
        refuse(f"configs of {name} is a dict of lists, or a list, not {a_(type(configs).__name__)}", example)
    if not found:
        refuse(f"there is no configuration of {name}, so nothing could be launched", "give one or more")
    first = set(found[0])
    for one in found:
        if set(one) != first:
            message = f"configurations of {name} give values of different names: {found[0]}; {one}"
            refuse(message, "give each of them a value of each name")
    return list(dict.fromkeys(found))


def _values(name: str, of: str, values: object) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        message = f"the values of {of!r} to tune {name} with are {a_(type(values).__name__)}"
        refuse(message, f'write a list: {{"{of}": [{values!r}]}}')
    return list(cast("Iterable[Any]", values))


def check_names(fn: Definition, config: Config) -> None:
    """Whether a kernel has the compile-time parameters that a configuration gives values of.

    Raises:
        LaunchError: it has not.
    """
    name, known = fn.name, fn.names()
    late: set[str] = set()
    with contextlib.suppress(CompileError):  # of an annotation, which a launch tells of
        late = {p.name for p in parameters(fn) if not p.comptime and not p.variable}
    for given in config:
        if given in late:
            hint = f"write `*, {given}: Comptime[int]`, or leave it out"
            refuse(f"`{given}` of {name} is known at run time only, so it cannot be tuned", hint)
        if given not in known and given not in OPTIONS:
            guess = nearest(given, [*known, *OPTIONS])
            hint = f"did you mean {guess!r}?" if guess else f"add it: `*, {given}: Comptime[int]`"
            refuse(f"{name} has no parameter {given!r}", hint)


def asked_by(function: Callable[..., Any], role: str, known: Sequence[str]) -> tuple[str, ...]:
    """The names of the parameters of a user's function: ``config``, and those of the kernel.

    Raises:
        LaunchError: it asks for something else.
    """
    if not callable(function):
        message = f"{role} is a function, not {a_(type(function).__name__)}"
        refuse(message, f"write {role}=lambda config: ...", (role, 9))
    try:
        names = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ("config",)
    for name in names:
        if name != "config" and name not in known:
            guess = nearest(name, ["config", *known])
            hint = (
                f"did you mean `{guess}`?" if guess else "it may ask for `config` and arguments of the launch"
            )
            refuse(f"{role}= asks for `{name}`, which the kernel has not", hint, (role, 9))
    return names


def refuse(message: str, hint: str, at: tuple[str, int] = ("configs", 0)) -> NoReturn:
    """Say what is wrong with how a kernel is to be tuned."""
    raise LaunchError.here("autotune", message, hint, at=at)
