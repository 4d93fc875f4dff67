"""How an operation is called: by PyTorch's dispatcher, or, in ``torch.func``, as a function of its own.

The transforms of ``torch.func`` do not take the derivatives of the dispatcher's operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from weft.diagnostics import LaunchError, a_

Call = Callable[..., Any]
"""Calls an operation, which is named first."""
functions: dict[str, Any] = {}
"""By names of operations, what transforms take in their place: classes of ``torch.autograd.Function``."""


class _Loaded:
    torch: Any = None


loaded: type[_Loaded] = _Loaded
"""PyTorch, where it is installed."""


def call(name: str, *args: Any) -> Any:
    """An operation of such arguments, as ``torch.ops.weft`` has it.

    Raises:
        LaunchError: there is no PyTorch, an array is none of it, or the kernel refuses the arguments.
    """
    torch = loaded.torch
    if torch is None:
        hint = "install it: pip install torch"
        raise LaunchError.here("torch-op", "weft.torch needs PyTorch, which is not installed", hint)
    for given in args:
        each: tuple[Any, ...] = cast("Any", given) if type(given) is tuple else (given,)  # axes
        if not all(isinstance(one, (torch.Tensor, int, float, type(None))) for one in each):
            hint = f"pass torch.as_tensor(x); weft.kernels.{name} takes arrays of every library"
            found = f"weft.torch.{name} takes tensors of PyTorch, not {a_(type(cast('Any', given)).__name__)}"
            raise LaunchError.here("array-type", found, hint)
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        return functions[name].apply(*args)
    return dispatched(name, *args)


def dispatched(name: str, *args: Any) -> Any:
    """By the dispatcher, as its own rule for a batch has to."""
    return getattr(loaded.torch.ops.weft, name)(*args)
