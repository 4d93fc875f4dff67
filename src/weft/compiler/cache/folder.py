"""The folder of the cache: one that is weft's own, of files that weft named.

It is trusted like a folder of keys: it and its files belong to the user, nobody else may write them,
and no link is followed. What is not so is neither read nor written nor deleted.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

NAME = "weft-compiled"
"""The folder's name within the one that the settings give, where anything else may be too."""
LIMIT = 512 << 20
AGE = 90 * 86400
"""Bytes and seconds without use, after which the oldest files go."""
_STALE = 3600
"""Seconds after which a file is left over from a process that ended while it wrote."""

_TAG = "CACHEDIR.TAG"
_MARK = b"""Signature: 8a477f597d28d172789f06886806bc55
# weft made this folder, keeps compiled kernels in it and deletes the oldest; it may be deleted as a whole.
# weft-compiled-1
"""
_ENTRY = re.compile(r"[0-9a-f]{64}\.weft")
_PART = re.compile(r"(?:[0-9a-f]{64}|tag)\.[0-9a-f]{16}\.part")

_POSIX = os.name == "posix" and os.open in os.supports_dir_fd
_FLAGS: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ: int = os.O_RDONLY | _FLAGS | getattr(os, "O_NONBLOCK", 0)  # or a pipe would make it wait
_WRITE: int = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
_DIRECTORY: int = _READ | getattr(os, "O_DIRECTORY", 0)


class Entry(NamedTuple):
    """A file of the cache: when it was last used, its size in bytes; ``part``: it was left half written."""

    used: float
    size: int
    name: str
    part: bool


class Unusable(Exception):
    """The folder cannot be used; the message says why."""


@contextmanager
def opened(parent: Path, *, create: bool, shared: bool = False) -> Generator[Folder | None]:
    """The cache's folder below ``parent``, for as long as it is needed; None where there is none yet.

    A ``shared`` one is only read: it may be the system's too, and others may read it.

    Raises:
        Unusable: it is not weft's, others may write to it, or it cannot be made.
    """
    path = parent / NAME
    try:
        found = _open(path, shared)
        if found is None and create:
            _make(path)
            found = _open(path)
    except (OSError, ValueError) as error:
        raise Unusable(f"{_shown(path)}: {getattr(error, 'strerror', None) or error}") from error
    if found is None:
        yield None
        return
    try:
        yield found
    finally:
        found.close()


def _shown(path: Path) -> str:
    return ascii(str(path))[1:-1]


def _open(path: Path, shared: bool = False) -> Folder | None:
    """The folder, looked at."""
    try:
        if not _POSIX:
            _check(path, path.lstat(), folder=True, shared=shared)
            folder = Folder(path, None, shared)
        else:
            if path.is_symlink():
                raise Unusable(f"{_shown(path)} is a link, which is not followed")
            folder = Folder(path, os.open(path, _DIRECTORY), shared)
    except FileNotFoundError:
        return None
    try:
        if folder.descriptor is not None:
            _check(path, os.fstat(folder.descriptor), folder=True, shared=shared)
        if not shared and folder.read_file(_TAG) is None and not os.listdir(path):
            folder.write_file(_TAG, _MARK, "tag")  # somebody has emptied it
        if folder.read_file(_TAG) != _MARK:
            raise Unusable(f"{_shown(path)} is not a folder that weft made: {_TAG} is missing or another's")
    except BaseException:
        folder.close()
        raise
    return folder


