"""Kernels of one program, compiled together: what they call is elaborated once, LLVM works on several.

Each has the module, the key in the cache and the code that it has when it is compiled alone. Python
elaborates and lowers one kernel after the other, here, while LLVM is at work on those before, in workers.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from weft.abi.artifact import Artifact, KernelInfo
from weft.compiler.cache import compile_kernels, key_of
from weft.compiler.cache.disk import load, store
from weft.compiler.pipeline import Compilation, Instance, Lowered, Program
from weft.diagnostics import Diagnostic
from weft.diagnostics.timed import timed
from weft.targets import Target

Job = Callable[[], None]


class Pending:
    """A kernel on its way: elaborated, and its code made or to be made by another thread."""

    def __init__(self, instance: Instance, made: Compilation) -> None:
        self.instance = instance
        self.target = made.target
        self.kernels: tuple[KernelInfo, ...] = made.kernels
        self.doubts: tuple[Diagnostic, ...] = made.doubts
        self.key: str | None = None
        """Of its code in the cache; None where that is not kept."""
        self.found = False
        """Whether the cache had it."""
        self._code: bytes | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()

    @property
    def done(self) -> bool:
        """Whether there is nothing to wait for."""
        return self._done.is_set()

    def artifact(self) -> Artifact:
        """What was compiled, when that is done.

        Raises:
            CompileError: LLVM makes no code of it.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._code is not None
        level = self.instance.options.opt_level
        return Artifact(self.target.name, self.target.format, self._code, self.kernels, level)

    def finish(self, code: bytes | None, error: BaseException | None = None) -> None:
        """It is compiled, or will not be."""
        self._code, self._error = code, error
        self._done.set()


class Together:
    """Compiles kernels for one target, with so many of LLVM's workers at most.

    Example:
        >>> with Together(find_target("sm_90"), 2) as together:  # doctest: +SKIP
        ...     pending = [together.begin(instance) for instance in instances]
        >>> [each.artifact() for each in pending]  # doctest: +SKIP
    """

    def __init__(self, target: Target, jobs: int) -> None:
        self.program = Program(target)
        self.jobs = jobs
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._room = threading.Semaphore(2 * jobs)
        """Of kernels that are lowered and not compiled, so that their text does not fill the memory."""

    def __enter__(self) -> Together:
        return self

    def __exit__(self, *_: Any) -> None:
        """No more kernels come; those that were begun go on."""
        for _thread in self._threads:
            self._waiting.put(None)

    def begin(self, instance: Instance) -> Pending:
        """Elaborate a kernel, and have it compiled where the cache does not have it.

        Raises:
            CompileError: it cannot be compiled, as far as that is known before LLVM has it.
        """
        made = self.program.elaborate(instance)
        pending = Pending(instance, made)
        if made.target.format == "python":
            pending.finish(made.code())
            return pending
        with timed("look up"):
            pending.key = key_of(made)
            known = None if pending.key is None else load(pending.key)
        if known is not None:
            pending.found = True
            pending.finish(known)
            return pending
        lowered = made.lowered()
        if self.jobs == 1:
            _compile(pending, lowered)
            return pending
        self._room.acquire()
        context = contextvars.copy_context()  # the settings, and who notes the times
        self._start()
        self._waiting.put(lambda: context.run(_compile, pending, lowered))
        return pending

    def _start(self) -> None:
        if len(self._threads) < self.jobs:
            if not self._threads:
                from weft.compiler.llvm.workers import allow

                allow(self.jobs)
            thread = threading.Thread(target=self._work, name="weft-compile", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            try:
                job()
            finally:
                self._room.release()


def _compile(pending: Pending, lowered: Lowered) -> None:
    from weft.compiler.llvm.emit import LLVMError

    try:
        try:
            code = lowered.code()
        except LLVMError:  # what says whose fault that is needs the module, which others may have changed
            code = compile_kernels([pending.instance], pending.target).code
        if pending.key is not None:
            store(pending.key, code)
        pending.finish(code)
    except BaseException as error:  # whatever it is, it belongs to who waits
        pending.finish(None, error)
