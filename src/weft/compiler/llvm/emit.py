"""LLVM's part: a module's text becomes code, in a process of its own; code becomes part of this one.

LLVM's assertions end the process that they fail in, and its passes can go on for ever. So it works in a
worker (``workers``), which may end or be ended; a module that it fails on is tried with less
optimisation. With the setting ``compile="in-process"``, or where no process can be started, it works
here, which is as good for all but that.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, Literal

from weft.abi.artifact import LoadedCode
from weft.compiler.llvm import workers
from weft.compiler.llvm.symbols import plain_entries
from weft.config import settings
from weft.diagnostics import CompileError, Location, note_slow
from weft.diagnostics.timed import stages
from weft.record import record
from weft.targets import Target

_lock = threading.RLock()
"""Of LLVM in this process: it is not to be at work in another thread when the process forks."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

_LEAST = "define void @least() {\n  ret void\n}\n"
"""A module that is compiled to have what compiling takes."""
_TOLD = 12
"""As many lines of what LLVM says about an error go into the message."""
_GIST = 200
"""A longer line of them is cut where it stands in a sentence."""


@record
class Emission:
    """What code generation produced: ``text`` for assembly and IR, ``data`` for an object file."""

    text: str = ""
    data: bytes = b""


class LLVMError(CompileError):
    """LLVM makes no code of a module. ``reason`` is what it says."""

    __module__ = "weft"
    reason: str = ""


@record
class _Step:
    """How much LLVM is asked to optimise; ``without`` says what is left out beside the step before."""

    without: str
    level: int
    vectors: int = 0
    passes: bool = True
    missed: bool = True
    """Whether a kernel may be slower without it."""


def emit(
    text: str,
    target: Target,
    kind: Literal["llvm-opt", "asm", "object"],
    *,
    passes: bool = True,
    name: str = "code of weft's own",
    place: Location | None = None,
    debug: bool = False,
) -> Emission:
    """Compile LLVM IR.

    Without ``passes``, and of a target whose level is 0, only the code generator optimises, which is enough
    for IR written by hand; with ``debug`` not even that does. ``name`` and ``place`` are those of the
    kernel, for messages.

    Raises:
        LLVMError: LLVM refuses the text, or fails on it however little it is to optimise.
    """
    failed, late = list[str](), False
    passes = passes and target.level > 0
    vectors = vectors_of(target)
    steps = [_Step("", target.level, vectors, passes)]
    if passes and vectors:  # LLVM 22 fails at times where it joins what stands side by side
        steps.append(_Step("vectors of what stands side by side", 3, 1, missed=False))
        steps.append(_Step("making vectors of its loops", 3))
    if passes and target.level > 1:
        steps.append(_Step("most of its optimisation", 1))
    steps.append(_Step("optimisation", 0, passes=False))
    for step in steps[-1:] if debug else steps:
        try:
            made, told = _run(text, target, kind, step)
        except workers.Refused as error:
            raise _error(f"LLVM refuses {name}", place, str(error)) from None
        except workers.Late as error:
            limit, late = settings().compile_limit, True
            failed.append(f"it did not {error.args[0]} it within {limit:g} seconds")
        except workers.Ended as ended:
            failed.append(f"it could not {ended.stage} it: {_gist(ended.told) or ended.how}")
            if ended.stage == "read":
                raise _error(f"LLVM refuses {name}", place, ended.told or ended.how) from None
        else:
            if told:
                print(told, file=sys.stderr)
            if failed and (step.missed or late):
                _warn(name, failed, step.without, place)
            if kind == "object":
                return Emission(data=made)
            if kind == "asm":
                made = target.mended(made)
            return Emission(text=plain_entries(made) if kind == "asm" and target.format == "ptx" else made)
    raise _error(f"LLVM cannot compile {name}", place, "\n".join(dict.fromkeys(failed)))


