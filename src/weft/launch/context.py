"""Compiling and launching kernels: the one room that sees the compiler and the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from weft.abi.artifact import Artifact, LoadedCode
from weft.abi.checks import Checks
from weft.abi.cpu_limits import ORDERS
from weft.compiler.cache import compile_kernel, kept, key_of, prepared
from weft.compiler.frontend.options import CompileOptions, Over
from weft.compiler.pipeline import elaborate_kernel
from weft.compiler.source.definition import Definition
from weft.diagnostics import Diagnostic, LaunchError
from weft.diagnostics.brackets import bracketed
from weft.dtype import DType
from weft.foreign.arrays import ForeignArray
from weft.foreign.copies import copy_arrays, is_array
from weft.foreign.order import Ordered
from weft.lang import captured
from weft.lang.decorators import Kernel, P
from weft.lang.launchable import Launchable
from weft.lang.reads import Reads
from weft.lang.spec import Spec
from weft.launch.ahead import compiled_together, specs_ahead
from weft.launch.arguments import (
    OWN,
    Specs,
    Taken,
    are_apart,
    check_writes,
    examine,
    is_current,
    take,
)
from weft.launch.checked import checked_for, debugged, ends_of, level_of, schedule_of, scheduled
from weft.launch.contexts import open_contexts
from weft.launch.dumps import Dump, Dumps
from weft.launch.extents import Placement, Placements
from weft.launch.kernels import CompiledKernel, as_kernel
from weft.launch.large import is_large
from weft.launch.launched import Launched, LaunchOptions, ReadyLaunch
from weft.launch.loaded import Loaded
from weft.launch.made_again import MadeAgain
from weft.launch.profile import Call, is_profiled, put
from weft.launch.ranges import describe_over, is_even
from weft.launch.tiles import Descriptors, MakesTiles
from weft.launch.variants import Variants
from weft.runtime.allocation import Allocation
from weft.runtime.attributes import check_uses, launch_attributes
from weft.runtime.context import BaseContext
from weft.runtime.dim import Dim
from weft.runtime.driver import Launch, LaunchAttributes, Stream
from weft.runtime.streams import DeviceStream
from weft.targets.known import check_opt_level

if TYPE_CHECKING:
    from weft.foreign.host_copies import HostCopies
    from weft.launch.native.launcher import Launcher
    from weft.runtime.leaks import Leaks
    from weft.tuning.config import Config

AFTER = 8
"""Launches by Python before native ones are prepared, and between two looks whether they can be."""
Blocks = int | tuple[int, ...] | Dim
"""How many blocks or threads, in x, y and z."""
_Where = tuple[Any, Any, Any, Any, Any]
"""over, grid_dim, block_dim, shared_mem_bytes and stream of a launch."""


def _load_object(code: bytes, entries: Sequence[str], symbols: dict[str, int]) -> LoadedCode:
    from weft.launch.native.code import load_object

    return load_object(code, entries, symbols)


class DeviceContext(MakesTiles, BaseContext):
    """A device, a stream of work on it, and the kernels compiled for it.

    Args:
        device_id: which device, from 0.
        api: ``"cuda"`` or ``"cpu"``; by default the best that the machine has.
        checked: what kernels are checked for: True for all accesses of memory (``"bounds"``), or words. What
            they find is collected, and told at the next wait; see "Finding what is wrong" in the guide. By
            default what ``WEFT_CHECK`` says.
        threads: how many threads run the blocks of a launch on a CPU; by default what ``WEFT_CPU_THREADS``
            says, else as many as this process has cores. ``ctx.info.multiprocessors`` is the number.
        schedule: a seed: a CPU runs the blocks in a shuffled order, and the warps of a block in one of eight,
            for odd seeds backwards. What a program gives should not depend on it. By default what
            ``WEFT_SCHEDULE`` says.
        debug: whether a CPU's code is for gdb and lldb, not optimised; by default what ``WEFT_DEBUG`` says.
        opt_level: how much LLVM and a GPU's assembler optimise kernels, from 0 (code as it stands) to 3 (all
            that LLVM does); by default what ``WEFT_OPT_LEVEL`` says, else as much as pays on the device.

    Raises:
        DeviceError: the API or the device is not there; the message says what is.
        LaunchError: ``threads`` is no number from 1 to 1024, or there is no such check.
        CompileError: ``opt_level`` is no level of optimisation.

    Example:
        >>> from weft import Float32, Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> from weft.gpu.host import DeviceContext
        >>> @kernel
        ... def double(x: Pointer[Float32], n: Int):
        ...     if global_idx.x < n:
        ...         x[global_idx.x] *= 2.0
        >>> ctx = DeviceContext(api="cpu")
        >>> host = ctx.enqueue_create_host_buffer(Float32, 3)
        >>> host[:] = [1.0, 2.0, 3.0]
        >>> buffer = ctx.enqueue_create_buffer(Float32, 3)
        >>> ctx.enqueue_copy(dst=buffer, src=host)
        >>> ctx.enqueue_function(double, buffer, 3, grid_dim=1, block_dim=3)
        >>> ctx.enqueue_copy(dst=host, src=buffer)
        >>> ctx.synchronize()
        >>> print(host)
        HostBuffer([2.0, 4.0, 6.0])
    """

    __weft_inside__ = "code_of descriptor_of launches_as_usual note_guest ready_launch"

    load_object: Any = staticmethod(_load_object)
    _prepared = staticmethod(prepared)

    def __init__(
        self,
        device_id: int = 0,
        *,
        api: str | None = None,
        checked: Checks | None = None,
        threads: int | None = None,
        schedule: int | None = None,
        debug: bool | None = None,
        opt_level: int | None = None,
    ) -> None:
        self.checked: frozenset[str]
        """What kernels are checked for, by words."""
        self.leaks: Leaks | None
        self.checked, self.leaks = checked_for(checked)
        with scheduled(schedule) as seed:
            super().__init__(device_id, api=api, threads=threads)
        self.schedule: int | None = schedule_of(self.info, schedule, seed)
        """The seed of the order of blocks and threads, where there is one."""
        order = 0 if self.schedule is None else self.schedule % ORDERS
        steps = debugged(self.info, debug)
        self._opt_level = level_of(opt_level)
        self._always = CompileOptions(checked=self.checked, order=order, debug=steps)[2:6]
        self.notes_writes: bool = "races" in self.checked
        self._as_usual = not self.checked and self.schedule is None
        self._loaded: Variants[Loaded] = Variants()
        self._extents = Placements(self.info)
        self._launches = 0
        self._waiting: set[int] = set()
        """Those that ``synchronize`` has to wait for."""
        self._native: Launcher | None = None
        open_contexts.add(self)
        self._made_again = MadeAgain()

    @property
    def target(self) -> str:
        """The compiler's target for this device."""
        return self.info.target

    def _allocate(self, like: Any, size: SupportsIndex, *, host: bool) -> tuple[DType, Allocation, int, int]:
        made = super()._allocate(like, size, host=host)
        if "races" in self.checked and not host:
            self.device.note(made[1].address, made[1].nbytes, written=False)
        return made

    def _wait_for_guests(self) -> None:
        used: set[int] = set() if self._native is None else self._native.used_streams()
        for handle, guest in self.guests.items():
            if handle in used or handle in self._waiting:
                guest.synchronize()
        self._waiting.clear()

    def _ends(self, queue: Stream, dst: Any, src: Any) -> tuple[Any, Any, AbstractContextManager[object]]:
        found = copy_arrays(self, queue, dst, src) if is_array(dst) or is_array(src) else None
        return found or super()._ends(queue, dst, src)

    @overload
    def compile_function(
        self,
        kernel: Launchable[P],
        *,
        opt_level: int | None = None,
        dump_asm: Dump = False,
        dump_llvm: Dump = False,
    ) -> CompiledKernel[P]: ...

    @overload
    def compile_function(
        self,
        kernel: Launchable[...],
        *,
        opt_level: int | None = None,
        dump_asm: Dump = False,
        dump_llvm: Dump = False,
        **comptime: Any,
    ) -> CompiledKernel[...]: ...

    @bracketed
    def compile_function(
        self,
        kernel: Launchable[P],
        *,
        opt_level: int | None = None,
        dump_asm: Dump = False,
        dump_llvm: Dump = False,
        **comptime: Any,
    ) -> CompiledKernel[P]:
        """Compile a kernel for this device, ahead of its launches.

        Args:
            kernel: the kernel, or ``functools.partial(kernel, name=...)`` with compile-time parameters.
            opt_level: how much it is optimised, from 0 to 3; by default as the context says.
            dump_asm: show its assembly, PTX on NVIDIA: True prints it, a path is a file to write, and a
                function is called for the path.
            dump_llvm: show the LLVM IR before optimisation, likewise.
            comptime: its compile-time parameters, by name.

        Raises:
            CompileError: the kernel cannot be compiled; the file cannot be written; there is no such level;
                a form is asked for, and types are open that the first launch will say.

        Example:
            >>> from weft import Float32, Int, Pointer, kernel
            >>> from weft.gpu import global_idx
            >>> @kernel
            ... def double(x: Pointer[Float32], n: Int):
            ...     if global_idx.x < n:
            ...         x[global_idx.x] *= 2.0
            >>> ctx = DeviceContext(api="cpu")
            >>> plain = ctx.compile_function(double, opt_level=0, dump_asm="double.s")  # doctest: +SKIP
        """
        bound: Any = as_kernel(kernel)
        bound = (bound.bind(**comptime) if comptime else bound).at_level(check_opt_level(opt_level))
        shown, specs = Dumps(dump_asm, dump_llvm), specs_ahead(bound)
        shown.check_known(bound, specs)
        if specs is not None:
            options = self._ahead(bound)
            shown.show(lambda: elaborate_kernel(bound, specs.by_name, self.target, options))
            self._load(bound, specs, options)
            self._go_native()
        return CompiledKernel(self, bound)

    def compile_functions(
        self, kernels: Iterable[Launchable[...]], *, jobs: int | None = None
    ) -> list[CompiledKernel[...]]:
        """Compile kernels for this device, ahead of their launches: several at a time.

        What several of them call is elaborated once, and LLVM works on some while others are elaborated. Each
        has the code that ``compile_function`` gives it; they come back in the order of the kernels.

        Args:
            kernels: the kernels; ``kernel.bind(...)`` and ``functools.partial(kernel, name=...)`` have
                compile-time parameters and types.
            jobs: how many of LLVM's workers there may be; by default as many as this process has cores.

        Raises:
            CompileError: one of them cannot be compiled.

        Example:
            >>> from weft import Comptime, Float32, Pointer, kernel
            >>> from weft.gpu import global_idx
            >>> from weft.gpu.host import DeviceContext
            >>> @kernel
            ... def add(x: Pointer[Float32], *, n: Comptime[int]):
            ...     x[global_idx.x] += n
            >>> ctx = DeviceContext(api="cpu")
            >>> [made.kernel for made in ctx.compile_functions([add.bind(n=1), add.bind(n=2)])]
            [<kernel add, n=1>, <kernel add, n=2>]
        """
        wanted = [(kernel, specs_ahead(kernel)) for kernel in map(as_kernel, kernels)]
        keys = {(k.definition, specs, self._ahead(k)): k for k, specs in wanted if specs is not None}
        missing = {key: kernel for key, kernel in keys.items() if self._loaded.find(key) is None}
        for key, reads, loaded in compiled_together(missing, self.target, jobs, self._loaded_of):
            reads.whole = reads.covers(captured.reads_of_signature(key[0]))
            self._loaded.keep(key, reads, loaded)
        self._go_native()
        return [CompiledKernel(self, kernel) for kernel, _ in wanted]

    def _ahead(self, kernel: Kernel[...]) -> CompileOptions:
        """What is compiled ahead is for launches of blocks, over buffers that share no memory."""
        return self._options(kernel, None, True, is_even(self.info))

    @bracketed
    def enqueue_function(
        self,
        kernel: Launchable[P],
        *args: P.args,
        grid_dim: Blocks | Callable[[Config], Blocks] | None = None,  # pyright: ignore[reportGeneralTypeIssues]
        block_dim: Blocks | Callable[[Config], Blocks] | None = None,  # pyright: ignore[reportGeneralTypeIssues]
        over: int | tuple[int, ...] | None = None,  # pyright: ignore[reportGeneralTypeIssues]
        shared_mem_bytes: int | Callable[[Config], int] = 0,  # pyright: ignore[reportGeneralTypeIssues]
        stream: DeviceStream | None = None,  # pyright: ignore[reportGeneralTypeIssues]
        cluster_dim: Blocks | Callable[[Config], Blocks] | None = None,  # pyright: ignore[reportGeneralTypeIssues]
        cooperative: bool = False,  # pyright: ignore[reportGeneralTypeIssues]
        pdl: bool = False,  # pyright: ignore[reportGeneralTypeIssues]
        **named: P.kwargs,
    ) -> None:
        """Launch a kernel; it runs after what the stream already holds, beside the host.

        Args:
            kernel: the kernel, ``functools.partial(kernel, name=...)``, or what ``compile_function`` gave.
            args: its arguments: buffers, numbers, tensors, structs.
            grid_dim: how many blocks, as x, (x, y), (x, y, z) or Dim. For a tuned kernel this and the others
                may be functions of the configuration.
            block_dim: how many threads in each block, likewise.
            over: instead of both: one thread for every element of a range of up to three extents,
                the last of which is ``global_idx.x``; weft chooses blocks and guards the edge. A range
                without elements launches nothing.
            shared_mem_bytes: dynamic shared memory per block.
            stream: another stream than the context's own.
            cluster_dim: how many blocks in each cluster, as for ``grid_dim``: blocks that run at the same
                time and reach each other's shared memory (``weft.gpu.cluster``).
            cooperative: all blocks run at once, so that they can wait for each other by ``grid_sync()``.
            pdl: the kernel may begin before the one before it has ended, and waits for it itself, by
                ``wait_on_dependent_grids()`` (programmatic dependent launch).
            named: compile-time parameters, and arguments by name.

        Raises:
            LaunchError: arguments or extents are wrong, or past what the device allows; all that is
                wrong is listed.
            CompileError: the kernel cannot be compiled for these types.
        """
        found = as_kernel(kernel)
        if found.tuned or isinstance(kernel, partial):
            given = {"grid_dim": grid_dim, "block_dim": block_dim, "over": over, "stream": stream}
            given |= {"shared_mem_bytes": shared_mem_bytes or None, "cluster_dim": cluster_dim}
            given |= {"cooperative": cooperative or None, "pdl": pdl or None}
            self._launch_otherwise(found, args, {**named, **given})
            return
        asked = None
        if cluster_dim is not None or cooperative is not False or pdl is not False:
            asked = cluster_dim, cooperative, pdl
        native = vars(self).get("enqueue_function")
        if native is not None:  # this is called by a name from before that was there
            options = {"grid_dim": grid_dim, "block_dim": block_dim, "over": over, "stream": stream}
            options = {name: value for name, value in options.items() if value is not None}
            if asked is not None:
                options |= {"cluster_dim": cluster_dim, "cooperative": cooperative, "pdl": pdl}
            native(found, *args, **named, **options, shared_mem_bytes=shared_mem_bytes)
            return
        self._launch(found, args, named, (over, grid_dim, block_dim, shared_mem_bytes, stream), asked)
        self._launches += self.recording is None
        if self._launches % AFTER == 0:
            self._go_native()

    def _launch_otherwise(self, kernel: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Launch what chooses its parameters, or what a partial stands for, which may be made natively."""
        if kernel.tuned:
            kernel.launch(self, args, named)
        else:
            self.enqueue_function(kernel, *args, **{n: v for n, v in named.items() if v is not None})

    def enqueue_by_python(
        self,
        kernel: Kernel[...] | CompiledKernel[...],
        *args: object,
        grid_dim: Any = None,
        block_dim: Any = None,
        over: Any = None,
        shared_mem_bytes: int = 0,
        stream: DeviceStream | None = None,
        cluster_dim: Any = None,
        cooperative: Any = False,
        pdl: Any = False,
        **named: object,
    ) -> Launched:
        """``enqueue_function`` without its native stub; what it has launched."""
        kernel = as_kernel(kernel)
        where = over, grid_dim, block_dim, shared_mem_bytes, stream
        return Launched(*self._launch(kernel, args, named, where, (cluster_dim, cooperative, pdl)))

    def _launch(
        self,
        kernel: Kernel[...],
        args: tuple[object, ...],
        named: Mapping[str, object],
        where: _Where,
        asked: tuple[Any, Any, Any] | None,
    ) -> tuple[Definition, Mapping[str, Spec], Launch, Stream, bool, bool, bool, Reads]:
        """Launch; the fields of ``Launched``. ``asked`` are cluster_dim, cooperative and pdl."""
        attributes, taken, place, options, found = self._way(kernel, args, named, where, asked)
        (specs, values, memory, _), (_, block, plan) = taken, place
        shared, stream = where[3:]
        reads, loaded = found or self._load(kernel, specs, options)
        if (block[1] > 1 or block[2] > 1) and not loaded.function.kernel.takes(block):
            reads, loaded = self._load(kernel, specs, options._replace(any_block=True))
        shared = loaded.shared_bytes(shared, kernel.definition.threads)
        grid = self._fill(loaded, taken, place, shared, attributes, len(args))
        extents, empty = ((0, 0, 0), False) if plan is None else (plan.extents, plan.empty)
        target = self.queue_of(stream)
        arrays: list[ForeignArray] = []
        if not OWN.issuperset(map(type, memory)):
            arrays = [m for m in memory if isinstance(m, ForeignArray)]
        copies: HostCopies | None = None
        if arrays:
            check_writes(loaded.signature, kernel, taken, args, named)
            copies = None if empty or self.info.shares_host else loaded.copies(self, memory, values)
            self.describe_tiles(loaded.function.kernel, values, memory)  # where they are copied to
        launch = Launch(loaded.function, grid, block, loaded.pack(values), shared, extents, attributes)
        guest: Stream | None = None
        theirs = len(arrays) > 0 and all(isinstance(m, (ForeignArray, Descriptors)) for m in memory)
        if arrays:
            alone = stream is None and theirs
            call = kernel, args, named
            guest = None if empty else self._launch_beside(target, arrays, launch, copies, call, alone=alone)
        elif not empty:
            put(target, launch, memory, self, (kernel, args, named))
        self.queued()
        foreign = guest is not None or (self.info.shares_host and len(arrays) > 0)
        repeatable = (foreign or not arrays) and self.recording is None and not empty and self._as_usual
        to, apart = guest or target, options.distinct
        return kernel.definition, specs.by_name, launch, to, repeatable, apart, foreign, reads

    def _fill(
        self,
        loaded: Loaded,
        taken: Taken,
        place: Placement,
        shared: int,
        attributes: LaunchAttributes | None,
        count: int,
    ) -> Dim:
        """Add what a launch gives beside its ``count`` arguments to these, and check it; the grid."""
        (_, values, memory, _), (grid, block, plan) = taken, place
        self.describe_tiles(loaded.function.kernel, values, memory)
        if plan is not None:
            values.extend(plan.extents[: loaded.count - len(values)])
            per_thread = loaded.function.kernel.per_thread
            if per_thread != plan.per_thread and not plan.empty:
                grid = self._extents.grid_of(plan, per_thread, count)
        if self.checked:
            values.extend((shared, *ends_of(loaded.signature, memory, values)))
            values.extend([0] * (len(loaded.signature.parameters) - len(values)))  # the driver's
        if shared or attributes is not None or not loaded.modest:
            kernel_info = loaded.function.kernel
            check_uses(self.info, kernel_info, attributes, shared, block, over=plan is not None)
        return grid

    def ready_launch(
        self, kernel: Kernel[...], args: tuple[object, ...], named: Mapping[str, object], where: LaunchOptions
    ) -> ReadyLaunch:
        """A launch that is compiled, loaded and packed, and not made: what tuning measures."""
        attributes, taken, place, options, _ = self._way(kernel, args, named, where[:5], where[5:])
        shared, plan = where[3], place[2]

        def made(options: CompileOptions) -> tuple[Artifact, Loaded]:
            artifact = compile_kernel(kernel, taken.specs.by_name, self.target, options)
            return artifact, Loaded(*self.device.load(artifact, kept))

        artifact, loaded = made(options)
        if not loaded.function.kernel.takes(place[1]):
            artifact, loaded = made(options._replace(any_block=True))
        shared = loaded.shared_bytes(shared, kernel.definition.threads)
        grid = self._fill(loaded, taken, place, shared, attributes, len(args))
        extents = (0, 0, 0) if plan is None else plan.extents
        words = loaded.pack(taken.values)
        launch = Launch(loaded.function, grid, place[1], words, shared, extents, attributes)
        return ReadyLaunch(artifact, launch, taken.memory)

    def code_of(
        self, kernel: Kernel[...], args: tuple[object, ...], named: Mapping[str, object], where: LaunchOptions
    ) -> str | None:
        """The key under which the cache has a launch's code; None where it is not to be kept."""
        _, taken, _, options, _ = self._way(kernel, args, named, where[:5], where[5:])
        return key_of(elaborate_kernel(kernel, taken.specs.by_name, self.target, options))

    def _way(
        self,
        kernel: Kernel[...],
        args: tuple[object, ...],
        named: Mapping[str, object],
        where: _Where,
        asked: tuple[Any, Any, Any] | None,
    ) -> tuple[LaunchAttributes | None, Taken, Placement, CompileOptions, tuple[Reads, Loaded] | None]:
        """What a launch says, and what was compiled for such before, if that is still so.

        Raises:
            LaunchError: with all that is wrong.
        """
        place = self._extents.find(*where)
        attributes: LaunchAttributes | None = None
        refused: Sequence[tuple[Diagnostic, str]] = ()
        if asked is not None:
            attributes, refused = launch_attributes(
                self.info, place and place[0], *asked, over=where[0] is not None
            )
        while True:
            taken = None if place is None or refused else take(self, kernel, args, named)
            if taken is None or place is None:
                taken, place = self._examine(kernel, args, named, where, refused)
            plan = place[2]
            way = None if plan is None else describe_over(plan.rank, plan.per_thread)
            early = attributes is not None and attributes.pdl  # what is read may be read before the wait
            even = plan is None and is_even(self.info, place[1])
            much = not any(self._always) and is_large(
                self.info, (*place[0], *place[1]) if plan is None else plan.extents
            )
            options = self._options(kernel, way, not early and are_apart(taken.memory), even, much)
            found = self._loaded.find((kernel.definition, taken.specs, options))
            if is_current(taken, found and found[0], kernel, args, named):
                return attributes, taken, place, options, found

    def _options(
        self, kernel: Kernel[...], over: Over | None, distinct: bool, even: bool, much: bool = False
    ) -> CompileOptions:
        level = self._opt_level if kernel.opt_level is None else kernel.opt_level
        return CompileOptions(over, distinct, *self._always, even, much, level)

    def _examine(
        self,
        kernel: Kernel[...],
        args: tuple[object, ...],
        named: Mapping[str, object],
        where: _Where,
        refused: Sequence[tuple[Diagnostic, str]],
    ) -> tuple[Taken, Placement]:
        """What a launch says, once more and in full.

        Raises:
            LaunchError: with all that is wrong.
        """
        taken, problems = examine(self, kernel, args, named)
        place = self._extents.examine(*where, problems)
        for diagnostic, at in refused:
            problems.extend((diagnostic,), at)
        problems.check(LaunchError, len(args))
        return taken, place

    def _launch_beside(
        self,
        target: Stream,
        arrays: list[ForeignArray],
        launch: Launch,
        copies: HostCopies | None,
        call: Call,
        *,
        alone: bool,
    ) -> Stream | None:
        """Launch in order with the libraries whose arrays it uses; their stream, where it goes there."""
        alone = alone and copies is None
        ordered = Ordered(self, target, arrays, alone=alone, recorded=self.recording is not None)
        with ordered as queue:
            if copies is not None:
                copies.bring(queue)
            put(queue, launch, arrays, self, call)
            if copies is not None:
                copies.take_back(queue)
        if ordered.guest is not None:
            self.note_guest(*ordered.guest)
        return ordered.guest and ordered.guest[1]

    def note_guest(self, handle: int, guest: Stream) -> None:
        """Have ``synchronize`` wait for another library's stream, to which a launch went."""
        self.guests[handle] = guest
        self._waiting.add(handle)

    @property
    def launches_as_usual(self) -> bool:
        """Whether this is no subclass that wants to see all launches."""
        return type(self).enqueue_function is DeviceContext.enqueue_function

    def _go_native(self) -> None:
        """From now on launches that are made again are made without Python."""
        quiet = self._native is None and self.recording is None and not is_profiled()
        if quiet and self.launches_as_usual and self.stream.native is not None:
            from weft.launch.native.code import prepared

            if prepared() is not None:
                from weft.launch.native.install import install, native_methods

                self._native = install(self)
                if self._native is not None:
                    vars(self).update(native_methods(self, self._native))

    def _load(self, kernel: Kernel[...], specs: Specs, options: CompileOptions) -> tuple[Reads, Loaded]:
        key = (kernel.definition, specs, options)
        found = self._loaded.find(key)
        if found is None:

            def load() -> Loaded:
                return self._loaded_of(compile_kernel(kernel, specs.by_name, self.target, options))

            found = self._loaded.make(key, specs.each, load)
            found[0].whole = found[0].covers(captured.reads_of_signature(kernel.definition))
            self._made_again.count(kernel, specs)
        return found

    def _loaded_of(self, artifact: Artifact) -> Loaded:
        return Loaded(*self.device.load(artifact, kept))
