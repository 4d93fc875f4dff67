"""What a checked launch is made with: what it is checked for, and where the memory of its arguments ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.abi.artifact import Signature
from weft.abi.checks import Checks, checks_of
from weft.config import settings
from weft.diagnostics import LaunchError


def checked_for(asked: Checks | None) -> frozenset[str]:
    """What kernels of a context are checked for, by words; None is as the settings have it.

    Raises:
        LaunchError: there is no such check.
    """
    if asked is None:
        return settings().check
    try:
        return checks_of(asked)
    except (TypeError, ValueError) as error:
        hint = "write checked=True for what is always checked"
        raise LaunchError.here("unknown-check", f"checked: {error}", hint, at=("checked", 9)) from None


def ends_of(signature: Signature, memory: Sequence[Any], values: Sequence[Any]) -> list[int]:
    """What a checked kernel takes behind its parameters and the size of what it shares: the ends of memory.

    They are in bytes from where a pointer points.
    """
    ends: list[int] = []
    addresses = [v for v, p in zip(values, signature.parameters, strict=False) if p.pointer]
    for held, address in zip(memory, addresses, strict=True):
        low = held.address - address
        ends += [low, low + held.nbytes]
    return ends
