"""A session of ``weft debug``: pdb begins where a chosen thread does, and where an assertion fails."""

from __future__ import annotations

import bdb
import pdb
import sys
from types import FrameType
from typing import Any

from weft.diagnostics import Diagnostic
from weft.diagnostics.render import render
from weft.runtime.driver import Extents
from weft.runtime.interpreter.machine import At


class Session(pdb.Pdb):
    """pdb, which passes over weft's own code."""

    def __init__(self, kernel: str, block: Extents | None, thread: Extents | None, line: int) -> None:
        super().__init__(skip=["weft.*"])
        self._wanted = kernel, block, thread
        self._line = line
        self._looks = block is not None or thread is not None or bool(kernel or line)
        self._begins = False
        """Whether the thread that was asked for has not come to its first line."""

    def begins(self, kernel: str, block: Extents, thread: Extents) -> None:
        """A thread is about to begin: stop in the first that was asked for."""
        if self._looks and self._fits(kernel, block, thread):
            self._looks = self._line != 0
            self.reset()
            self._begins = True
            sys.settrace(self.trace_dispatch)

    def _fits(self, *found: str | Extents) -> bool:
        """Whether kernel, block and thread are those that were asked for."""
        return all(not wanted or wanted == at for wanted, at in zip(self._wanted, found, strict=True))

    @property
    def missed(self) -> str:
        """What was asked for and has not come, of a program that has ended; nothing where it has."""
        if not self._looks:
            return ""
        kernel, block, thread = self._wanted
        parts = [f"kernel {kernel!r}"] if kernel else []
        parts += [f"{what} {at}" for what, at in (("block", block), ("thread", thread)) if at is not None]
        parts += [f"line {self._line}"] if self._line else []
        return f"the program has ended, and no launch came to {', '.join(parts)}"

    def user_call(self, frame: FrameType, argument_list: None) -> None:
        """Stop at a call, but for that of the kernel."""
        if not (self._begins or self._line):
            super().user_call(frame, argument_list)

    def dispatch_return(self, frame: FrameType, arg: Any) -> Any:
        """What becomes of a return; where a thread waits for others, its next line is waited for."""
        if type(arg) is At:
            if self.stop_here(frame):
                self.set_next(frame)
            return self.trace_dispatch
        return super().dispatch_return(frame, arg)

    def user_return(self, frame: FrameType, return_value: Any) -> None:
        """Stop where a function returns."""
        if not self._line:
            super().user_return(frame, return_value)

    def user_line(self, frame: FrameType) -> None:
        """Stop, if this is the line that was asked for, or none was."""
        thread = frame.f_locals.get("__t")
        if self._line and not (
            self._line == frame.f_lineno
            and thread is not None
            and self._fits(thread.launch.kernel.signature.name, thread.block, thread.thread)
        ):
            self.set_step()
            return
        self._line, self._looks, self._begins = 0, False, False
        super().user_line(frame)

    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        """What Python tells; the end of the session ends the program."""
        try:
            return super().trace_dispatch(frame, event, arg)
        except bdb.BdbQuit:
            raise SystemExit(1) from None

    def stop(self) -> None:
        """What ``breakpoint()`` does."""
        self.set_trace(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    def failed(self, frame: FrameType, said: Diagnostic) -> None:
        """An assertion of a kernel has failed in this frame: say so, and stop there."""
        self.message(render(said))
        self.reset()
        self.interaction(frame, None)
        if self.quitting:
            raise SystemExit(1)


session: Session | None = None
"""The one of this process."""
