"""How candidates are measured: apart, in this process, or by a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from weft.abi.artifact import KernelInfo
from weft.diagnostics import a_
from weft.foreign.arrays import ForeignArray
from weft.foreign.order import Ordered
from weft.launch.tiles import described, tiles_at
from weft.layout.tma_async import TMATensorTile
from weft.record import record
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.driver import Device, Tiled
from weft.tuning.apart import Apart, Place, Process
from weft.tuning.candidates import Candidate
from weft.tuning.config import Config, refuse
from weft.tuning.search import Failed, Timing, fastest
from weft.tuning.trial import Image, Job, Trials, images_of

if TYPE_CHECKING:
    from weft.launch.context import DeviceContext


ByUser = Callable[[Config, Callable[[], object]], float]


@record
class Measure:
    """What ``autotune`` was told of it."""

    timeout: float
    isolated: bool
    by: ByUser | None


class _ByUser(Trials):
    """Launches whose seconds a function of the user's gives."""

    def __init__(
        self, device: Device, jobs: list[Job], images: list[Image], by: ByUser, configs: list[Config]
    ) -> None:
        super().__init__(device, jobs, images)
        self._by = by
        self._configs = configs

    def sample(self, n: int) -> float:
        """What the function gives.

        Raises:
            LaunchError: it is no number of seconds.
        """
        given: object = self._by(self._configs[n], lambda: self.launch(n))
        if not isinstance(given, Real) or not float(given) >= 0:
            found = a_(type(given).__name__) if not isinstance(given, Real) else str(given)
            message = f"measure= gives {found} for {self._configs[n]}, where seconds are needed"
            refuse(message, "return what a launch took, as a float", ("measure", 9))
        return float(given)


def begun(how: Measure) -> Process | None:
    """The process that will measure, which comes up while the candidates are compiled."""
    return Process() if how.isolated and how.by is None else None


def measured(
    ctx: DeviceContext,
    candidates: Sequence[Candidate],
    how: Measure,
    process: Process | None,
    values: Callable[[Config], Mapping[str, Any]],
    told: Callable[[Candidate, Timing], object],
) -> list[Timing]:
    """What each takes, in the order of the candidates; what fails meanwhile is left out.

    Raises:
        Failed: nothing can be measured.
    """
    live = [candidate for candidate in candidates if not candidate.left_out]
    jobs = [_job(candidate, values(candidate.config)) for candidate in live]
    images = _images(ctx, live)
    trials: Apart | Trials
    if how.by is not None:
        trials = _ByUser(ctx.device, jobs, images, how.by, [candidate.config for candidate in live])
    elif process is not None:
        place = Place(ctx.api, ctx.id, ctx.info.multiprocessors if ctx.info.shares_host else None)
        trials = Apart(process, place, jobs, images, how.timeout)
    else:
        trials = Trials(ctx.device, jobs, images)

    def after(n: int, timing: Timing) -> None:
        live[n].left_out = timing.left_out
        told(live[n], timing)

    try:
        found = iter(fastest(len(live), trials.sample, told=after))
    finally:
        trials.close()
    alive = {id(candidate) for candidate in live}
    return [next(found) if id(candidate) in alive else Timing() for candidate in candidates]


def _job(candidate: Candidate, values: Mapping[str, Any]) -> Job:
    assert candidate.ready is not None
    artifact, launch = candidate.ready.artifact, candidate.ready.launch
    words, shared, attributes = launch.arguments, launch.shared_bytes, launch.attributes
    tiles = _tiles(artifact.kernels[0], values)
    tiles |= tiles_at(artifact.kernels[0], memoryview(words).cast("Q"))
    return Job(artifact, launch.grid, launch.block, words, shared, launch.over, attributes, tiles)


def _tiles(kernel: KernelInfo, values: Mapping[str, Any]) -> dict[int, Tiled]:
    """What the hardware was told of tiles, by the slots of where that lies."""
    found: dict[int, Tiled] = {}
    for slot, parameter in enumerate(kernel.signature.parameters if "tiles" in kernel.uses else ()):
        name, _, last = parameter.name.rpartition(".")
        if last == "descriptor":
            if not isinstance(values.get(name), TMATensorTile):
                raise Failed("tiles that the hardware copies are parts of an argument, not arguments")
            tile = values[name]
            found[slot] = described(tile.tensor, tile.box, tile.swizzle)
    return found


def _images(ctx: DeviceContext, live: Sequence[Candidate]) -> list[Image]:
    """What is in the memory of the arguments, after all that is queued for it."""
    memory = {(m.address, m.nbytes): m for c in live if c.ready is not None for m in c.ready.memory}
    arrays = [m for m in memory.values() if isinstance(m, ForeignArray)]
    ctx.synchronize()
    if any(m.api not in (None, ctx.api) for m in arrays):
        raise Failed("an argument is memory of another device")
    peers = [m.allocation.device for m in memory.values() if isinstance(m, DeviceBuffer)]
    if any(ctx.device.accesses(device) for device in peers if device is not ctx.device):
        raise Failed("an argument is memory of another device")
    with Ordered(ctx, ctx.stream, arrays, alone=False) as stream:
        return list(images_of(ctx.device, stream, list(memory.values()), shares_host=ctx.info.shares_host))
