"""Atomic access to memory that several threads use at once.

>>> from weft import Int, Int32, Pointer, kernel
>>> from weft.atomic import Atomic
>>> from weft.gpu import global_idx
>>> from weft.gpu.host import DeviceContext
>>> @kernel
... def count_even(values: Pointer[Int32], counter: Pointer[Int32]):
...     if values[global_idx.x] % 2 == 0:
...         Atomic.fetch_add(counter, 1)
>>> ctx = DeviceContext(api="cpu")
>>> values, counter = ctx.enqueue_create_buffer(Int32, 100), ctx.enqueue_create_buffer(Int32, 1)
>>> with values.map_to_host() as host:
...     host[:] = range(100)
>>> counter.enqueue_fill(0)
>>> ctx.enqueue_function(count_even, values, counter, grid_dim=10, block_dim=10)
>>> with counter.map_to_host() as host:
...     print(host[0])
50
"""

from __future__ import annotations

from typing import TypeVar

from weft.diagnostics.modules import present
from weft.lang.atomics import (
    Ordering,
    Scope,
    atomic_load,
    atomic_rmw,
    atomic_store,
    compare_exchange,
    memory_fence,
)
from weft.lang.number import NumberLike
from weft.lang.pointer import Pointer
from weft.lang.scalars import Bool

__all__ = ["Atomic", "Ordering", "Scope", "fence"]

T = TypeVar("T")


class Atomic:
    """Operations that no other thread's come between; all take a pointer to an integer or a float.

    ``ordering`` is ``"relaxed"`` unless said otherwise: the access itself is atomic, and nothing is
    said about others. ``scope`` says among which threads: of the ``"block"``, the ``"cluster"``, the
    ``"device"``, or the whole ``"system"``, host included. What a GPU has no instruction for, such as 8 bits
    or the least of floats, is a loop of compare and exchange.

    Elements are integers and floats of 8 to 64 bits. ``fetch_add`` and its kin, ``exchange`` aside, take
    vectors, matrices and quaternions of ``weft.linalg`` too: each of their numbers is changed atomically,
    one after the other, so that others may see some of them changed and some not.

    NVIDIA GPUs have them from compute capability 7.0 on: PTX's ``atom`` and ``red`` with an order and a
    scope, ``ld.relaxed``, ``ld.acquire``, ``st.release``; CPUs have them too.

    Raises:
        CompileError: the element type has no such operation, or there is no such ordering or scope.
    """

    @staticmethod
    def fetch_add(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Add ``value``; gives what was there before. Integers wrap around."""
        return atomic_rmw("fetch_add", "add", pointer, value, ordering, scope)

    @staticmethod
    def fetch_sub(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Subtract ``value``; gives what was there before."""
        return atomic_rmw("fetch_sub", "sub", pointer, value, ordering, scope)

    @staticmethod
    def fetch_min(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Keep the smaller; gives what was there before. Of a nan and a number, the number is kept."""
        return atomic_rmw("fetch_min", "min", pointer, value, ordering, scope)

    @staticmethod
    def fetch_max(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Keep the larger; gives what was there before. Of a nan and a number, the number is kept."""
        return atomic_rmw("fetch_max", "max", pointer, value, ordering, scope)

    @staticmethod
    def fetch_and(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Keep the bits that ``value`` has too; gives what was there before. Integers only."""
        return atomic_rmw("fetch_and", "and", pointer, value, ordering, scope)

    @staticmethod
    def fetch_or(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Set the bits of ``value``; gives what was there before. Integers only."""
        return atomic_rmw("fetch_or", "or", pointer, value, ordering, scope)

    @staticmethod
    def fetch_xor(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Flip the bits of ``value``; gives what was there before. Integers only."""
        return atomic_rmw("fetch_xor", "xor", pointer, value, ordering, scope)

    @staticmethod
    def exchange(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> T:
        """Write ``value``; gives what was there before."""
        return atomic_rmw("exchange", "xchg", pointer, value, ordering, scope)

    @staticmethod
    def compare_exchange(
        pointer: Pointer[T],
        expected: T | NumberLike,
        desired: T | NumberLike,
        *,
        ordering: Ordering = "relaxed",
        scope: Scope = "device",
    ) -> tuple[T, Bool]:
        """Write ``desired`` if ``expected`` is there; gives what was there, and whether it was written.

        Floats are compared bit by bit, so that nan equals itself and 0.0 differs from -0.0.
        """
        return compare_exchange(pointer, expected, desired, ordering, scope)

    @staticmethod
    def load(pointer: Pointer[T], *, ordering: Ordering = "relaxed", scope: Scope = "device") -> T:
        """Read; ``ordering`` is relaxed, acquire or seq_cst."""
        return atomic_load(pointer, ordering, scope)

    @staticmethod
    def store(
        pointer: Pointer[T], value: T | NumberLike, *, ordering: Ordering = "relaxed", scope: Scope = "device"
    ) -> None:
        """Write; ``ordering`` is relaxed, release or seq_cst."""
        atomic_store(pointer, value, ordering, scope)


def fence(ordering: Ordering = "acq_rel", *, scope: Scope = "device") -> None:
    """Order this thread's accesses before and after it, for all threads of the scope.

    CUDA's ``__threadfence()`` is ``fence("seq_cst")``, ``__threadfence_block()`` has scope ``"block"``.
    """
    memory_fence(ordering, scope)


present(globals())
