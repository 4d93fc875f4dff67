"""``weft.precompile``: kernels of a program, compiled while it goes on with something else."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterable
from typing import Any, Self

from weft.build.compiled import compiled
from weft.build.outcome import Outcome
from weft.build.plan import Item, named, planned
from weft.compile import default_target
from weft.diagnostics import CompileError
from weft.launch.ahead import checked_jobs
from weft.targets import Target, find_target

__all__ = ["Precompiled", "precompile"]


class Precompiled:
    """Kernels on their way into the cache. What is launched meanwhile is compiled by the launch, as ever."""

    def __init__(self, items: list[Item], jobs: int, left_out: tuple[str, ...]) -> None:
        self.left_out = left_out
        """Names of kernels that are not compiled: what they lack is said at their launch."""
        self.names: tuple[str, ...] = tuple(dict.fromkeys(item.name for item in items))
        """Of those that are."""
        self._errors: list[BaseException] = []
        context = contextvars.copy_context()  # the settings of who asks

        def work() -> None:
            try:
                self._note(compiled(items, jobs, str, forks=False))
            except BaseException as error:
                self._errors.append(error)

        self._thread = threading.Thread(target=lambda: context.run(work), name="weft-precompile", daemon=True)
        self._thread.start()

    def _note(self, outcomes: list[Outcome]) -> None:
        found = [d for each in outcomes if each.error is not None for d in each.error.diagnostics]
        if found:
            self._errors.append(CompileError(found))

    def __repr__(self) -> str:
        count = len(self.names)
        kernels = f"{count} kernel{'' if count == 1 else 's'}"
        return f"<{kernels}, {'compiled' if self.done else 'being compiled'}>"

    @property
    def done(self) -> bool:
        """Whether all is compiled."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until all is compiled, or so many seconds.

        Raises:
            CompileError: some of them cannot be compiled; the others are.
        """
        self._thread.join(timeout)
        if self.done and self._errors:
            raise self._errors[0]
        return self


def precompile(
    what: object,
    *,
    target: str | Target | Iterable[str | Target] | None = None,
    over: int = 0,
    jobs: int | None = None,
    **given: Any,
) -> Precompiled:
    """Begin to compile kernels into the cache, in the background; launches find them there.

    Args:
        what: a kernel, a list of kernels, or a module or package: all kernels that it names.
        target: the machine, such as ``"sm_90"``, or several; by default what ``DeviceContext()`` takes.
        over: for launches over a range, its number of extents; 0 is for launches of blocks.
        jobs: how many of LLVM's workers there may be; by default as many as this process has cores.
        given: types and compile-time parameters, by name, for the kernels that leave them open.

    Returns:
        an object that tells whether it is ``done``, and waits with ``wait()``.

    Raises:
        CompileError: there is no such target, or a kernel's annotations are wrong.
        LaunchError: something among it is no kernel.

    Example:
        >>> from weft import Comptime, Float32, Pointer, kernel, precompile
        >>> from weft.gpu import global_idx
        >>> @kernel
        ... def add(x: Pointer[Float32], *, n: Comptime[int]):
        ...     x[global_idx.x] += n
        >>> coming = precompile([add.bind(n=n) for n in range(4)], target="sm_90")
        >>> coming.names
        ('add[n=0]', 'add[n=1]', 'add[n=2]', 'add[n=3]')
        >>> coming.wait()
        <4 kernels, compiled>
    """
    count = checked_jobs(jobs)
    wanted = (
        [default_target()] if target is None else [target] if isinstance(target, (str, Target)) else target
    )
    items, left = planned(named(what), [find_target(each) for each in wanted], over, given)
    return Precompiled(items, count, tuple([each.name for each in left]))
