"""What a checked launch is made with: what it is checked for, and where the memory of its arguments ends."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from weft.abi.artifact import Signature
from weft.abi.checks import Checks, checks_of
from weft.config import scope, settings
from weft.diagnostics import LaunchError
from weft.runtime import unwaited
from weft.runtime.driver import DeviceInfo
from weft.runtime.leaks import Leaks
from weft.targets.known import check_opt_level


def checked_for(asked: Checks | None) -> tuple[frozenset[str], Leaks | None]:
    """What kernels of a context are checked for, by words, and its buffers; None is as the settings have it.

    Raises:
        LaunchError: there is no such check.
    """
    try:
        words = settings().check if asked is None else checks_of(asked)
    except (TypeError, ValueError) as error:
        hint = "write checked=True for what is always checked"
        raise LaunchError.here("unknown-check", f"checked: {error}", hint, at=("checked", 9)) from None
    return words - {"leaks"}, Leaks() if "leaks" in words else None


@contextmanager
def scheduled(seed: object) -> Generator[int | None]:
    """Contexts that are made here run by the order of a seed, if that is one; else as the settings have it.

    Raises:
        LaunchError: it is no seed.
    """
    if seed is None:
        yield settings().schedule
        return
    if type(seed) is not int or seed < 0:
        hint = "write schedule=1, say; without it blocks run in their order"
        raise LaunchError.here("schedule", f"schedule={seed!r} is no seed", hint, at=("schedule", 9))
    with scope(schedule=seed):
        yield seed


def schedule_of(info: DeviceInfo, asked: int | None, seed: int | None) -> int | None:
    """The seed by which a device runs blocks, where it lets that be said.

    Raises:
        LaunchError: it does not, and a seed was asked for.
    """
    if info.shares_host or asked is None:
        return seed if info.shares_host else None
    message = f"{info.name} runs blocks in its own order: schedule= is for CPUs"
    raise LaunchError.here(
        "schedule", message, "leave it out, or try the program with api='cpu'", at=("schedule", 9)
    )


def debugged(info: DeviceInfo, asked: bool | None) -> bool:
    """Whether kernels are compiled for debuggers of native code, where a device lets that be said.

    Raises:
        LaunchError: it does not, and that was asked for.
    """
    if info.shares_host or not asked:
        return info.shares_host and (settings().debug if asked is None else asked)
    message = f"debuggers of native code do not step through kernels of {info.name}: debug= is for CPUs"
    hint = "leave it out, or try the program with api='cpu'"
    raise LaunchError.here("unsupported", message, hint, at=("debug", 5))


def level_of(asked: int | None) -> int | None:
    """How much kernels of a context are optimised; None is as the settings have it.

    Raises:
        CompileError: there is no such level.
    """
    if asked is None:
        return settings().opt_level
    return check_opt_level(asked)


def ends_of(signature: Signature, memory: Sequence[Any], values: Sequence[Any]) -> list[int]:
    """What a checked kernel takes behind its parameters and the size of what it shares: the ends of memory.

    They are in bytes from where a pointer points. What is written is not to be looked at before a wait.
    """
    ends: list[int] = []
    pointers = [(v, p) for v, p in zip(values, signature.parameters, strict=False) if p.pointer]
    for held, (address, parameter) in zip(memory, pointers, strict=True):
        low = held.address - address
        ends += [low, low + held.nbytes]
        if parameter.written:
            unwaited.launched(held)
    return ends
