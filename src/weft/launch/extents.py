"""Grid and block of a launch, as it says them or as ``over=`` chooses them."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from weft.diagnostics import LaunchError, a_
from weft.diagnostics.problems import Problems
from weft.launch.ranges import OverPlan, most_blocks, plan_over
from weft.runtime.dim import Dim, as_dim, as_index
from weft.runtime.driver import DeviceInfo
from weft.runtime.limits import check_launch
from weft.runtime.streams import DeviceStream

Placement = tuple[Dim, Dim, OverPlan | None]
"""Grid, block, and for a launch over a range its plan."""
_MOST = 1024
_ELEMENTS = 1 << 62
"""More cannot be counted while they are dealt out."""
_ABOUT = {"block": "block_dim", "grid": "grid_dim", "dim": "grid_dim", "shared": "shared_mem_bytes"}
"""The argument that a refusal of the device is about, by the first word of its code."""


def _is_plain(extents: Any) -> bool:
    """Whether extents are what they seem, in tuples of ints; a bool, say, equals one."""
    kind = cast("type[Any]", type(extents))
    return kind is Dim or (kind is tuple and all(type(extent) is int for extent in extents))


class Placements:
    """What launches on one device may say of their grids and blocks."""

    def __init__(self, info: DeviceInfo) -> None:
        self._info = info
        self._known: dict[object, Placement] = {}

    def find(self, over: Any, grid_dim: Any, block_dim: Any, shared: Any, stream: Any) -> Placement | None:
        """Grid, block and plan of a launch, if such a launch was found right before."""
        if stream is not None and not isinstance(stream, DeviceStream):
            return None
        given = over, grid_dim, block_dim, shared
        for each in given:
            if type(each) is not int and each is not None and not _is_plain(each):
                return None
        found = self._known.get(given)
        if found is None:
            problems = Problems()
            found = self.examine(*given, stream, problems)
            if problems:
                return None
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[given] = found
        return found

    def examine(
        self, over: Any, grid_dim: Any, block_dim: Any, shared: Any, stream: Any, problems: Problems
    ) -> Placement:
        """Grid, block and plan of a launch, and all that is wrong with them."""
        plan: OverPlan | None = None
        grid = block = Dim(1)
        if type(shared) is not int or shared < 0:
            message = f"shared_mem_bytes={shared!r} is not a number of bytes"
            problems.add("shared-memory", message, "write an int of 0 or more", at="shared_mem_bytes")
            shared = 0
        if over is not None:
            plan = self._over(over, grid_dim, block_dim, problems)
            if plan is not None and not plan.empty:
                grid, block = plan.grid(plan.per_thread), plan.block
                self._check_range(over, plan, grid, problems)
                self._check(Dim(1), Dim(1), shared, problems)
        else:
            grid, block = self._dims(grid_dim, block_dim, shared, problems)
        if stream is not None and not isinstance(stream, DeviceStream):
            message = f"stream= takes a DeviceStream, not {a_(type(stream).__name__)}"
            problems.add("stream-type", message, "make one: ctx.create_stream()", at="stream")
        return grid, block, plan

    def grid_of(self, plan: OverPlan, per_thread: tuple[int, int], count: int) -> Dim:
        """The grid of a range whose kernel does fewer elements a thread than was planned.

        Raises:
            LaunchError: the device does not allow so many blocks. ``count`` is that of positional arguments.
        """
        grid, problems = plan.grid(per_thread), Problems()
        self._check_range(tuple(reversed(plan.extents[: plan.rank])), plan, grid, problems)
        problems.check(LaunchError, count)
        return grid

    def _check_range(self, over: Any, plan: OverPlan, grid: Dim, problems: Problems) -> None:
        """Whether the device takes so many blocks."""
        info = self._info
        for axis, blocks, limit in zip("xyz", grid, most_blocks(info), strict=True):
            if blocks > limit:
                message = (
                    f"over={over!r} takes {blocks} blocks of {tuple(plan.block)} threads in {axis}; "
                    f"{info.name} allows {limit} there"
                )
                hint = "put the longest extent last, or launch for a part at a time"
                problems.add("over", message, hint, at="over")

    def _dims(self, grid_dim: Any, block_dim: Any, shared: Any, problems: Problems) -> tuple[Dim, Dim]:
        dims: list[Dim] = []
        missing: list[str] = []
        for name, given in (("grid_dim", grid_dim), ("block_dim", block_dim)):
            if given is None:
                missing.append(name)
                continue
            try:
                dims.append(as_dim(given, name))
            except LaunchError as error:
                problems.extend(error.diagnostics, name)
        if missing and not any(
            f"`{name}`" in h for name in missing for d, _ in problems.found for h in d.hints
        ):
            message = f"the launch does not say {' and '.join(missing)}"
            hint = "give grid_dim= and block_dim=, or over= for one thread per element"
            problems.add("launch-extents", message, hint)
        if len(dims) < 2:
            return Dim(1), Dim(1)
        self._check(dims[0], dims[1], shared, problems)
        return dims[0], dims[1]

    def _check(self, grid: Dim, block: Dim, shared: int, problems: Problems) -> None:
        for diagnostic in check_launch(self._info, grid, block, shared_bytes=shared):
            problems.extend((diagnostic,), _ABOUT[diagnostic.code.split("-")[0]])

    def _over(self, over: Any, grid_dim: Any, block_dim: Any, problems: Problems) -> OverPlan | None:
        def problem(message: str, hint: str) -> None:
            problems.add("over", message, hint, at="over")

        if grid_dim is not None or block_dim is not None:
            problem(
                "over= chooses grid and block, but the launch gives them too",
                "leave out grid_dim and block_dim",
            )
        given = cast("tuple[Any, ...]", over) if isinstance(over, tuple) else (over,)
        sizes = [size for size in map(as_index, given) if size is not None]
        if len(sizes) < len(given):
            if isinstance(over, (list, range)):
                extents = tuple(cast("list[object]", over))
                meant = len(over) if isinstance(over, range) and over == range(len(over)) else extents
                message = (
                    f"over={over!r} is {a_(type(cast('object', over)).__name__)}; it takes an int or a tuple"
                )
                problem(message, f"write over={meant!r}")
            else:
                plain = isinstance(over, (float, str, tuple))
                what = f"{over!r}" if plain else a_(type(over).__name__)
                problem(
                    f"over= takes one to three integers, not {what}", "write over=n or over=(height, width)"
                )
            return None
        if not 1 <= len(sizes) <= 3:
            problem(
                f"over={over!r} has {len(sizes)} extents; one to three are allowed",
                "merge extents, e.g. over=(d * h, w)",
            )
        elif min(sizes) < 0:
            problem(f"over={over!r} has a negative extent", "write the number of elements, 0 or more")
        elif prod(sizes) > _ELEMENTS or max(sizes) > _ELEMENTS:
            problem(f"over={over!r} counts past 2**62 elements", "launch for a part at a time")
        else:
            return plan_over(self._info, tuple(sizes))
        return None
