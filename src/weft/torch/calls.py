"""How an operation is called: by PyTorch's dispatcher, or, in ``torch.func``, as a function of its own.

The transforms of ``torch.func`` do not take the derivatives of the dispatcher's operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from weft.diagnostics import LaunchError, a_

Call = Callable[..., Any]
"""Calls an operation, which is named first."""
functions: dict[str, Any] = {}
"""By names of operations, what transforms take in their place: classes of ``torch.autograd.Function``."""


class _Loaded:
    torch: Any = None


_OF_ANOTHER_TYPE = re.compile(r"type '(\S+)' for argument '(\w+)' but instead found type '(\w+)'")
"""What the dispatcher says of an argument."""
_KINDS = {
    "int": "an int",
    "float": "a float",
    "bool": "a bool",
    "Tensor": "a tensor",
    "Optional[Tensor]": "a tensor or None",
    "List[int]": "ints",
}
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
    if torch.compiler.is_compiling():
        return dispatched(name, *args)
    try:
        if torch._C._are_functorch_transforms_active():
            return functions[name].apply(*args)
        return dispatched(name, *args)
    except RuntimeError as error:
        if told := _OF_ANOTHER_TYPE.search(str(error)):
            kind, argument, found = told.groups()
            message = f"weft.torch.{name}: {argument} takes {_KINDS.get(kind, kind)}, not {a_(found)}"
            raise LaunchError.here("argument-type", message, "convert it before", at=(argument, 0)) from None
        raise


def dispatched(name: str, *args: Any) -> Any:
    """By the dispatcher, as its own rule for a batch has to."""
    return getattr(loaded.torch.ops.weft, name)(*args)
