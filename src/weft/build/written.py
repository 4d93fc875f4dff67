"""A program's code as files: an archive of cache entries for several targets, or a folder with an index."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from weft.build.outcome import Outcome
from weft.build.shown import module_text
from weft.compiler.cache.shipped import export
from weft.diagnostics import CompileError

_ENDS = {"ptx": ".ptx", "object": ".o", "python": ".pyc"}
INDEX = "program.json"
_TILES = "parameter", "extents", "strides", "box", "swizzle"
"""Of tiles that a launch describes, behind the parameters: as ``cuTensorMapEncodeTiled`` is told."""


def write(place: str, outcomes: Sequence[Outcome], assembled: Sequence[str]) -> str:
    """Write what was compiled, and say what: an archive, a folder where the place is one or ends as one, or
    one module that shows it all, where the place ends in ``.mlir``.

    ``assembled`` are the keys of what the driver has made of it.

    Raises:
        CompileError: it cannot be written.
    """
    folder = Path(place).is_dir() or place.endswith("/")
    try:
        if folder:
            return _folder(Path(place), outcomes)
        if place.endswith(".mlir"):
            Path(place).write_text(module_text(outcomes), encoding="ascii")
            return f"one module in {place}"
        keys = {each.key for each in outcomes if each.key is not None}
        lacking = sum(each.artifact is not None and each.key is None for each in outcomes)
        if lacking:
            message = f"{lacking} of the kernels have no key: weft's own files were written while it runs"
            raise CompileError.at("cache", message, None, hints=("run it again",))
        return f"{export(Path(place), keys | set(assembled))} files in {place}"
    except OSError as error:
        message = f"cannot write {place}: {error.strerror}"
        raise CompileError.at("output", message, None, hints=("give -o another name",)) from None


def _folder(place: Path, outcomes: Sequence[Outcome]) -> str:
    place.mkdir(parents=True, exist_ok=True)
    index: list[Mapping[str, Any]] = []
    for outcome in outcomes:
        artifact = outcome.artifact
        if artifact is None:
            continue
        stem = re.sub(r"[^\w.=-]+", "_", f"{outcome.item.name}.{artifact.target}")
        file = f"{stem}{_ENDS[artifact.format]}"
        (place / file).write_bytes(artifact.code)
        [info] = artifact.kernels
        index.append(
            {
                "kernel": outcome.item.name,
                "target": artifact.target,
                "file": file,
                "entry": info.entry,
                "parameters": [
                    {"name": p.name, "type": p.dtype.name, "pointer": p.pointer}
                    for p in info.signature.parameters
                ],
                "tiles": [
                    {"slot": slot} | {name: getattr(tiles, name) for name in _TILES}
                    for slot, tiles in info.tiles.items()
                ],
                "shared": info.shared,
                "dynamic_shared": info.dynamic_shared,
                "max_threads": info.max_threads,
                "sha256": sha256(artifact.code).hexdigest(),
            }
        )
    (place / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return f"{len(index)} files and {INDEX} in {place}"
