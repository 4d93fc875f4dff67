"""How a kernel is tuned, as ``autotune`` was told, checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from weft.lang.decorators import Kernel
from weft.tuning.classes import Key, key_of
from weft.tuning.config import Config, asked_by, check_names, refuse, space_of
from weft.tuning.known import Table
from weft.tuning.measuring import Measure


class Rules:
    """How a kernel is tuned, as ``autotune`` was told."""

    def __init__(self, kernel: Kernel[...], configs: object, key: object, given: Mapping[str, Any]) -> None:
        fn, name = kernel.definition, kernel.__name__
        known = fn.names()
        self.given = given
        self.space: list[Config] = space_of(name, configs)
        check_names(fn, self.space[0])
        self.names: frozenset[str] = frozenset(self.space[0])
        self.key: Key = key_of(name, key, [n for n in known if n not in self.names])
        self.when: Callable[..., bool] | None = given["when"]
        if self.when is not None:
            asked_by(self.when, "when", known)
        self.default: Any = _default(self.space, given["default"], known)
        self.min_occupancy: float = given["min_occupancy"]
        if not isinstance(given["min_occupancy"], (int, float)) or not 0 <= self.min_occupancy <= 1:
            found = f"min_occupancy= is {self.min_occupancy!r}"
            refuse(found, "write a share from 0 to 1, 0.5 say", ("min_occupancy", 9))
        self.table: Table | None = _table(fn.file, given["table"])
        self.on_launch: bool = given["on_launch"]
        timeout = given["timeout"]
        if not isinstance(timeout, (int, float)) or timeout <= 0:
            refuse(f"timeout= is {timeout!r}", "write seconds, 10.0 say", ("timeout", 9))
        self.how: Measure = Measure(timeout, given["isolated"], given["measure"])


def _default(space: list[Config], given: Any, known: tuple[str, ...]) -> Any:
    if given is None:
        return None
    if callable(given):
        asked_by(given, "default", known)
        return given
    if isinstance(given, Mapping):
        for config in space:
            if config == Config(cast("Mapping[str, Any]", given)):
                return config
    return refuse(f"default={given!r} is none of the configurations", f"write {space[0]!r}", ("default", 9))


def _table(file: str, given: Any) -> Table | None:
    return None if given is None else Table(Path(os.path.dirname(os.path.abspath(file))) / given)
