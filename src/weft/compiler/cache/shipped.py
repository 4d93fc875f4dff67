"""The cache as one file, to bring compiled kernels along: into a container, say.

It is a tar archive of the cache's own files. Each holds the digest of its key and of what it keeps; what is
not so is not taken. Compiled kernels are programs: take archives of those alone whose programs you would run.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Container
from pathlib import Path

from weft.compiler.cache.disk import parent, right
from weft.compiler.cache.folder import LIMIT, opened

_NAME = re.compile(r"([0-9a-f]{64})\.weft")


def export(path: Path, keys: Container[str] | None = None) -> int:
    """Write what the cache keeps into an archive: all of it, or what is under these keys.

    Returns:
        how many files there are in it.

    Raises:
        Unusable: the cache cannot be read.
        OSError: the archive cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        count = _export(part, keys)
        part.replace(path)  # all of it or what was there before, should this process be killed
    finally:
        part.unlink(missing_ok=True)
    return count


def _export(path: Path, keys: Container[str] | None) -> int:
    count = 0
    with opened(parent(), create=False) as folder, tarfile.open(path, "w:gz") as archive:
        for entry in sorted(folder.entries() if folder else [], key=lambda each: each.name):
            key = entry.name.partition(".")[0]
            if entry.part or not (keys is None or key in keys):
                continue
            data = folder and folder.read_file(entry.name)
            if not data or not right(key, data):
                continue
            member = tarfile.TarInfo(entry.name)
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
            count += 1
    return count


def take(path: Path) -> tuple[int, int]:
    """Put into the cache what an archive holds.

    Returns:
        how many files were taken, and how many were not what their names say.

    Raises:
        Unusable: the cache cannot be written.
        OSError, EOFError, tarfile.TarError, zlib.error: the archive cannot be read to its end; what was
            read before is in the cache.
    """
    taken = wrong = 0
    with tarfile.open(path) as archive, opened(parent(), create=True) as folder:
        for member in archive:
            named = _NAME.fullmatch(member.name)
            file = archive.extractfile(member) if named and member.isreg() and member.size <= LIMIT else None
            data = file.read() if file else b""
            if folder is None or named is None or not right(named[1], data):
                wrong += 1
                continue
            folder.write(named[1], data)
            taken += 1
        wrong += _goes_on(archive)
        if folder is not None:
            folder.prune()
    return taken, wrong


def _goes_on(archive: tarfile.TarFile) -> bool:
    """Whether there is something behind what was taken for the end: a damaged head of a member is."""
    file = archive.fileobj
    assert file is not None
    file.seek(archive.offset)
    found = False
    while data := file.read(1 << 20):  # to the end, where gzip has a sum of all
        found = found or any(data)
    return found
