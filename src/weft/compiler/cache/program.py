"""Kernels of one program, compiled together: what they call is elaborated once, LLVM works on several.

Each has the module, the key in the cache and the code that it has when it is compiled alone. Python
elaborates and lowers one kernel after the other, here, while LLVM is at work on those before, in workers.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Self, TypeVar

from weft.abi.artifact import Artifact, KernelInfo
from weft.compiler.cache import come_up, compile_kernels, key_of
from weft.compiler.cache.disk import load, store
from weft.compiler.pipeline import Compilation, Instance, Lowered, Program
from weft.diagnostics import Diagnostic
from weft.diagnostics.timed import timed
from weft.targets import Target

Job = Callable[[], None]
T = TypeVar("T")
FEW, MANY = 3, 8
"""Fewer kernels that wait for LLVM's workers are done sooner than another worker has come up; so are fewer
than ``MANY`` while one is on its way."""


class Pending(Generic[T]):
    """A kernel on its way: elaborated, and its code made or to be made by another thread."""

    def __init__(self, instance: Instance, made: Compilation, then: Callable[[Artifact], T]) -> None:
        self._then = then
        self.instance = instance
        self.target = made.target
        self.kernels: tuple[KernelInfo, ...] = made.kernels
        self.doubts: tuple[Diagnostic, ...] = made.doubts
        self.key: str | None = None
        """Of its code in the cache; None where that is not kept."""
        self.found = False
        """Whether the cache had it."""
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._done = threading.Event()

    @property
    def done(self) -> bool:
        """Whether there is nothing to wait for."""
        return self._done.is_set()

    def result(self) -> T:
        """What was made of the code, when that is done.

        Raises:
            CompileError: LLVM makes no code of it.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def finish(self, make: Callable[[], bytes]) -> None:
        """Make the code, and what is made of it."""
        try:
            level = self.instance.options.opt_level
            artifact = Artifact(self.target.name, self.target.format, make(), self.kernels, level)
            self._result.append(self._then(artifact))
        except BaseException as error:  # whatever it is, it belongs to who waits
            self._error = error
        finally:
            self._done.set()


class Together(Generic[T]):
    """Compiles kernels for one target, with so many of LLVM's workers at most.

    ``then`` is called with the artifact of each, by the thread that has it compiled.

    Example:
        >>> with Together(find_target("sm_90"), 2, lambda artifact: artifact) as together:  # doctest: +SKIP
        ...     pending = [together.begin(instance) for instance in instances]
        >>> [each.result() for each in pending]  # doctest: +SKIP
    """

    def __init__(self, target: Target, jobs: int, then: Callable[[Artifact], T]) -> None:
        self.program = Program(target)
        self._then = then
        self.jobs = jobs
        self._begun = False
        """Whether the first kernel has told if LLVM is likely to be needed."""
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._turn, self._at_once = threading.Semaphore(0), 0
        """How many of the threads may have LLVM at work."""
        self._room = threading.Semaphore(2 * jobs + MANY)
        """Of kernels that are lowered and not compiled, so that their text does not fill the memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        """No more kernels come; those that were begun go on."""
        for _thread in self._threads:
            self._waiting.put(None)

    def begin(self, instance: Instance) -> Pending[T]:
        """Elaborate a kernel, and have it compiled where the cache does not have it.

        Raises:
            CompileError: it cannot be compiled, as far as that is known before LLVM has it.
        """
        new = None if self._begun else come_up([instance.kernel], self.program.target)
        self._begun = True
        made = self.program.elaborate(instance)
        pending = Pending(instance, made, self._then)
        if made.target.format == "python":
            pending.finish(made.code)
            return pending
        with timed("look up"):
            pending.key = key_of(made)
            known = None if pending.key is None else load(pending.key)
        pending.found = known is not None
        if new is not None and pending.key is not None:
            store(new, b"")
        make = partial(self._compiled, pending, made.lowered()) if known is None else partial(bytes, known)
        if self.jobs == 1:
            pending.finish(make)
            return pending
        self._room.acquire()
        context = contextvars.copy_context()  # the settings, and who notes the times
        self._start(by_llvm=known is None)
        self._waiting.put(lambda: context.run(pending.finish, make))
        return pending

    def _start(self, *, by_llvm: bool) -> None:
        if by_llvm:
            from weft.compiler.llvm import workers

            if not self._at_once:
                workers.allow(self.jobs)
            here, up = workers.up()
            more = self._waiting.qsize() >= (FEW if here == up else MANY)
            if self._at_once < (self.jobs if more else min(self.jobs, max(1, here))):
                self._at_once += 1
                self._turn.release()
        if len(self._threads) < self.jobs:
            thread = threading.Thread(target=self._work, name="weft-compile", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _compiled(self, pending: Pending[T], lowered: Lowered) -> bytes:
        if self.jobs == 1:
            return _compile(pending, lowered)
        with self._turn:
            return _compile(pending, lowered)

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            try:
                job()
            finally:
                self._room.release()


def _compile(pending: Pending[Any], lowered: Lowered) -> bytes:
    from weft.compiler.llvm.emit import LLVMError

    try:
        code = lowered.code()
    except LLVMError:  # what says whose fault that is needs the module, which others may have changed
        code = compile_kernels([pending.instance], pending.target).code
    if pending.key is not None:
        store(pending.key, code)
    return code
