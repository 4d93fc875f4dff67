"""What of a space is worth measuring: what cannot be launched is left out first, each with its reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from weft.diagnostics import WeftError
from weft.record import record
from weft.runtime.driver import Residency
from weft.tuning.config import OPTIONS, Config, PerConfig

if TYPE_CHECKING:
    from weft.lang.decorators import Kernel
    from weft.launch.context import DeviceContext, ReadyLaunch


@record
class Call:
    """What a program launches: a kernel without its tuned parameters, on what, and how."""

    ctx: DeviceContext
    kernel: Kernel[...]
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    options: Mapping[str, Any]
    """Options of the launch; those that are functions are called with the configuration."""

    def with_values(self, config: Config) -> Kernel[...]:
        """The kernel with the values of a configuration."""
        kernel = self.kernel.for_blocks(config["block_dim"]) if "block_dim" in config else self.kernel
        return kernel.bind(**{name: value for name, value in config.items() if name not in OPTIONS})

    def with_options(self, config: Config) -> dict[str, Any]:
        """The options of a launch by a configuration."""
        options = {n: v(config) if callable(v) else v for n, v in self.options.items()}
        for name in OPTIONS:
            if name in config:
                options[name] = config[name]
        return options

    def with_arguments(self, config: Config) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position and by name."""
        args = tuple([a.make(config) if type(a) is PerConfig else a for a in self.args])
        return args, {n: a.make(config) if type(a) is PerConfig else a for n, a in self.named.items()}

    def where(self, options: Mapping[str, Any]) -> Any:
        """Options as ``DeviceContext.ready_launch`` takes them."""
        given: Any = options.get
        first = given("over"), given("grid_dim"), given("block_dim"), given("shared_mem_bytes", 0)
        return *first, given("stream"), given("cluster_dim"), given("cooperative", False), given("pdl", False)

    def ready(self, config: Config) -> ReadyLaunch:
        """The launch by a configuration, compiled."""
        where = self.where(self.with_options(config))
        return self.ctx.ready_launch(self.with_values(config), *self.with_arguments(config), where)

    def code(self, config: Config) -> str | None:
        """What tells the code of that launch from any other."""
        where = self.where(self.with_options(config))
        return self.ctx.code_of(self.with_values(config), *self.with_arguments(config), where)


class Candidate:
    """One configuration of a space: what became of it."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.ready: ReadyLaunch | None = None
        self.residency: Residency | None = None
        """What it takes of the device, where that has such limits."""
        self.left_out = ""
        """Why it is not measured, or not any more."""


def prepare(
    call: Call,
    space: Sequence[Config],
    when: Callable[[Config], bool],
    min_occupancy: float,
    told: Callable[[Candidate], object] = lambda candidate: None,
) -> list[Candidate]:
    """Compile a space, several at a time; LLVM works in processes of its own."""
    candidates = [Candidate(config) for config in space]
    for candidate in candidates:
        if not when(candidate.config):
            candidate.left_out = "when= says no"
        else:
            call.with_options(candidate.config)  # what functions of the program raise comes through
            call.with_arguments(candidate.config)

    def compiled(candidate: Candidate) -> Candidate:
        if not candidate.left_out:
            try:
                candidate.ready = call.ready(candidate.config)
            except WeftError as error:
                candidate.left_out = error.diagnostics[0].message
            else:
                _look(candidate, min_occupancy)
        return candidate

    with ThreadPoolExecutor(min(8, (os.cpu_count() or 1) + 1), "weft's tuning") as pool:
        for candidate in pool.map(compiled, candidates):
            told(candidate)
    return candidates


def _look(candidate: Candidate, min_occupancy: float) -> None:
    """Leave out what the device has not the registers, the threads or the shared memory for."""
    assert candidate.ready is not None
    launch = candidate.ready.launch
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if threads > launch.function.max_threads_per_block:
        limit = launch.function.max_threads_per_block
        candidate.left_out = f"blocks of {threads} threads; its registers allow {limit}"
        return
    found = candidate.residency = launch.function.residency(threads, launch.shared_bytes)
    if found is None:
        return
    if not found.blocks:
        candidate.left_out = f"a block takes more than a multiprocessor has: {found}"
    elif found.occupancy < min_occupancy:
        candidate.left_out = f"an occupancy of {found.occupancy:.0%}, less than {min_occupancy:.0%}: {found}"
