"""The functions of an object file for Linux, by its table of symbols (ELF of 64 bits, little end first)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_SYMBOLS = 2


class Symbol(NamedTuple):
    """A symbol: in which section, where in it and how long it is, and how long the section is."""

    name: str
    section: int
    start: int
    size: int
    whole: int


def symbols(code: bytes) -> Iterator[Symbol]:
    """The named symbols of an object file; none of a file of another form."""
    if not code.startswith(b"\x7fELF\x02\x01"):
        return
    (at,), (each, count) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, at + each * n) for n in range(count)]
    for _, kind, _, _, begin, length, link, *_ in sections:
        names = sections[link][4] if kind == _SYMBOLS else 0
        for place in range(begin, begin + length, 24) if kind == _SYMBOLS else ():
            name, _, _, section, start, size = struct.unpack_from("<IBBHQQ", code, place)
            if name and 0 < section < count:
                text = code[names + name : code.index(b"\0", names + name)].decode(errors="replace")
                yield Symbol(text, section, start, size, sections[section][5])
