"""The contexts of this process: all that are open, and the one in which functions run that Python calls."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from weft.compiler.source.definition import Definition
from weft.lang import remembered
from weft.lang.decorators import Func
from weft.launch.variants import forget_variants

if TYPE_CHECKING:
    from weft.launch.context import DeviceContext

open_contexts: weakref.WeakSet[DeviceContext] = weakref.WeakSet()
"""All that there are."""
_cpu: DeviceContext | None = None


def forget(function: Definition) -> None:
    """Drop what was compiled of a function, in all contexts."""
    gone = {id(made.function) for made in forget_variants(function)}
    remembered.forget(function)
    for context in list(open_contexts):
        if context._native is not None:  # pyright: ignore[reportPrivateUsage]
            context._native.drop(lambda launch: id(launch.function) in gone)  # pyright: ignore[reportPrivateUsage]


def cpu_context() -> DeviceContext:
    """The context in which @funcs run that Python calls."""
    global _cpu
    if _cpu is None:
        from weft.launch.context import DeviceContext

        _cpu = DeviceContext(api="cpu")
    return _cpu


def call_on_cpu(func: Func[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Run a @func compiled for this machine's CPU, in one thread, and wait for its result.

    Raises:
        CompileError, LaunchError: as for a kernel.
    """
    from weft.launch.host_call import host_call

    return host_call(cpu_context(), func, args, kwargs)
