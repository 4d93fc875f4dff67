"""Compiled kernels on disk, by content.

The key is everything that the result depends on: the code that the kernel reaches, captured values,
types, target, options, weft itself, LLVM, Python. An entry is one file: written under another name and
renamed, so that a reader sees all of it or nothing; checked against its digest when read; private to
the user. Whatever goes wrong with it costs a compilation, never a result. The folder is
``WEFT_CACHE_DIR`` or where the system keeps a user's caches, and stays under 512 MiB.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from weft.artifact import Artifact, AssertSite, Parameter, Piece, PrintSite, Signature
from weft.config import settings
from weft.dtype import as_dtype
from weft.frontend.fingerprint import NoFingerprint, fingerprint
from weft.frontend.over import Over
from weft.lang.decorators import Kernel
from weft.lang.spec import Spec
from weft.targets import Target, find_target

__all__ = ["cached", "compile_kernel", "key_of", "load", "store"]

_FORMAT = 1
_LIMIT = 512 << 20
_MAGIC = b"weft"


def compile_kernel(
    kernel: Kernel[...],
    specs: Mapping[str, Spec],
    target: str | Target,
    *,
    over: Over | None = None,
    distinct: bool = False,
) -> Artifact:
    """A kernel compiled for a target, or taken from the cache where it has been before."""
    found = find_target(target)
    key = key_of(kernel, specs, found, over, distinct=distinct)
    artifact = load(key) if key is not None else None
    if artifact is None:
        from weft.emit.llvm import warm

        warm()
        from weft.compiler import elaborate_kernel  # only now: what is in the cache needs no compiler

        artifact = elaborate_kernel(kernel, specs, found, over=over, distinct=distinct).artifact()
        if key is not None:
            store(key, artifact)
    return artifact


def key_of(
    kernel: Kernel[...],
    specs: Mapping[str, Spec],
    target: Target,
    over: Over | None,
    *,
    distinct: bool = False,
) -> str | None:
    """The key of a compilation; None where something that it depends on has no content to go by."""
    machine = ""
    if target.cpu == "native":
        from weft.emit.llvm import host_machine

        machine = "|".join(host_machine())
    plan = None if over is None else (over.rank, over.per_thread)
    try:
        return fingerprint(_toolchain(), kernel, dict(specs), target.name, machine, plan, distinct)
    except NoFingerprint:
        return None


@functools.cache
def _toolchain() -> str:
    """What compiles: the sources of weft as they are, LLVM's release, Python's."""
    digest = hashlib.sha256(f"{_FORMAT}|{sys.version}".encode())
    for line in sorted(_sources(str(Path(__file__).parent))):
        digest.update(line.encode())
    found = importlib.util.find_spec("llvmlite")
    if found is not None and found.submodule_search_locations:
        site = Path(found.submodule_search_locations[0]).parent
        digest.update("".join(sorted(p.name for p in site.glob("llvmlite-*"))).encode())
    return digest.hexdigest()


def _sources(folder: str) -> list[str]:
    """Name, size and time of every source file below a folder."""
    out: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                out.append(f"{entry.name}|{status.st_size}|{status.st_mtime_ns}\n")
            elif entry.name != "__pycache__" and entry.is_dir():
                out.append(f"{entry.name}:{''.join(sorted(_sources(entry.path)))}")
    return out


def load(key: str) -> Artifact | None:
    """The artifact under that key, or None: not there, unreadable, or not what was written."""
    path = settings().cache_dir / key[:2] / f"{key}.weft"
    try:
        data = path.read_bytes()
        head, rest = data[:36], data[36:]
        if head[:4] != _MAGIC or hashlib.sha256(rest).digest() != head[4:]:
            return None
        text, code = rest.split(b"\n", 1)
        return _artifact(json.loads(text), code)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(key: str, artifact: Artifact) -> None:
    """Keep an artifact under that key, if the folder can be written."""
    folder = settings().cache_dir / key[:2]
    rest = json.dumps(_fields(artifact)).encode() + b"\n" + artifact.code
    data = _MAGIC + hashlib.sha256(rest).digest() + rest
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, folder / f"{key}.weft")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if key.startswith("0"):  # about one write in sixteen
            _prune(folder.parent)
    except OSError:
        return


def cached(text: str, target: Target, compile: Callable[[], bytes]) -> bytes:
    """What ``compile`` makes of a text for a target, or made of it in another process."""
    from weft.emit.llvm import host_machine

    machine = "|".join(host_machine()) if target.cpu == "native" else ""
    key = hashlib.sha256(f"{_toolchain()}|{target.name}|{machine}|{text}".encode()).hexdigest()
    found = load(key)
    if found is None:
        found = Artifact("", target.name, target.kind, compile(), Signature("", ()))
        store(key, found)
    return found.code


def _prune(folder: Path) -> None:
    """Drop the oldest entries until the folder is under its limit."""
    entries = sorted((p.stat().st_mtime, p.stat().st_size, p) for p in folder.glob("*/*"))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= _LIMIT:
            return
        path.unlink(missing_ok=True)
        total -= size


def _fields(a: Artifact) -> dict[str, Any]:
    return {
        "entry": a.entry,
        "target": a.target,
        "kind": a.kind,
        "name": a.signature.name,
        "parameters": [[p.name, p.dtype.name, p.pointer, p.written] for p in a.signature.parameters],
        "prints": [[_piece_text(p) for p in site.pieces] for site in a.prints],
        "asserts": [
            [[_piece_text(p) for p in site.pieces], site.file, site.line, site.column] for site in a.asserts
        ],
        "shared_bytes": a.shared_bytes,
        "over_rank": a.over_rank,
        "per_thread": list(a.per_thread),
        "uses": sorted(a.uses),
        "dynamic_shared": a.dynamic_shared,
        "notes": a.notes,
    }


def _piece_text(piece: Piece) -> list[str]:
    if isinstance(piece, str):
        return [piece]
    return [piece[0].name, piece[1]] if isinstance(piece, tuple) else [piece.name, ""]


def _piece(words: list[str]) -> Piece:
    if len(words) == 1:
        return words[0]
    dtype = as_dtype(words[0])
    return (dtype, words[1]) if words[1] else dtype


def _artifact(f: dict[str, Any], code: bytes) -> Artifact:
    parameters = tuple(
        Parameter(name, as_dtype(dtype), pointer, written)
        for name, dtype, pointer, written in f["parameters"]
    )
    across, down = f["per_thread"]
    return Artifact(
        entry=f["entry"],
        target=f["target"],
        kind=f["kind"],
        code=code,
        signature=Signature(f["name"], parameters),
        prints=tuple(PrintSite(tuple(_piece(p) for p in site)) for site in f["prints"]),
        asserts=tuple(
            AssertSite(tuple(_piece(p) for p in pieces), file, line, column)
            for pieces, file, line, column in f["asserts"]
        ),
        shared_bytes=f["shared_bytes"],
        over_rank=f["over_rank"],
        per_thread=(across, down),
        uses=frozenset(f["uses"]),
        dynamic_shared=f["dynamic_shared"],
        notes=f["notes"],
    )
