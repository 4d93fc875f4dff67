"""What the compiler knows of threads: which one this is, their barrier, and what a launch gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from weft.abi.warp import WARP as WARP
from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I32, I64, of_dtype, pointer
from weft.diagnostics import refuse
from weft.lang.elaboration import Elaboration, current, maybe_current
from weft.lang.number import Number, value_of
from weft.lang.pointer import AddressSpace, Pointer, pointer_at
from weft.lang.scalars import Int, UInt8
from weft.lang.spec import PointerSpec, Spec

if TYPE_CHECKING:
    from weft.lang.decorators import Func

N = TypeVar("N", bound=Number)


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


def note_copies(what: str, barrier: Value | None = None, *, when: Value | None = None, **count: int) -> None:
    """Note, for checks of memory, what a thread does with copies that go on beside it (``weft.copies``).

    ``when``: it does so if that holds.
    """
    b = current()
    if not b.exact:
        return
    with b.into(b.region if when is None else Region()) as noted:
        b.emit("weft.copies", () if barrier is None else (barrier,), attrs={"what": what, **count})
    if when is not None:
        b.branch(when, noted)


def note_dynamic_shared(nbytes: int) -> None:
    """Note that the kernel takes so much of the shared memory that its launch gives."""
    current().elaborator.note_dynamic_shared(nbytes)


def note_bounds(threads: int, blocks: int) -> None:
    """Note that a block of the kernel has at most so many threads, and how many blocks are to fit at once."""
    current().elaborator.note_bounds(threads, blocks)


def _known(word: str, name: str) -> Elaboration:
    """The builder, whose target has the word."""
    b = current()
    if b.target.threads == "hardware" and word not in b.target.machine:
        refuse("unsupported", f"{name} is not known on {b.target.name}")
    return b


def grid_value(name: str, axis: str) -> Int:
    """An index or extent (``thread_id`` ...) along an axis."""
    b = _known(f"{name}.{axis}", name)
    uses_thread()
    return Int.of(b.value(f"gpu.{name}", (), I64, {"dimension": axis}))


def block_barrier(*, whole: bool = False) -> None:
    """All threads of the block wait for each other; ``whole``: none of them may have returned."""
    attrs: dict[str, bool] = {"whole": True} if whole else {}
    _known("barrier", "barrier()").emit("gpu.barrier", (), (), attrs)


def meet_at(number: int, threads: int, *, arrives: bool) -> None:
    """So many threads of the block meet at a named barrier, where threads are loops; or one ``arrives``."""
    attrs = {"number": number, "threads": threads, "arrives": arrives}
    current().emit("gpu.named_barrier", (), (), attrs)


def group_barrier(group: str) -> None:
    """All threads of a ``grid`` or a ``cluster`` wait for each other, where threads are loops."""
    current().emit("gpu.meet", (), (), {"group": group})


def threads_are_loops() -> bool:
    """Whether the target has no threads of its own."""
    return current().target.threads == "loops"


def shared_stride() -> Int:
    """Bytes from a block's shared memory to that of the cluster's next, where threads are loops."""
    return Int.of(current().value("gpu.shared_stride", (), I64))


def thread_number() -> Int:
    """The thread's number in its block, where threads are loops."""
    return Int.of(current().value("gpu.thread_number", (), I64))


def lane_number() -> Int:
    """The thread's number in its warp, where threads are loops."""
    return Int.of(current().value("gpu.lane_id", (), I64))


def warp_number() -> Int:
    """The warp's number in its block, where threads are loops."""
    return Int.of(current().value("gpu.subgroup_id", (), I64))


def balloted(predicate: Value) -> Value:
    """One bit for each lane of a warp, where threads are loops."""
    return current().value("gpu.ballot", (predicate,), I32)


def thread_count() -> Int:
    """How many threads a block has, where threads are loops."""
    return Int.of(current().value("gpu.thread_count", (), I64))


def shuffled(value: Value, lane: Int, mask: tuple[int, ...] = ()) -> Value:
    """What another lane of a warp has, where threads are loops; ``mask`` has all, if they are known."""
    b = current()
    attrs: dict[str, tuple[int, ...]] = {"mask": mask} if mask else {}
    return b.value("gpu.shuffle", (value, value_of(lane, b)), value.type, attrs)


def by_warp(function: Func[..., Any], given: Sequence[Number], kind: type[N], **known: Any) -> N:
    """What each lane gets of something that the lanes of a warp do as one, where threads are loops.

    Args:
        function: a @func that takes pointers: to what the 32 lanes have of each of ``given``, one lane's
            behind the other's, and to where they get what it makes. It asks nothing about threads.
        given: each lane's own numbers or vectors, no Bool.
        kind: the type of what a lane gets.
        known: ``Comptime`` parameters of ``function``.
    """
    b, dtypes = current(), [*[value.dtype for value in given], kind.dtype]
    order: list[tuple[str, Spec]] = [
        (f"of{n}", PointerSpec(dtype, AddressSpace.GENERIC)) for n, dtype in enumerate(dtypes)
    ]
    callee = b.elaborator.apart(function, order, known)
    operands = callee, *[value_of(value, b) for value in given]
    return kind.of(b.value("gpu.warp_call", operands, of_dtype(kind.dtype, kind.lanes)))


def dynamic_shared() -> Pointer[UInt8]:
    """The shared memory whose size the launch gives."""
    space = AddressSpace.SHARED
    return pointer_at(current().value("gpu.dynamic_shared_memory", (), pointer(space)), UInt8.dtype, space)
