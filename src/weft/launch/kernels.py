"""Which kernel is meant, where a launch or a compilation is given one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic

from weft.diagnostics import LaunchError, a_
from weft.lang.decorators import Func, Kernel, P
from weft.lang.launchable import AtLaunch
from weft.runtime.here import Here

if TYPE_CHECKING:
    from weft.launch.context import DeviceContext

__all__ = ["CompiledKernel", "as_kernel"]


class CompiledKernel(Here, Generic[P]):
    """A kernel made ready for one context by ``DeviceContext.compile_function``.

    Launch it with ``ctx.enqueue_function``; where its parameter types are not all known from their
    annotations, the first launch with given types compiles it for them.
    """

    instead = "send the kernel itself, `compiled.kernel`, and compile it there"

    def __init__(self, context: DeviceContext, kernel: Kernel[P]) -> None:
        self.context = context
        self.kernel = kernel

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> AtLaunch:
        """It is launched, by ``ctx.enqueue_function(compiled, ...)``; a call is refused."""
        return self.kernel(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<compiled {repr(self.kernel)[1:-1]} on {self.context.name}>"


def as_kernel(kernel: object) -> Kernel[...]:
    """The kernel that is meant; what ``functools.partial`` of one has by name is bound.

    Raises:
        LaunchError: it is something else, or a partial has arguments by position, whose place in a call
            nobody would see.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, CompiledKernel):
        return kernel.kernel
    if isinstance(kernel, partial):
        inner = as_kernel(kernel.func)
        if not kernel.args:
            return inner.bind(**kernel.keywords)
        name, first = inner.__name__, next(iter(inner.definition.names()), "x")
        message = f"this functools.partial of {name} has arguments by position"
        hint = f"give them at the launch, or by name, functools.partial({name}, {first}=...)"
        raise LaunchError.here("not-a-kernel", message, hint, at=("kernel", 0))
    name = getattr(kernel, "__name__", repr(kernel))
    message, hint = f"{a_(type(kernel).__name__)} is not a kernel", "pass a function decorated with @kernel"
    if isinstance(kernel, Func):
        message = f"{name} is a @func, which other functions call"
        hint = f"decorate {name} with @kernel to launch it"
    elif callable(kernel):
        message, hint = f"{name} is an ordinary Python function", f"decorate {name} with @kernel"
    raise LaunchError.here("not-a-kernel", message, hint, at=("kernel", 0))
