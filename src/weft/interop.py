"""Arrays of other libraries in kernels, and kernels in other libraries.

A kernel takes PyTorch, CuPy, JAX and NumPy arrays, and whatever has ``__dlpack__`` or
``__cuda_array_interface__``, where its parameter is a ``Pointer`` or a ``LayoutTensor``; nothing of this
module is needed for that. It has what is beyond: arrays as tensors and memory of the host program, and
kernels as operations of PyTorch. The guide says how streams are ordered.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_origin

from weft.diagnostics import LaunchError, a_
from weft.diagnostics.modules import present
from weft.foreign.adopt import tensor_of, view
from weft.foreign.arrays import ForeignArray
from weft.foreign.read import Unreadable, reader_of
from weft.lang.decorators import Kernel
from weft.lang.number import Number
from weft.lang.pointer import Pointer
from weft.lang.signature import Parameter, parameters
from weft.launch.context import DeviceContext
from weft.layout import LayoutTensor

__all__ = ["as_buffer", "as_tensor", "torch_op"]


def as_tensor(array: Any, *, dynamic: bool = False) -> LayoutTensor[Any]:
    """An array of another library as a tensor over the same memory: its shape and strides are the layout.

    Kernels take it, also as a field of a struct. On the host its elements are read and written where the
    array is the host's.

    Args:
        array: a PyTorch, CuPy, JAX or NumPy array, or another with DLPack or ``__cuda_array_interface__``.
        dynamic: whether extents and strides are given to kernels at run time, so that one compiled
            kernel serves arrays of all sizes.

    Raises:
        LaunchError: this is no such array, or its memory cannot be used.

    Example:
        >>> import numpy as np
        >>> array = np.arange(6.0).reshape(2, 3)
        >>> as_tensor(array.T)[2, 1]
        np.float64(5.0)
    """
    found = _read(array)
    if min(found.strides, default=0) < 0:
        raise LaunchError.here(
            "array-strides",
            f"{found.describe()} has strides {found.strides}, of which one is below 0",
            f"pass {found.advice.contiguous}",
        )
    tensor = tensor_of(found)
    if not dynamic:
        return tensor
    return view(found, tensor.layout.dynamic(), 1)


def as_buffer(array: Any) -> ForeignArray:
    """The memory of another library's contiguous array, as what a Pointer of a struct or a layout takes.

    Args:
        array: as for ``as_tensor``.

    Raises:
        LaunchError: this is no such array, or it is not contiguous.

    Example:
        >>> import numpy as np
        >>> from weft.layout import Layout, LayoutTensor
        >>> LayoutTensor(as_buffer(np.arange(6.0)), Layout.row_major(2, 3))[1, 0]
        np.float64(3.0)
    """
    found = _read(array)
    if not found.is_row_major:
        raise LaunchError.here(
            "array-strides",
            f"{found.describe()} with shape {found.shape} and strides {found.strides} is not contiguous",
            f"pass {found.advice.contiguous}, or use as_tensor, which honours strides",
        )
    return found


def _read(array: Any) -> ForeignArray:
    read = reader_of(array)
    if read is None:
        raise LaunchError.here(
            "array-type",
            f"{a_(type(array).__name__)} is no array of another library",
            "pass what has __dlpack__ or __cuda_array_interface__, such as a NumPy array",
            at=("array", 0),
        )
    try:
        return read(array)
    except Unreadable as found:
        raise LaunchError.here("array-type", f"this is {found.found}", found.hint, at=("array", 0)) from None


# -- operations of PyTorch ----------------------------------------------------------------------------
Choice = str | Callable[..., Any]
_SCHEMA = {
    "bool": "bool",
    "int": "SymInt",
    "uint": "SymInt",
    "float": "float",
    "bfloat": "float",
    "float8": "float",
}


def torch_op(
    name: str,
    kernel: Kernel[...],
    *,
    out: Mapping[str, Choice] | None = None,
    mutates: Sequence[str] = (),
    over: Choice | None = None,
    grid_dim: Any = None,
    block_dim: Any = None,
) -> Any:
    """A kernel as an operation of PyTorch, which ``torch.compile`` takes as it stands.

    The operation takes the kernel's parameters but those of ``out``, in their order: tensors where the
    kernel takes a Pointer or a LayoutTensor, numbers else. It gives the tensors of ``out``: one, or a
    tuple. On the CPU it has ended when the call returns, as PyTorch's own do.

    Args:
        name: ``"library::operation"``.
        kernel: its compile-time parameters must be bound.
        out: the tensors that are made for the kernel to write, by parameter: the name of a tensor
            parameter, for one of the same shape and type, or a function that is given the operation's
            arguments by name and makes one (``torch.empty`` ...); it is used in tracing too.
        mutates: the tensor parameters that the kernel writes besides.
        over: the range to launch over: the name of a tensor, for its shape, or a function that is given
            all arguments by name.
        grid_dim: instead of ``over``, with ``block_dim``: as for a launch, or such a function.
        block_dim: likewise.

    Returns:
        What ``torch.library.custom_op`` makes; ``register_autograd`` gives it a derivative.

    Raises:
        LaunchError: PyTorch is not imported, or the kernel has parameters that an operation cannot have.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise LaunchError.here("torch-op", "torch_op needs PyTorch", "write `import torch` before")
    op = _Operation(torch, kernel, dict(out or {}), tuple(mutates), (over, grid_dim, block_dim))
    made = torch.library.custom_op(name, op.run, mutates_args=op.mutates, schema=op.schema())
    made.register_fake(op.fake)
    return made


