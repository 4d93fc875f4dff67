"""``weft cache``: what is kept of compiled kernels, to look at, to delete, to bring along."""

from __future__ import annotations

import argparse
import tarfile
import time
import zlib
from pathlib import Path

from weft.compiler.cache.disk import parent
from weft.compiler.cache.folder import AGE, LIMIT, NAME, Unusable, opened
from weft.compiler.cache.shipped import export, take
from weft.config import settings
from weft.diagnostics import CompileError


def cache(words: argparse.Namespace) -> int:
    """Do what is asked for.

    Raises:
        CompileError: the cache, or the archive, cannot be read or written.
    """
    try:
        if words.what == "info":
            return _info()
        if words.what == "clear":
            with opened(parent(), create=False) as folder:
                if folder is not None:
                    folder.clear()
            return 0
        archive = Path(words.file)
        if words.what == "export":
            print(f"{export(archive)} files of {parent() / NAME} in {archive}")
            return 0
        taken, wrong = take(archive)
        print(f"{taken} files of {archive} taken")
        if wrong:
            message = f"{wrong} files of {archive} are not what their names say, and were left out"
            raise CompileError.at("cache", message, None, hints=("export it anew: weft cache export FILE",))
        return 0
    except Unusable as problem:
        hint = "WEFT_CACHE_DIR names another folder"
        raise CompileError.at("cache", f"there is no cache to use: {problem}", None, hints=(hint,)) from None
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        said = getattr(error, "strerror", None) or str(error).partition(":")[0]
        message = f"cannot {'write' if words.what == 'export' else 'read'} {words.file}: {said}"
        raise CompileError.at("cache", message, None, hints=("give another file",)) from None


def _info() -> int:
    for place, shared in ((parent(), False), *((path, True) for path in settings().shared_caches)):
        print(f"{place / NAME}{' (only read)' if shared else ''}")
        try:
            with opened(place, create=False, shared=shared) as folder:
                found = [] if folder is None else [each for each in folder.entries() if not each.part]
        except Unusable as problem:
            print(f"  not used: {problem}")
            continue
        size = sum(each.size for each in found) / (1 << 20)
        most = "" if shared else f" of at most {LIMIT >> 20}"
        print(f"  {len(found)} files, {size:.1f} MiB{most}")
        if found:
            oldest = (time.time() - min(found).used) / 86400
            rule = "" if shared else f"; they go after {AGE // 86400}"
            print(f"  the oldest was used {oldest:.0f} days ago{rule}")
    return 0