def check(text: str, target: Target, kind: Literal["check", "asm", "object"]) -> str | None:
    """Why LLVM does not take a module (``check``) or makes no code of it; None where it says nothing."""
    try:
        _run(text, target, kind, _Step("", 0, passes=False))
    except workers.Refused as error:
        return str(error)
    except workers.Late:
        return None
    except workers.Ended as ended:
        return ended.told or None
    return None


def warm(target: Target | None = None) -> None:
    """Begin to have LLVM at hand, if it is going to work in another process, without waiting for it.

    With a target, what making code for that takes is loaded there too.
    """
    if settings().compile == "process":
        workers.warm(target and job_of(_LEAST, target, "warm", target.level, vectors=0, passes=True))


def vectors_of(target: Target) -> int:
    """What LLVM makes vectors of (``Job``): lanes of one thread are not worth looking for."""
    return 2 if target.threads == "loops" else 0


def job_of(
    text: str, target: Target, kind: str, level: int, *, vectors: int, passes: bool
) -> tuple[Any, ...]:
    """A module's text and what is asked, as a worker takes it."""
    cpu = target.cpu_for(text)
    return (
        text.replace(f'"target-cpu"="{target.cpu}"', f'"target-cpu"="{cpu}"') if cpu != target.cpu else text,
        kind,
        target.triple,
        cpu,
        target.features_for(text),
        level,
        vectors,
        passes,
        target.orders_zeros,
    )


def have_here() -> None:
    """Load LLVM into this process, for those that it forks."""
    with _lock:
        _backend().host_machine()


def _run(text: str, target: Target, kind: str, step: _Step) -> tuple[Any, str]:
    """What LLVM makes of a module, and what it prints."""
    job = job_of(text, target, kind, step.level, vectors=step.vectors, passes=step.passes)
    with stages() as begin:
        if settings().compile == "process":
            try:
                # What runs on this machine is going to be linked by the LLVM of this process.
                own = _backend if kind == "object" and target.cpu == "native" else None
                return workers.run(job, settings().compile_limit, own, begin)
            except workers.Unavailable:
                pass
        backend = _backend()
        with _lock:
            try:
                return backend.compile(backend.Job(*job), begin), ""
            except RuntimeError as error:
                raise workers.Refused(str(error)) from None


def _backend() -> Any:
    from weft.compiler.llvm.worker import backend

    return backend


def _error(message: str, place: Location | None, reason: str) -> LLVMError:
    lines = [line for line in reason.splitlines() if line.strip()]
    if len(lines) > _TOLD:
        lines[_TOLD - 1 :] = ["..."]
    hint = "if this is none of your own intrinsics or assembly, please report it with the kernel's source"
    error = LLVMError.at("llvm", message, place, notes=lines, hints=(hint,))
    error.reason = reason
    return error


def _gist(told: str) -> str:
    """What says most of what LLVM prints at its end, on one line."""
    lines = [line for line in told.splitlines() if line.strip()]
    found = [line for line in lines if "Assertion" in line or "LLVM ERROR" in line] or lines[:1]
    line = found[0].rpartition("/llvm/lib/")[2] if found else ""  # less the program and a path of a builder's
    return line if len(line) <= _GIST else f"{line[:_GIST]}..."


def _warn(name: str, failed: list[str], without: str, place: Location | None) -> None:
    message = (
        f"LLVM fails to optimise {name}: {failed[0]}. It was compiled without {without}: right, but maybe "
        "slower. Please report it with the kernel's source"
    )
    note_slow(message, place)


def host_machine() -> tuple[str, str, str]:
    """Triple, CPU and features of this machine."""
    with _lock:
        return _backend().host_machine()


def load_object(code: bytes, entries: Sequence[str], symbols: dict[str, int]) -> LoadedCode:
    """Link an object file for this machine into the process; ``symbols`` are what it may call.

    Raises:
        LLVMError: it calls what is not there.
    """
    backend = _backend()
    with _lock:
        try:
            return LoadedCode(*backend.link(code, entries, symbols))
        except RuntimeError as error:
            raise _error(f"{', '.join(entries)} cannot be linked", None, str(error)) from None
