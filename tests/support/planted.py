"""Programs with faults in them: what a checked launch reports, and the lines that are marked for it."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from weft import DeviceError
from weft.gpu.host import DeviceContext


class Found(NamedTuple):
    """What is reported: its code, the lines that it names, and all of its text."""

    code: str
    lines: frozenset[int]
    text: str


def found(
    ctx: DeviceContext, program: Any, *args: Any, grid: int = 2, block: int = 64, **more: Any
) -> list[Found]:
    """What is reported of a launch."""
    try:
        ctx.enqueue_function(program, *args, grid_dim=grid, block_dim=block, **more)
        ctx.synchronize()
    except DeviceError as error:
        return [
            Found(
                one.code,
                frozenset(label.location.line for label in one.labels),
                f"{one.message}\n{one.labels}",
            )
            for one in error.diagnostics
        ]
    return []


def marked(program: Any) -> frozenset[int]:
    """The lines of a program that have the mark ``#!``."""
    lines, first = inspect.getsourcelines(program.definition.function)
    return frozenset(first + n for n, line in enumerate(lines) if line.rstrip().endswith("#!"))
