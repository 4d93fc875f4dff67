"""What was found before: in the cache of compiled code, and in tables that are shipped beside kernels.

The cache has a choice by all that it depends on: the code that the first configuration is compiled to (and so
all that this reads), the space, the device and the class. A table has it by kernel, device and class alone:
whoever ships it says that it is right for the kernel beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from weft.compiler.cache.disk import load, store
from weft.diagnostics import LaunchError
from weft.record import record
from weft.tuning.classes import Class
from weft.tuning.config import Config

FORMAT = "weft-tuning-1"


@record
class Choice:
    """What one class is launched with."""

    kernel: str
    """The name of its file, and its own."""
    of: Class
    config: Config
    seconds: float
    """What a launch took, with this configuration."""
    default: float
    """The same with the default."""
    left_out: tuple[tuple[Config, str], ...] = ()
    """What was not measured to the end since it cannot be launched, or has failed, with the reasons."""


def cache_key(code: str, space: Sequence[Config], of: Class) -> str:
    """The name under which the cache has a choice."""
    text = json.dumps([FORMAT, code, [c.texts() for c in space], of.device, of.types, of.key])
    return hashlib.sha256(text.encode()).hexdigest()


def recall(key: str, space: Iterable[Config]) -> Config | None:
    """What the cache has, if it is one of the space."""
    found = load(key)
    return None if found is None else one_of(space, json.loads(found)["config"])


def remember(key: str, choice: Choice) -> None:
    """Put a choice into the cache."""
    store(key, json.dumps(_entry(choice)).encode())


def one_of(space: Iterable[Config], texts: Any) -> Config | None:
    """The configuration that is written so."""
    return next((config for config in space if config.texts() == texts), None)


def _entry(choice: Choice) -> dict[str, Any]:
    return {
        "kernel": choice.kernel,
        "device": choice.of.device,
        "types": choice.of.types,
        "key": dict(choice.of.key),
        "config": choice.config.texts(),
        "seconds": choice.seconds,
        "default_seconds": choice.default,
    }


class Table:
    """A file of choices, read when it is first asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: list[dict[str, Any]] | None = None

    def find(self, kernel: str, of: Class, space: Iterable[Config]) -> Config | None:
        """What it has for a class.

        Raises:
            LaunchError: the file is none of these, or has a configuration that the kernel has not.
        """
        wanted = kernel, of.device, of.types, dict(of.key)
        for entry in self._read():
            if (entry["kernel"], entry["device"], entry["types"], entry["key"]) == wanted:
                found = one_of(space, entry["config"])
                if found is None:
                    self._refuse(
                        f"has {entry['config']} for {of}, which {kernel} has not among its configurations"
                    )
                return found
        return None

    def _read(self) -> list[dict[str, Any]]:
        if self._entries is None:
            try:
                self._entries = entries_of(self.path)
            except FileNotFoundError:
                self._entries = []  # until there is one
            except (OSError, ValueError) as error:
                self._refuse(f"cannot be read: {error}")
        return self._entries or []

    def _refuse(self, what: str) -> None:
        hint = f"make it anew: `weft tune FILE --write {self.path.name}`, or delete it"
        raise LaunchError.here("autotune", f"the table {self.path} {what}", hint)


def entries_of(path: Path) -> list[dict[str, Any]]:
    """The entries of a table.

    Raises:
        OSError: there is no such file.
        ValueError: it is no table.
    """
    read: Any = json.loads(path.read_text(encoding="utf-8"))
    entries: Any = cast("dict[str, Any]", read).get("choices") if isinstance(read, dict) else None
    if not isinstance(entries, list) or read.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"it is not of the format {FORMAT}")
    names = {"kernel", "device", "types", "key", "config"}
    for entry in cast("list[Any]", entries):
        if not isinstance(entry, dict) or not names <= entry.keys():
            raise ValueError(f"an entry has not all of {', '.join(sorted(names))}")
    return cast("list[dict[str, Any]]", entries)


def write_table(path: str | os.PathLike[str], choices: Iterable[Choice]) -> None:
    """Write choices to a table; what it has for other classes stays.

    Raises:
        OSError: it cannot be written.
        ValueError: there is another file of that name.
    """
    place = Path(path)
    old = entries_of(place) if place.exists() else []
    merged = {_of(entry): entry for entry in [*old, *map(_entry, choices)]}
    entries = [merged[of] for of in sorted(merged)]
    text = json.dumps({"format": FORMAT, "choices": entries}, indent=1, ensure_ascii=False) + "\n"
    part = place.with_name(f"{place.name}.{os.urandom(4).hex()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _of(entry: dict[str, Any]) -> str:
    return json.dumps([entry["kernel"], entry["device"], entry["types"], entry["key"]])
