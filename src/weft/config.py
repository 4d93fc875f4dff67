"""Settings of weft, and the only place that reads the environment.

``WEFT_DEVICE`` names the device that ``DeviceContext()`` takes by default, and ``WEFT_CACHE_DIR`` the
folder of the compilation cache; ``WEFT_SHARED_CACHES`` names further ones, with the system's path
separator between them, which are only read. LLVM works in a process of its own, so that an error or an
endless loop in it costs a message and not the program: ``WEFT_COMPILE=in-process`` has it work in the
program's, and ``WEFT_COMPILE_LIMIT`` says how many seconds it may take for one kernel elsewhere (60).
``WEFT_CHECK=1`` has kernels check what they access, ``WEFT_CHECK=bounds,overflow`` for what these words
mean (``DeviceContext``). ``WEFT_INTERPRET=1`` makes every context the interpreter's. ``WEFT_CPU_THREADS``
says how many threads run the blocks of a launch on a CPU. A launch on a GPU copies arrays of the host there
and back, unless ``WEFT_HOST_ARRAYS=refuse``. ``WEFT_OPT_LEVEL`` says how much LLVM and a GPU's assembler
optimise, from 0 to 3. ``WEFT_PERF_MAP=1`` writes where kernels of a CPU lie, for ``perf``. With
``WEFT_TUNE=0`` launches of tuned kernels measure nothing.
A program changes a setting for a while with ``scope``:

>>> from weft import config
>>> with config.scope(device="cpu"):
...     config.settings().device
'cpu'
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, TypeVar

from weft.abi.checks import Checks, checks_of
from weft.diagnostics import CompileError
from weft.diagnostics.modules import present
from weft.record import record

__all__ = ["CompileIn", "HostArrays", "Settings", "environment", "processors", "scope", "settings"]

CompileIn = Literal["process", "in-process"]
"""Where LLVM works: in processes of its own, or in this one."""
HostArrays = Literal["copy", "refuse"]
"""What becomes of a host's array that is given to a GPU's kernel."""
_PLACES: tuple[CompileIn, ...] = ("process", "in-process")
MOST_CPU_THREADS = 1024
"""Of a pool that runs blocks on a CPU."""
_HOST_ARRAYS: tuple[HostArrays, ...] = ("copy", "refuse")
C = TypeVar("C", bound=str)


@record
class Settings:
    """What a user can set.

    ``device`` is the name of an API such as ``cpu`` or ``cuda``, or none for the best device here.
    ``cache_dir`` is where the folder of the compilation cache is, or none where no home is known.
    ``shared_caches`` are folders that hold others' caches, which are read where ``cache_dir`` has nothing.
    ``compile`` says where LLVM works, ``compile_limit`` how many seconds it may take for a kernel in a
    process of its own. ``host_arrays`` says what becomes of arrays of the host in launches on a GPU,
    ``check`` what contexts are checked for that do not say it, by words. ``cpu_threads`` is how many threads
    run the blocks of a launch on a CPU, none for as many as this process has cores. ``interpret`` says
    whether Python runs the kernels of all contexts, whatever API they name. ``schedule`` is the seed of the
    order in which a CPU runs blocks and threads, none for the usual one. ``debug`` says whether contexts of a
    CPU compile for debuggers of native code, ``tune`` whether launches of tuned kernels measure what is
    not known, ``opt_level`` how much is optimised, from 0 to 3, or none for what the target says,
    ``perf_map`` whether ``perf`` is told where kernels of a CPU lie.
    """

    device: str | None
    cache_dir: Path | None
    shared_caches: tuple[Path, ...] = ()
    compile: CompileIn = "process"
    compile_limit: float = 60.0
    host_arrays: HostArrays = "copy"
    check: frozenset[str] = frozenset()
    cpu_threads: int | None = None
    interpret: bool = False
    schedule: int | None = None
    debug: bool = False
    tune: bool = True
    opt_level: int | None = None
    perf_map: bool = False


_scoped: ContextVar[Settings | None] = ContextVar("weft settings", default=None)


def settings() -> Settings:
    """The settings in force: those of the innermost ``scope``, else the environment's."""
    return _scoped.get() or _from_environment()