class _Operation:
    """A kernel behind an operation of PyTorch: what it takes, makes and gives."""

    def __init__(
        self,
        torch: Any,
        kernel: Kernel[...],
        made: dict[str, Choice],
        mutates: tuple[str, ...],
        extents: tuple[Choice | None, Any, Any],
    ) -> None:
        self.torch = torch
        self.kernel = kernel
        self.made = made
        self.mutates = mutates
        self.over, self.grid_dim, self.block_dim = extents
        self.free = [p for p in parameters(kernel.definition) if not p.comptime]
        self.given = [p.name for p in self.free if p.name not in made]
        unknown = [n for n in (*made, *mutates) if n not in {p.name for p in self.free}]
        if unknown:
            raise LaunchError.here(
                "torch-op", f"{kernel.__name__} has no parameter `{unknown[0]}`", "check the name"
            )

    def schema(self) -> str:
        """The signature in PyTorch's words."""
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        taken = [
            f"{_torch_type(p, next(letters) if p.name in self.mutates else None)} {p.name}"
            for p in self.free
            if p.name in self.given
        ]
        tensors = ", ".join(["Tensor"] * len(self.made))
        return f"({', '.join(taken)}) -> {tensors if len(self.made) == 1 else f'({tensors})'}"

    def make(self, arguments: dict[str, Any]) -> Any:
        """Add the tensors of ``out`` to the arguments; what the operation gives."""
        given = {n: arguments[n] for n in self.given}
        for n, like in self.made.items():
            if isinstance(like, str):
                form = self.torch.contiguous_format
                arguments[n] = self.torch.empty_like(arguments[like], memory_format=form)
            else:
                arguments[n] = like(**given)
        tensors = tuple(arguments[n] for n in self.made)
        return None if not tensors else tensors[0] if len(tensors) == 1 else tensors

    def fake(self, *args: Any) -> Any:
        """What tracing sees: the tensors, and no launch."""
        return self.make(dict(zip(self.given, args, strict=True)))

    def run(self, *args: Any) -> Any:
        """Launch, where the tensors are."""
        arguments = dict(zip(self.given, args, strict=True))
        result = self.make(arguments)
        over = self.over
        extents = tuple(arguments[over].shape) if isinstance(over, str) else _choose(over, arguments)
        array = _read(next(a for a in arguments.values() if hasattr(a, "device")))
        ctx = _context(array.api or "cpu", array.device_id or 0)
        ctx.enqueue_function(
            self.kernel,
            *[arguments[p.name] for p in self.free],
            over=extents,
            grid_dim=_choose(self.grid_dim, arguments),
            block_dim=_choose(self.block_dim, arguments),
        )
        if ctx.info.shares_host:
            ctx.synchronize()
        return result


def _choose(choice: Any, arguments: dict[str, Any]) -> Any:
    return choice(**arguments) if callable(choice) else choice


def _torch_type(p: Parameter, alias: str | None) -> str:
    origin: Any = get_origin(p.annotation) or p.annotation
    if isinstance(origin, type):
        if issubclass(origin, (Pointer, LayoutTensor)):
            return "Tensor" if alias is None else f"Tensor({alias}!)"
        if issubclass(origin, Number) and origin.lanes == 1:
            return _SCHEMA[origin.dtype.kind]
    raise LaunchError.here(
        "torch-op",
        f"the parameter `{p.name}` is of a type that no operation of PyTorch has",
        "take tensors and numbers, and bind what is Comptime before",
    )


@functools.cache
def _context(api: str, device_id: int) -> DeviceContext:
    return DeviceContext(device_id, api=api)


present(globals())
