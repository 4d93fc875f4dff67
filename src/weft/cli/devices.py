"""``weft devices``: what this machine has, and what weft compiles for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from weft.diagnostics import DeviceError
from weft.runtime.drivers import DRIVERS, default_api, find_driver
from weft.targets import TARGETS


def devices() -> int:
    """Print a table of devices, then the targets."""
    rows: list[tuple[str, ...]] = [("API", "ID", "TARGET", "CORES", "MEMORY", "DEVICE")]
    missing: list[str] = []
    for api in DRIVERS:
        try:
            rows += _rows(api)
        except DeviceError as error:
            first = error.diagnostics[0]
            missing.append("\n        ".join((first.message, *first.hints[:1])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"\nDeviceContext() takes api {default_api()!r}.")
    for reason in missing:
        print(f"Missing: {reason}")
    print("\nTargets:")
    print(textwrap.fill(", ".join(TARGETS), 78, initial_indent="    ", subsequent_indent="    "))
    return 0


def _rows(api: str) -> Iterator[tuple[str, ...]]:
    driver = find_driver(api)
    for number in range(driver.device_count()):
        info = driver.device_info(number)
        memory = f"{info.total_memory / 2**30:.0f} GiB"
        yield api, str(number), info.target, str(info.multiprocessors), memory, info.name
