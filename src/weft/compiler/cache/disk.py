"""What is kept between processes: bytes under a key that says all that they depend on.

Whatever goes wrong with the folder costs a compilation, never a result: what is read is what was
written under that very key, or it is not taken. That there is no folder to use is said once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from weft.compiler.cache.folder import Unusable, opened
from weft.config import settings
from weft.diagnostics import caller_location, note_slow

_MAGIC = b"weft"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_said = False


def load(key: str, *, quiet: bool = False) -> bytes | None:
    """What is kept under a key (64 hexadecimal digits), or None: nothing, or not what was written.

    ``quiet``: whether that there is no folder to use is left for others to say.
    """
    own: Unusable | None = None
    try:
        found = _load(parent(), key)
    except Unusable as problem:
        found, own = None, problem
    for shared in settings().shared_caches if found is None else ():
        try:
            found = found or _load(shared, key, shared=True)
        except Unusable as problem:
            own = own or problem
    if found is None and own is not None and not quiet:
        _say(own)
    return found


def _load(parent: Path, key: str, *, shared: bool = False) -> bytes | None:
    with opened(parent, create=False, shared=shared) as folder:
        found = None if folder is None else folder.read(key)
    return found[_HEAD:] if found is not None and right(key, found) else None


def right(key: str, found: bytes) -> bool:
    """Whether a file holds what was written under its key."""
    return found[:_HEAD] == _head(key, found[_HEAD:])


def store(key: str, data: bytes, *, quiet: bool = False) -> None:
    """Keep data under a key, if the folder can be written; ``quiet`` as for ``load``."""
    try:
        with opened(parent(), create=True) as folder:
            if folder is not None:
                folder.write(key, _head(key, data) + data)
                if key.startswith("0"):  # about one write in sixteen
                    folder.prune()
    except (Unusable, OSError) as problem:
        if not quiet:
            _say(getattr(problem, "strerror", None) or problem)


def parent() -> Path:
    """Where the folder of the cache is.

    Raises:
        Unusable: nowhere.
    """
    found = settings().cache_dir
    if found is None:
        raise Unusable("there is no home directory to keep them in; WEFT_CACHE_DIR names another one")
    return found


def _head(key: str, data: bytes) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(data)
    return _MAGIC + digest.digest()


def _say(problem: object) -> None:
    global _said
    if _said:
        return
    _said = True
    note_slow(
        f"compiled kernels are not kept for other processes, which compile them again: {problem}",
        caller_location(),
    )
