"""``@tile_kernel``: kernels whose blocks have as many threads as they say themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Never, ParamSpec

from weft.diagnostics import LaunchError, refuse
from weft.lang.decorators import Kernel, defined, of_threads

__all__ = ["TileKernel", "tile_kernel"]

P = ParamSpec("P")
LEAST, MOST = 32, 1024


class TileKernel(Kernel[P]):
    """A kernel that is launched with blocks of as many threads as it was made for; see ``tile_kernel``."""

    tuned = True  # launched by ``launch``

    def __init__(self, plain: Kernel[P], threads: int) -> None:
        super().__init__(plain.definition, plain.bound)
        self.plain = plain
        self.threads = threads
        """The threads of a block."""

    def __reduce__(self) -> tuple[Any, ...]:
        made = super().__reduce__()
        return made if made[0] is not type(self) else (TileKernel, (self.plain, self.threads))

    def bind(self, **values: Any) -> Kernel[...]:
        """The kernel with compile-time parameters given."""
        return TileKernel(self.plain.bind(**values), self.threads)

    def for_blocks(self, threads: int) -> TileKernel[P]:
        """The kernel made for blocks of so many threads.

        Raises:
            CompileError: no tile kernel has as many.
        """
        if threads == self.threads:
            return self
        checked(threads)
        return TileKernel(Kernel(of_threads(self.definition, threads), self.bound), threads)

    def launch(self, ctx: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """What ``ctx.enqueue_function`` does with it."""
        given = {name: value for name, value in named.items() if value is not None}
        block = given.pop("block_dim", self.threads)
        if block != self.threads:
            raise LaunchError.here(
                "tile-kernel",
                f"{self.__name__} is a tile kernel of {self.threads} threads, not of block_dim={block}",
                f"leave out block_dim=, or write @tile_kernel(threads={block}) above it",
                at=("block_dim", 9),
            )
        if "over" in given:
            raise LaunchError.here(
                "tile-kernel",
                f"{self.__name__} is a tile kernel, of which a block makes a tile, not a thread an element",
                "write grid_dim=..., how many tiles there are",
                at=("over", 9),
            )
        if "grid_dim" not in given:
            message = f"the launch of {self.__name__} does not say grid_dim"
            hint = "write grid_dim=..., how many tiles there are, of which a block makes one"
            raise LaunchError.here("launch-extents", message, hint)
        ctx.enqueue_function(self.plain, *args, block_dim=self.threads, **given)


def tile_kernel(*given: Never, threads: int = 128) -> Callable[[Callable[P, None]], TileKernel[P]]:
    """Make a function a kernel that is written for a tile: what a block does, with ``weft.tile``.

    It is a kernel like any other, with ``thread_idx``, ``barrier()`` and shared memory, whose blocks have a
    number of threads that is known when it is compiled. Launches give ``grid_dim`` alone.

    Args:
        given: nothing; ``@tile_kernel`` is written with parentheses.
        threads: of a block: 32, 64, 128, 256, 512 or 1024.

    Raises:
        CompileError: ``threads`` is something else.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, tile
        >>> from weft.gpu import block_idx
        >>> from weft.gpu.host import DeviceContext
        >>> from weft.layout import LayoutTensor
        >>> @tile_kernel(threads=64)
        ... def double(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
        ...     tile.store(out, block_idx.x, 2.0 * tile.load(x, block_idx.x, 256))
        >>> x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
        >>> ctx = DeviceContext(api="cpu")
        >>> ctx.enqueue_function(double, x, out, grid_dim=2)
        >>> ctx.synchronize()
        >>> print(out[-2:])
        [596. 598.]
    """
    if given:
        refuse(
            "decorator",
            "@tile_kernel is written with parentheses",
            hint="write @tile_kernel(threads=128), or @tile_kernel()",
        )
    checked(threads)

    def made(fn: Callable[P, None]) -> TileKernel[P]:
        return TileKernel(Kernel(defined(fn, "tile_kernel", threads=threads), {}), threads)

    return made


def checked(threads: int) -> None:
    """Whether a tile kernel may have so many threads.

    Raises:
        CompileError: it may not.
    """
    if type(threads) is not int or not LEAST <= threads <= MOST or threads & (threads - 1):
        refuse(
            "tile-kernel",
            f"threads={threads!r}: a tile kernel has blocks of 32, 64, 128, 256, 512 or 1024 threads",
            hint="write @tile_kernel(threads=256), say",
        )
