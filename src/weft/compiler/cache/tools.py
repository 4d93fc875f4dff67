"""Digests of what turns IR into code, weft's own sources and LLVM: parts of every key of the cache."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import marshal
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.compiler.cache.disk import load, store
from weft.compiler.started import STARTED

_COARSE = 100_000_000
"""Nanoseconds by which a file's times may lag."""


TOOLS = (
    "abi",
    "compiler/cache",
    "compiler/ir",
    "compiler/llvm",
    "compiler/passes",
    "compiler/pipeline.py",
    "config.py",
    "diagnostics",
    "dtype.py",
    "record.py",
    "targets",
)
"""What makes code of IR, and all that this imports; what makes the IR is known by what it made."""
SUPPORT = ("compiler/frontend", "compiler/source", "compiler/support.py", "lang")
"""What makes the functions written in weft that some modules are given beside their IR."""


@functools.cache
def whole() -> str | None:
    """A digest of all of weft, as ``toolchain`` is of a part."""
    return _digest(tuple(os.listdir(_package())))


@functools.cache
def toolchain(support: bool) -> str | None:
    """A digest of all that makes code of IR; None where its files were written since weft was loaded.

    It is that of the files' contents, which are read once and known again by what else a file has.
    ``support`` says whether a module is given functions beside its IR.
    """
    return _digest(TOOLS + SUPPORT * support)


def _digest(names: tuple[str, ...]) -> str | None:
    package, stamps = _package(), list[tuple[str, int, int, int, int]]()
    try:
        for path, status in _sources(package, names):
            times = status.st_mtime_ns, status.st_ctime_ns
            if max(times[os.name == "posix" :]) > STARTED - _COARSE:
                return None
            stamps.append((path, status.st_size, status.st_ino, *times))
        key = hashlib.sha256(marshal.dumps(stamps, 2)).hexdigest()
        known = load(key, quiet=True)
        if known is None:
            known = _contents(package, [path for path, *_ in stamps])
            store(key, known, quiet=True)
        return f"{known.hex()}|{_llvm()}"
    except OSError:  # weft is no folder of sources
        return None


def _package() -> str:
    return str(Path(__file__).parents[2])


def _sources(folder: str, names: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Every source file below a folder."""
    for name in sorted(names):
        path = f"{folder}{os.sep}{name}"
        if name.endswith(".py"):
            yield path, os.stat(path)
        elif "." not in name and name != "__pycache__":
            yield from _sources(path, os.listdir(path))


def _contents(package: str, paths: list[str]) -> bytes:
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        name = path[len(package) + 1 :].replace(os.sep, "/")
        digest.update(f"{name}|{len(data)}\n".encode())
        digest.update(data)
    return digest.digest()


def _llvm() -> str:
    """LLVM's release, and llvmlite's, without loading them."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or not found.submodule_search_locations:
        return ""
    folder = Path(found.submodule_search_locations[0])
    library = [(e.name, e.stat().st_size) for e in os.scandir(folder / "binding") if "llvmlite" in e.name]
    return f"{(folder / '_version.py').read_text()}|{sorted(library)}"