def _check(path: Path, status: os.stat_result, *, folder: bool = False, shared: bool = False) -> None:
    """Whether a folder or a file is what it should be, and nobody else could have written it."""
    right = stat.S_ISDIR if folder else stat.S_ISREG
    reparse = getattr(status, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
    if reparse or not right(status.st_mode):
        raise Unusable(f"{_shown(path)} is not a {'folder' if folder else 'file'}")
    if sys.platform != "win32":
        if status.st_uid not in ((os.geteuid(), 0) if shared else (os.geteuid(),)):
            raise Unusable(f"{_shown(path)} belongs to another user")
        if status.st_mode & 0o022 or (folder and not shared and status.st_mode & 0o077):
            raise Unusable(
                f"{_shown(path)} is open to others: chmod {'700' if folder else '600'} would close it"
            )


def _make(path: Path) -> None:
    """Make the folder with its mark, at once: nobody sees the one without the other."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{NAME}.{os.urandom(8).hex()}.part")
    new.mkdir(mode=0o700)
    try:
        with open(os.open(new / _TAG, _WRITE, 0o600), "wb") as file:
            file.write(_MARK)
        new.rename(path)
    except OSError:
        with suppress(OSError):
            (new / _TAG).unlink(missing_ok=True)
            new.rmdir()
        if not path.is_dir():  # else another process was first
            raise


class Folder:
    """The cache's folder while it is open; files are reached from it, whatever its path is by then."""

    def __init__(self, path: Path, descriptor: int | None, shared: bool = False) -> None:
        self.path = path
        self.shared = shared
        self.descriptor = descriptor

    def close(self) -> None:
        """Let go of it."""
        if self.descriptor is not None:
            os.close(self.descriptor)

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)

    def read_file(self, name: str) -> bytes | None:
        """What a file holds; None where there is none, or it is none to trust."""
        try:
            if self.descriptor is None:
                _check(self.path / name, os.lstat(self._at(name)), shared=self.shared)
            handle = os.open(self._at(name), _READ, dir_fd=self.descriptor)
        except (OSError, Unusable):
            return None
        try:
            status = os.fstat(handle)
            _check(self.path / name, status, shared=self.shared)
            if status.st_size > LIMIT:
                return None
            if not self.shared and time.time() - status.st_mtime > 86400 and os.utime in os.supports_fd:
                with suppress(OSError):
                    os.utime(handle)  # it is in use
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        except (OSError, Unusable):
            return None
        finally:
            os.close(handle)

    def read(self, key: str) -> bytes | None:
        """What is kept under a key of 64 hexadecimal digits."""
        return self.read_file(f"{key}.weft")

    def write(self, key: str, data: bytes) -> None:
        """Keep data under a key.

        Raises:
            OSError: it cannot be written; nothing is left of it.
        """
        self.write_file(f"{key}.weft", data, key)

    def write_file(self, name: str, data: bytes, stem: str) -> None:
        """Write a file by way of one of another name, so that readers see all of it or nothing."""
        part = f"{stem}.{os.urandom(8).hex()}.part"
        try:
            with open(os.open(self._at(part), _WRITE, 0o600, dir_fd=self.descriptor), "wb") as file:
                file.write(data)
            at = self.descriptor
            os.replace(self._at(part), self._at(name), src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            self._delete(part)
            raise

    def _delete(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self.descriptor)

    def prune(self) -> None:
        """Delete what was not used for long, the oldest beyond the limit, and what was left half written."""
        now = time.time()
        kept: list[Entry] = []
        for each in self.entries():
            if now - each.used > (_STALE if each.part else AGE):
                self._delete(each.name)
            elif not each.part:
                kept.append(each)
        total = sum(each.size for each in kept)
        for each in sorted(kept):
            if total <= LIMIT:
                return
            self._delete(each.name)
            total -= each.size

    def entries(self) -> list[Entry]:
        """The files that weft made here, but for the folder's mark."""
        found: list[Entry] = []
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            for entry in entries:
                part = _PART.fullmatch(entry.name) is not None
                if not part and not _ENTRY.fullmatch(entry.name):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                    _check(self.path / entry.name, status, shared=self.shared)
                except (OSError, Unusable):
                    continue
                found.append(Entry(status.st_mtime, status.st_size, entry.name, part))
        return found

    def clear(self) -> None:
        """Delete all that is kept."""
        for each in self.entries():
            self._delete(each.name)
