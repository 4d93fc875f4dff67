"""pdb in kernels: what ``breakpoint()`` is there, and ``weft debug``, which stops in a chosen thread."""

from __future__ import annotations

import bdb
import contextlib
import inspect
import pdb
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType, TracebackType
from typing import Any, Protocol

from weft.config import environment
from weft.diagnostics import Diagnostic, is_internal
from weft.diagnostics.rendering import render
from weft.runtime.driver import Extents
from weft.runtime.interpreter.machine import At


class Session(pdb.Pdb):
    """pdb, which passes over weft's own code.

    It stops in the first thread that was asked for, at a line perhaps, and where an assertion fails.
    """

    def __init__(
        self, kernel: str = "", block: Extents | None = None, thread: Extents | None = None, line: int = 0
    ) -> None:
        super().__init__(skip=["weft.*"])
        self._told: object = None
        """The thread at which it has stopped, of those that begin and end between two stops."""
        self._wanted = kernel, block, thread
        self._line = line
        self._looks = block is not None or thread is not None or bool(kernel or line)

    def begins(self, kernel: str, block: Extents, thread: Extents) -> None:
        """A thread is about to begin: stop in the first that was asked for."""
        if self._looks and self._fits(kernel, block, thread):
            self._looks = self._line != 0
            self.reset()
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
        """Stop at a call; in a kernel at its first line, from which on the parameters are known."""
        if "__t" in frame.f_locals:
            if self.stop_here(frame):
                self.set_step()
        elif not self._line:
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

    def user_exception(self, frame: FrameType, exc_info: Any) -> None:
        """Stop where an exception is raised, unless it is a line that is looked for."""
        if not self._line:
            super().user_exception(frame, exc_info)

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
        self._line, self._looks = 0, False
        super().user_line(frame)

    def interaction(self, frame: FrameType | None, traceback: Any) -> None:
        """Take commands; another thread than before is named."""
        thread = None if frame is None else frame.f_locals.get("__t")
        if thread is not None and thread is not self._told:
            self.message(f"in {thread}")
            self._told = thread
        super().interaction(frame, traceback)

    def get_stack(
        self, f: FrameType | None, t: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        """The user's frames: the one that has launched the kernel stands right above it."""
        bottom, self.botframe = self.botframe, None
        stack, at = super().get_stack(f, t)
        self.botframe = bottom
        names = [each.f_globals.get("__name__", "") for each, _ in stack]
        first = max([n for n, name in enumerate(names) if name.startswith("weft.cli.")], default=-1)
        kept = [
            n
            for n, (each, _) in enumerate(stack)
            if n == at or (n > first and not is_internal(each.f_code.co_filename))
        ]
        return [stack[n] for n in kept], kept.index(at)

    def do_break(self, arg: str, temporary: Any = False) -> Any:
        """b(reak): a kernel or a @func by its name, too."""
        name, *condition = arg.split(",", 1)
        found = None
        if self.curframe is not None:
            with contextlib.suppress(Exception):
                found = eval(name, self.curframe.f_globals, self.curframe_locals)
        if getattr(getattr(found, "definition", None), "function", None) is not None:
            arg = ",".join([f"{name}.definition.function", *condition])
        return super().do_break(arg, temporary)

    do_b = do_break

    def do_args(self, arg: str) -> None:
        """a(rgs): the parameters, without the interpreter's own."""
        assert self.curframe is not None
        for name in inspect.getargvalues(self.curframe).args:
            if not name.startswith("__"):
                self.message(f"{name} = {self.curframe_locals.get(name)!r}")

    do_a = do_args

    def default(self, line: str) -> None:
        """Run a statement; what it gives a variable of a kernel would change nothing, so that is refused."""
        held: Any = self.curframe_locals
        before = {**held} if "__t" in held else {}
        super().default(line)
        changed = [name for name, value in before.items() if held.get(name, self) is not value]
        held.update(before)
        if changed:
            self.error(f"the kernel goes on with its own {changed[0]}: what memory holds can be changed here")

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
        if self.breaks:
            sys.settrace(self.trace_dispatch)


class Watch(Protocol):
    """Who is told of threads: a session of pdb, or what follows them."""

    def begins(self, kernel: str, block: Extents, thread: Extents) -> None:
        """A thread is about to begin."""
        ...

    def failed(self, frame: FrameType, said: Diagnostic) -> None:
        """An assertion of a kernel has failed in this frame."""
        ...


session: Watch | None = None
"""The one of this process."""
_own = cache(Session)


def hook() -> Callable[[], object]:
    """What ``breakpoint()`` calls in a kernel: Python's hook, but pdb that knows kernels for plain pdb."""
    found = sys.breakpointhook
    plain = found is sys.__breakpointhook__ and not environment().get("PYTHONBREAKPOINT")
    return _own().stop if plain else found
