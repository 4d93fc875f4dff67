"""Functions of an element and its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from weft.algorithm.elements import (
    at,
    check_parameters,
    converted_to,
    flat,
    function_of,
    kind_of,
    put,
    readable,
)
from weft.algorithm.functional import over_of
from weft.algorithm.kernels import index_of
from weft.algorithm.places import RunsOn, overlap
from weft.algorithm.reduction import first_of
from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError, refuse
from weft.lang import Bool, Comptime, Int, kernel, struct
from weft.layout import LayoutTensor
from weft.math import max as greater
from weft.math import min as lesser

if TYPE_CHECKING:
    from weft.gpu.host import DeviceContext

__all__ = ["stencil"]
Mode = Literal["constant", "nearest", "wrap"]


@struct
class Neighbors:
    """An element, as the function of a stencil has it: ``x[0, 0]``, with its neighbours ``x[-1, 0]``, ..."""

    src: Any
    index: Any
    extents: Any
    cval: Any
    mode: Any

    def __getitem__(self, offsets: Any) -> Any:
        """The element so far away along each axis."""
        given = cast("tuple[Any, ...]", offsets if isinstance(offsets, tuple) else (offsets,))
        if len(given) != len(self.index):
            message = f"x[...] takes an offset for each of {len(self.index)} axes, not {len(given)}"
            refuse("argument-count", message, hint="write 0 along an axis where nothing moves")
        places, number, inside = (), Int(0), Bool(True)
        for i, offset, extent in zip(self.index, given, self.extents, strict=True):
            place = i + offset
            if self.mode == "wrap":
                place %= extent
            else:
                near = greater(lesser(place, extent - 1), Int(0))
                inside &= near == place
                place = near
            places, number = (*places, place), number * extent + place
        src: Any = self.src
        value = src[places] if isinstance(src, LayoutTensor) else at(src, number)
        return inside.select(value, self.cval) if self.mode == "constant" else value


@kernel
def neighborhoods(
    func: Callable[..., Any], src: Any, dst: Any, extents: Any, cval: Any, *, mode: Comptime[str]
):
    """What a function gives for each element and its neighbours."""
    check_parameters(func, 1, "stencil", "the neighbourhood: x[-1, 0] is the element above")
    index, number = index_of(extents), Int(0)
    for i, extent in zip(index, extents, strict=True):
        number = number * extent + i
    put(dst, number, converted_to(type(cval), func(Neighbors(src, index, extents, cval, mode))))


@planned_but("dst")
def stencil(
    func: Callable[[Any], Any],
    src: Any,
    dst: Any,
    *,
    mode: Mode = "constant",
    cval: float = 0,
    context: DeviceContext | None = None,
) -> None:
    """Write to ``dst`` what ``func`` gives for each element of ``src`` and its neighbours.

    Args:
        func: of the neighbourhood ``x``, whose elements are named by how far they are from the one at hand,
            along each axis: ``x[0, 0]`` is that, ``x[-1, 0]`` the one above. What it captures becomes
            arguments of the launch.
        src: a buffer, tensor or array of numbers.
        dst: other memory of the same shape and type.
        mode: what lies beyond the edge, as ``scipy.ndimage`` calls it: ``"constant"`` is ``cval``,
            ``"nearest"`` the element at the edge, ``"wrap"`` goes on at the other end.
        cval: a number.
        context: where it runs; without it, where the memory lies.

    Raises:
        LaunchError: an argument is wrong.
        CompileError: ``func`` cannot be compiled, or its result is of another type.

    Example:
        >>> import numpy as np
        >>> from weft.algorithm import stencil
        >>> heat, after = np.zeros((3, 4)), np.empty((3, 4))
        >>> heat[1, 1] = 4
        >>> stencil(lambda x: (x[-1, 0] + x[1, 0] + x[0, -1] + x[0, 1]) / 4, heat, after)
        >>> after
        array([[0., 1., 0., 0.],
               [1., 0., 1., 0.],
               [0., 1., 0., 0.]])
    """
    kind, other = kind_of(src, "src", 1), kind_of(dst, "dst", 2, writes=True)
    shape, to = [tuple(getattr(x, "shape", None) or (len(x),)) for x in (src, dst)]
    if to != shape or other is not kind:
        message = f"stencil: dst is of {other.__name__} and shape {to}, src of {kind.__name__} and {shape}"
        raise LaunchError.here("argument-type", message, "give both one type and shape", at=("dst", 2))
    if mode not in get_args(Mode):
        message = f"stencil: mode is {mode!r}"
        hint = f"write one of {', '.join(get_args(Mode))}"
        raise LaunchError.here("argument-type", message, hint, at=("mode", 3))
    beyond, func, src = first_of("cval", cval, kind), function_of(func), readable(src)
    if prod(shape) and overlap(src, dst):
        message = "stencil: dst is the memory of src, whose neighbours are still to be read"
        raise LaunchError.here(
            "argument-type", message, "write to other memory, and exchange both", at=("dst", 2)
        )
    with RunsOn(src, dst, func, context=context) as place:
        if prod(shape):
            named: dict[str, Any] = {"func": func, "src": flat(src), "dst": flat(dst), "extents": shape}
            place.launch_over(neighborhoods, over_of(shape), cval=beyond, mode=mode, **named)
