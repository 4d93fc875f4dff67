"""What becomes of a kernel, on one page: ``explore(kernel)``, or ``weft explore FILE``."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from weft.explorer.page import page
from weft.explorer.stages import explored, with_machine_code
from weft.explorer.ways import follow, with_ways
from weft.lang.decorators import Compiled
from weft.targets import Target

__all__ = ["Page", "explore", "follow"]


class Page:
    """A page of HTML that needs nothing else; a notebook shows it where it is a cell's value."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.text, encoding="utf-8")

    def _repr_html_(self) -> str:
        frame = f'<iframe srcdoc="{html.escape(self.text)}" title="weft explore"'
        return f'{frame} style="width:100%;height:640px;border:1px solid #8888"></iframe>'

    def __repr__(self) -> str:
        return f"<page of {len(self.text) >> 10} KiB: .save('page.html')>"


def explore(
    f: Callable[..., Any] | Compiled,
    /,
    *types: Any,
    target: str | Target | None = None,
    over: int = 0,
    ways: Mapping[str, Any] | None = None,
    **named: Any,
) -> Page:
    """A kernel's source, IR, LLVM IR, assembly and machine code side by side, line by line.

    Args:
        f: the kernel, or a function that returns nothing.
        types: for the parameters whose annotations leave something open, as ``compile_info`` takes them.
        target: the machine, such as ``"sm_90"``; by default the one that ``DeviceContext()`` takes here.
        over: for a launch over a range, its number of extents.
        ways: what ``follow()`` has found: the page steps through the lines that threads took.
        named: compile-time parameters by name, and types by the name of their parameter.

    Raises:
        CompileError: the kernel cannot be compiled, or there is no such target.

    Example:
        >>> from weft import Float32, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> @kernel
        ... def clear(x: Pointer[Float32]):
        ...     x[global_idx.x] = 0.0
        >>> shown = explore(clear, target="sm_90")
        >>> "st.global" in shown.text
        True
    """
    made = with_ways(with_machine_code(explored(f, types, target, over, named)), ways or {})
    return Page(page({made.name: made}))
