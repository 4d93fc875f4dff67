"""What targets without hardware threads get from the compiler instead of a register or instruction."""

from __future__ import annotations

from weft.compiler.ir.builder import current, maybe_current
from weft.compiler.ir.types import I64, pointer
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Int, UInt8

__all__ = [
    "block_barrier",
    "dynamic_shared",
    "element_index",
    "grid_value",
    "in_kernel",
    "note_use",
    "uses_thread",
]


def in_kernel() -> bool:
    """Whether code is being compiled, rather than run by Python."""
    return maybe_current() is not None


def element_index(axis: int) -> Int | None:
    """The element's index in a launch over a range, where the code at hand is its body."""
    element = current().element
    return None if element is None else element[axis]


def uses_thread() -> None:
    """The code depends on which thread runs it, so a thread cannot do several elements."""
    current().elaborator.note_thread()


def note_use(name: str) -> None:
    """Note that the kernel uses something that its launch must know of; the artifact's ``uses`` has it."""
    current().elaborator.note_use(name)


def note_dynamic_shared(nbytes: int) -> None:
    """Note that the kernel takes so much of the shared memory that its launch gives."""
    current().elaborator.note_dynamic_shared(nbytes)


def grid_value(operation: str, axis: str) -> Int:
    """An index or extent (``gpu.thread_id`` ...) as a value of the loops over threads."""
    return Int.of(current().value(operation, (), I64, {"dimension": axis}))


def block_barrier() -> None:
    """All threads of the block wait for each other."""
    current().emit("gpu.barrier")


def dynamic_shared() -> Pointer[UInt8]:
    """The shared memory whose size the launch gives."""
    space = AddressSpace.SHARED
    return Pointer(current().value("gpu.dynamic_shared_memory", (), pointer(space)), UInt8, space)
