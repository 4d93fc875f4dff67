"""What ``weft profile`` has measured, for the page of the explorer."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from weft.diagnostics import CompileError
from weft.explorer.roofline import Point, roofline_svg
from weft.explorer.stages import Explored
from weft.record import replace


class Profiled:
    """The launches of a trace, by the names of their kernels.

    Args:
        events: launches in Chrome's trace format, as ``weft.launch.profile.trace`` gives them.
        copied: bytes a second of a copy, by the names of devices.
    """

    def __init__(
        self, events: Iterable[Mapping[str, Any]] = (), copied: Mapping[str, float] | None = None
    ) -> None:
        self._copied = copied or {}
        self._launches: dict[str, list[Mapping[str, Any]]] = {}
        for event in events:
            self._launches.setdefault(str(event["name"]), []).append(event)

    @classmethod
    def read(cls, file: str) -> Profiled:
        """What stands in a file that ``weft profile --trace`` has written.

        Raises:
            CompileError: there is no such file, or it is none of these.
        """
        try:
            found = json.loads(Path(file).read_text(encoding="utf-8"))
            return cls([e for e in found["traceEvents"] if e["args"]["bytes"] >= 0], found["otherData"])
        except (OSError, ValueError, KeyError, TypeError):
            message = f"--profile {file} is no trace of weft profile"
            hint = f"write one: weft profile --trace {file} PROGRAM"
            raise CompileError.at("option", message, None, hints=(hint,)) from None

    def added(self, kernel: Explored) -> Explored:
        """A kernel with what its launches took and its place under the roof, where it was launched."""
        launches = self._launches.get(kernel.name)
        if not launches:
            return kernel
        median = statistics.median([each["dur"] for each in launches]) / 1e6
        nbytes, flops, bandwidth, peak = (
            statistics.median([float(each["args"][name]) for each in launches])
            for name in ("bytes", "flops", "bandwidth", "peak")
        )
        table = {"launches": str(len(launches)), "median": f"{median * 1e6:.1f} us"}
        if median:
            table["bandwidth"] = f"{nbytes / median / 1e9:,.0f} GB/s"
        if not flops or not nbytes or not median:
            return replace(kernel, measured=table)
        table["operations"] = f"{flops / median / 1e9:,.0f} GFLOP/s"
        copied = self._copied.get(launches[0]["pid"], 0.0)
        point = Point(kernel.name, flops / nbytes, flops / median)
        return replace(kernel, measured=table, roofline=roofline_svg([point], bandwidth, peak, copied))