@contextmanager
def scope(
    *,
    device: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    shared_caches: Sequence[str | os.PathLike[str]] | None = None,
    compile: CompileIn | None = None,
    compile_limit: float | None = None,
    host_arrays: HostArrays | None = None,
    check: Checks | None = None,
    cpu_threads: int | None = None,
    interpret: bool | None = None,
    schedule: int | None = None,
    debug: bool | None = None,
    tune: bool | None = None,
    opt_level: int | None = None,
) -> Generator[Settings]:
    """Within the context the given settings hold, in this thread and in tasks that it starts.

    Args:
        device: the API of the default device; none leaves it as it is.
        cache_dir: the folder of the compilation cache; none leaves it as it is.
        shared_caches: folders of caches that are only read; none leaves them as they are.
        compile: where LLVM works, ``"process"`` or ``"in-process"``; none leaves it as it is.
        compile_limit: how many seconds LLVM may take for a kernel; none leaves it as it is.
        host_arrays: ``"copy"`` or ``"refuse"`` arrays of the host in launches on a GPU; none
            leaves it as it is.
        check: what kernels are checked for, as ``DeviceContext(checked=...)`` takes it; none leaves it
            as it is.
        cpu_threads: how many threads contexts of a CPU take that do not say it; none leaves it as it is.
        interpret: whether Python runs the kernels of all contexts; none leaves it as it is.
        schedule: the seed of the order of blocks and threads in contexts of a CPU; none leaves it as it is.
        debug: whether contexts of a CPU compile for gdb and lldb; none leaves it as it is.
        tune: whether launches of tuned kernels measure what is not known; none leaves it as it is.
        opt_level: how much contexts optimise that do not say it, from 0 to 3; none leaves it as it is.

    Raises:
        CompileError: there is no such check.
    """
    outer = settings()
    token = _scoped.set(
        Settings(
            device=outer.device if device is None else device,
            cache_dir=outer.cache_dir if cache_dir is None else Path(cache_dir),
            shared_caches=outer.shared_caches if shared_caches is None else tuple(map(Path, shared_caches)),
            compile=outer.compile if compile is None else compile,
            compile_limit=outer.compile_limit if compile_limit is None else compile_limit,
            host_arrays=outer.host_arrays if host_arrays is None else host_arrays,
            check=outer.check if check is None else _checks(check, "check"),
            cpu_threads=outer.cpu_threads if cpu_threads is None else cpu_threads,
            interpret=outer.interpret if interpret is None else interpret,
            schedule=outer.schedule if schedule is None else schedule,
            debug=outer.debug if debug is None else debug,
            tune=outer.tune if tune is None else tune,
            opt_level=outer.opt_level if opt_level is None else opt_level,
            perf_map=outer.perf_map,
        )
    )
    try:
        yield settings()
    finally:
        _scoped.reset(token)


def _from_environment() -> Settings:
    return Settings(
        device=os.environ.get("WEFT_DEVICE") or None,
        cache_dir=_cache_dir(),
        shared_caches=tuple(
            map(Path, filter(None, os.environ.get("WEFT_SHARED_CACHES", "").split(os.pathsep)))
        ),
        compile=_one_of("WEFT_COMPILE", _PLACES, "LLVM works in a process of its own"),
        compile_limit=_seconds(os.environ.get("WEFT_COMPILE_LIMIT") or "60"),
        host_arrays=_one_of("WEFT_HOST_ARRAYS", _HOST_ARRAYS, "they are copied to a GPU and back"),
        check=_check(),
        cpu_threads=_threads(os.environ.get("WEFT_CPU_THREADS")),
        interpret=_one_of("WEFT_INTERPRET", ("0", "1"), "contexts have the devices that they name") == "1",
        schedule=_seed(os.environ.get("WEFT_SCHEDULE")),
        debug=_one_of("WEFT_DEBUG", ("0", "1"), "code is optimised, and debuggers know none of it") == "1",
        tune=_one_of("WEFT_TUNE", ("1", "0"), "launches measure what is not known") == "1",
        opt_level=_level(os.environ.get("WEFT_OPT_LEVEL")),
        perf_map=_one_of("WEFT_PERF_MAP", ("0", "1"), "perf knows no kernels of CPUs by name") == "1",
    )


