"""All targets, and how one is found by name."""

from __future__ import annotations

from functools import cache

from weft.diagnostics import CompileError, caller_location, nearest
from weft.record import replace
from weft.targets import cpu, nvidia
from weft.targets.target import Target

TARGETS: dict[str, Target] = {**cpu.TARGETS, **nvidia.TARGETS}
_BY_ALIAS: dict[str, Target] = {alias: t for t in TARGETS.values() for alias in t.aliases}


@cache
def at_level(target: Target, opt_level: int | None) -> Target:
    """The target with as much optimisation as ``opt_level`` says; None leaves it as it is."""
    return target if opt_level is None else replace(target, level=opt_level)


def check_opt_level(level: object, name: str = "opt_level") -> int | None:
    """``level`` where it is one of optimisation, or None for the target's own.

    Raises:
        CompileError: it is none. ``name`` is what the user calls it.
    """
    if level is None or (type(level) is int and 0 <= level <= 3):
        return level
    hint = "write 0 for code as it stands, 3 for all of LLVM's passes, or leave it out for the target's own"
    message = f"{name}={level!r} is no level of optimisation, which is 0, 1, 2 or 3"
    raise CompileError.here("opt-level", message, hint, at=("opt_level", 9))


def find_target(name: str | Target) -> Target:
    """The target of that name or alias.

    Raises:
        CompileError: there is none.

    Example:
        >>> find_target("sm_90").warp_size
        32
        >>> find_target("h200").name
        'sm_90'
    """
    if isinstance(name, Target):
        return name
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        name = f"sm_{name}" if isinstance(name, int) else repr(name)
        raise CompileError.at(
            "unknown-target",
            "a target is named by a str",
            caller_location(),
            hints=(f"write {name!r}" if name in TARGETS else "write 'sm_90' or 'native', say",),
        )
    found = TARGETS.get(name) or _BY_ALIAS.get(name.lower())
    if found is not None:
        return found
    guess = nearest(name.lower(), [*TARGETS, *_BY_ALIAS])
    raise CompileError.at(
        "unknown-target",
        f"there is no target {name!r}",
        caller_location(),
        notes=(f"known are {', '.join(TARGETS)}",),
        hints=(f"did you mean {guess!r}?" if guess else "write 'sm_90' or 'native', say",),
    )
