"""How many blocks of a kernel a multiprocessor holds at once, by what they use of it.

The rules are those of NVIDIA's occupancy calculator (``cuda_occupancy.h`` of the CUDA toolkit).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weft.diagnostics import CompileError, caller_location
from weft.targets.known import find_target

_PARTITIONS = 4
"""Of a multiprocessor, each with its share of the registers."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full a kernel makes a multiprocessor."""

    blocks: int
    """Blocks that run on a multiprocessor at once; 0 where not one fits."""
    warps: int
    """Their warps."""
    fraction: float
    """Of the warps that a multiprocessor can hold, from 0 to 1."""
    limited_by: Literal["blocks", "registers", "shared memory", "warps"]
    """What keeps further blocks out."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel uses of a GPU, as its assembler tells. Sizes are in bytes."""

    target: str
    """The machine that it was assembled for, such as ``sm_90``."""
    registers: int
    """Of 32 bits, a thread."""
    spill_stores: int
    """What a thread writes of registers that did not suffice; 0 is well."""
    spill_loads: int
    stack: int
    """Of a thread's own memory: arrays that are indexed at run time, and what is spilled."""
    shared: int
    """Shared memory of static size, a block."""
    barriers: int
    """Hardware barriers."""

    def occupancy(self, threads: int, shared_mem_bytes: int = 0) -> Occupancy:
        """How full blocks of so many threads make a multiprocessor.

        Args:
            threads: of a block.
            shared_mem_bytes: the dynamic shared memory of a block, as a launch gives it.

        Raises:
            CompileError: a block has no such number of threads.

        Example:
            >>> used = Resources("sm_90", 40, spill_stores=0, spill_loads=0, stack=0, shared=4096, barriers=1)
            >>> used.occupancy(256)
            Occupancy(blocks=6, warps=48, fraction=0.75, limited_by='registers')
        """
        sm = find_target(self.target).residence
        if sm is None or type(threads) is not int or not 1 <= threads <= 1024:
            message = f"threads={threads!r} is no number of threads of a block, which is 1 to 1024"
            hints = ("write .occupancy(256), say",)
            raise CompileError.at("block-threads", message, caller_location(), hints=hints)
        warps = -(-threads // 32)
        for_warp = -(-max(self.registers, 1) * 32 // sm.register_unit) * sm.register_unit
        shared = self.shared + shared_mem_bytes + sm.reserved_shared
        shared = -(-shared // sm.shared_unit) * sm.shared_unit
        fits: dict[Literal["blocks", "registers", "shared memory", "warps"], int] = {
            "warps": sm.warps // warps,
            "blocks": sm.blocks,
            "registers": sm.registers // _PARTITIONS // for_warp * _PARTITIONS // warps,
            "shared memory": sm.shared // shared if shared else sm.blocks,
        }
        limited_by = min(fits, key=fits.__getitem__)
        blocks = fits[limited_by]
        return Occupancy(blocks, blocks * warps, blocks * warps / sm.warps, limited_by)