def check_all(words: str = "1") -> None:
    """Check the contexts that do not say otherwise, in this process and in those that it starts.

    Raises:
        CompileError: there is no such check.
    """
    _check(words, "--check")
    os.environ["WEFT_CHECK"] = words


def _check(text: str | None = None, setting: str = "WEFT_CHECK") -> frozenset[str]:
    """What kernels are checked for, from text: 0, 1, or words with commas."""
    text = os.environ.get("WEFT_CHECK") or "0" if text is None else text
    if text in ("0", "1"):
        return checks_of(text == "1")
    return _checks([word.strip() for word in text.split(",")], setting)


def _checks(asked: Any, setting: str) -> frozenset[str]:
    try:
        return checks_of(asked)
    except ValueError as error:
        hint = "leave it out for none, or write 1 for what is always checked"
        raise CompileError.at("setting", f"{setting}: {error}", None, hints=(hint,)) from None


def interpret_all() -> None:
    """Have Python run the kernels of all contexts, in this process and in those that it starts."""
    os.environ["WEFT_INTERPRET"] = "1"


def processors() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def environment() -> Mapping[str, str]:
    """What a process inherits that weft starts."""
    return os.environ


def _one_of(variable: str, known: tuple[C, ...], otherwise: str) -> C:
    """What a variable of the environment says, the first where it is unset."""
    text = os.environ.get(variable) or known[0]
    for each in known:
        if text == each:
            return each
    message = f"{variable}={text} is none of {', '.join(known)}"
    raise CompileError.at("setting", message, None, hints=(f"leave it unset: {otherwise}",))


def _seconds(text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if limit > 0:
        return limit
    message = f"WEFT_COMPILE_LIMIT={text} is no number of seconds"
    raise CompileError.at("setting", message, None, hints=("write WEFT_COMPILE_LIMIT=300, say",))


def _seed(text: str | None) -> int | None:
    if not text or text.isdecimal():
        return int(text) if text else None
    message = f"WEFT_SCHEDULE={text} is no seed: a number from 0 on"
    raise CompileError.at("setting", message, None, hints=("leave it unset: the usual order",))


def _level(text: str | None) -> int | None:
    if not text or text in ("0", "1", "2", "3"):
        return int(text) if text else None
    message = f"WEFT_OPT_LEVEL={text} is no level of optimisation: 0, 1, 2 or 3"
    raise CompileError.at("setting", message, None, hints=("leave it unset: as much as pays",))


def optimise_all(level: int) -> None:
    """Optimise at a level from 0 to 3, in this process and in those that it starts."""
    os.environ["WEFT_OPT_LEVEL"] = str(level)


def schedule_all(seed: int) -> None:
    """Run blocks and threads of CPUs in the order of a seed, in this process and in those that it starts."""
    os.environ["WEFT_SCHEDULE"] = str(seed)


def _threads(text: str | None) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_CPU_THREADS:
        return int(text)
    message = f"WEFT_CPU_THREADS={text} is no number of threads from 1 to {MOST_CPU_THREADS}"
    raise CompileError.at("setting", message, None, hints=("leave it unset: as many as there are cores",))


def _cache_dir() -> Path | None:
    named = os.environ.get("WEFT_CACHE_DIR")
    try:
        return Path(named).expanduser() if named else _user_cache_dir()
    except RuntimeError:  # of a user who is not known, or has no home
        return None


def _user_cache_dir() -> Path:
    """The folder for weft where this system keeps a user's caches."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "weft" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "weft"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "weft"


present(globals())
