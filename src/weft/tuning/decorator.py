"""``@autotune``: kernels whose compile-time parameters are found out by measuring."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec

from weft.lang.decorators import Kernel
from weft.tuning.autotuner import Autotuner
from weft.tuning.config import Config, refuse
from weft.tuning.rules import Rules

P = ParamSpec("P")


def autotune(
    configs: Iterable[Mapping[str, Any]] | Mapping[str, Iterable[Any]],
    *,
    key: Iterable[str] | Mapping[str, Callable[[Any], Any] | None] = (),
    when: Callable[[Config], bool] | Callable[..., bool] | None = None,
    default: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    min_occupancy: float = 0.0,
    table: str | os.PathLike[str] | None = None,
    on_launch: bool = True,
    timeout: float = 10.0,
    isolated: bool = True,
    measure: Callable[[Config, Callable[[], object]], float] | None = None,
) -> Callable[[Kernel[P]], Autotuner[P]]:
    """A decorator above ``@kernel``: launches take the fastest of several configurations.

    The first launch of a class (a device, the types of the arguments, the values of the key) compiles the
    configurations, measures them on copies of the arguments in a process of its own, and remembers the
    fastest, in the cache too. ``grid_dim``, ``block_dim`` and other options of the launch may be functions of
    the configuration.

    Args:
        configs: a dict of lists, of which all combinations are meant, or a list of configurations. Names are
            those of compile-time parameters, or of launch options such as ``block_dim``.
        key: the run-time arguments by whose values, or extents, launches are of one class or of several;
            as a dict with a function that says what of the value counts.
        when: of a configuration (``config``) and of arguments by their names: whether it is worth a try.
        default: what is launched where nothing is known and nothing can be measured; or a function of
            arguments by their names that gives it. By default the first for which ``when`` holds.
        min_occupancy: on a GPU, the least share of a multiprocessor's threads that must be there at once.
        table: a file of choices that is shipped beside the kernel's, as ``weft tune`` writes it.
        on_launch: whether launches measure; otherwise ``tune`` and ``weft tune`` alone do.
        timeout: seconds that one configuration may take for a sample.
        isolated: whether to measure in a process of its own, which survives what hangs and faults.
        measure: what gives the seconds instead: called with the configuration, and with a function that
            launches it once, on copies.

    Raises:
        LaunchError: a name is no parameter, or the space is empty.

    Example:
        >>> from weft import Comptime, Float32, Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> from weft.tuning import autotune
        >>> @autotune({"EACH": [1, 2, 4], "block_dim": [64, 128]}, key=["n"])
        ... @kernel
        ... def double(x: Pointer[Float32], n: Int, *, EACH: Comptime[int]):
        ...     for i in range(global_idx.x * EACH, min(n, (global_idx.x + 1) * EACH)):
        ...         x[i] *= 2.0
        >>> len(double.configs)
        6
    """
    given = {
        "when": when,
        "default": default,
        "min_occupancy": min_occupancy,
        "table": table,
        "on_launch": on_launch,
        "timeout": timeout,
        "isolated": isolated,
        "measure": measure,
    }

    def made(kernel: Kernel[P]) -> Autotuner[P]:
        if not isinstance(kernel, Kernel) or isinstance(kernel, Autotuner):  # pyright: ignore[reportUnnecessaryIsInstance]
            name = getattr(kernel, "__name__", repr(kernel))
            refuse(
                f"@autotune stands above @kernel, and {name} is none", "write @autotune(...), then @kernel"
            )
        return Autotuner(kernel, Rules(kernel, configs, key, given))

    return made
