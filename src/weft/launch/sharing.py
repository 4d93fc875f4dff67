"""Whether the arguments of a launch share memory: what shares none is compiled as such."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from weft.foreign.arrays import mapping_of
from weft.runtime.buffers import DeviceBuffer, share_nothing

_OWN: frozenset[type] = frozenset((DeviceBuffer,))


def are_apart(memory: Sequence[Any]) -> bool:
    """Whether no two arguments share memory."""
    if len(memory) < 2:
        return True
    if _OWN.issuperset(map(type, memory)):
        return share_nothing(memory)
    maps = {id(m) for m in map(mapping_of, memory) if m is not None}
    if len(maps) > 1:  # of one file, perhaps, at two addresses
        return False
    parts = sorted((m.allocation.address, m.allocation.nbytes) for m in memory)
    return all(one + size <= two for (one, size), (two, _) in itertools.pairwise(parts))
