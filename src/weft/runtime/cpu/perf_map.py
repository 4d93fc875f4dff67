"""Where kernels lie in this process, as Linux's ``perf`` reads it: ``/tmp/perf-PID.map``.

Each line has start, size and name (Linux, ``tools/perf/Documentation/jit-interface.txt``).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from weft.runtime.cpu.elf import symbols

_ESCAPED = re.compile(r"\$([0-9a-f]{2,6})\$")


def note(code: bytes, entry: str, address: int) -> None:
    """Add the functions of an object file that was linked with its entry at an address.

    What lies in the entry's section lies where the entry does; files of other forms are left out.
    """
    found = list(symbols(code))
    own = next((symbol for symbol in found if symbol.name == entry), None)
    if own is None:
        return
    base = address - own.start
    lines = [
        f"{base + each.start:x} {each.size:x} {_plain(each.name)}\n"
        for each in found
        if each.section == own.section and each.size
    ]
    with Path(f"/tmp/perf-{os.getpid()}.map").open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def _plain(name: str) -> str:
    """A symbol as people write it.

    >>> _plain("func$heavy$2e$loops"), _plain("kernel$heavy")
    ('heavy.loops', 'heavy')
    """
    name = name.removeprefix("kernel$").removeprefix("func$")
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)
