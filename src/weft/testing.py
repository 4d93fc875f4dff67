"""Assertions about numbers and arrays, for tests of kernels. The names are Mojo's.

They take numbers, vectors, matrices, sequences, NumPy's arrays, weft's buffers and tensors (which are waited
for and copied), and other libraries' arrays. A failure says the shapes, how many elements differ, and which
do first and most. They are the host's: in a kernel write ``assert a == b``.

Example:
    >>> import numpy as np
    >>> from weft import Float32
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.testing import assert_almost_equal
    >>> ctx = DeviceContext(api="cpu")
    >>> x = ctx.enqueue_create_buffer(Float32, 4)
    >>> x.enqueue_fill(0.1)
    >>> assert_almost_equal(x, np.full(4, 0.1))
    >>> assert_almost_equal(x, [0.1, 0.1, 0.2, 0.1])
    Traceback (most recent call last):
    ...
    AssertionError: 1 of 4 elements of shape (4,) differ by more than 1e-05 of the expected and 1e-08
    the first at [2]: 0.1, expected 0.2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from weft.diagnostics import a_, refuse
from weft.diagnostics.hook import hush
from weft.diagnostics.modules import present
from weft.lang.elaboration import maybe_current
from weft.lang.fold import has_lanes
from weft.lang.number import Number
from weft.runtime.buffers import Buffer, DeviceBuffer

if TYPE_CHECKING:
    import numpy.typing as npt

__tracebackhide__ = True  # pytest shows the line of the test
__all__ = ["assert_almost_equal", "assert_equal", "assert_false", "assert_not_equal", "assert_true"]


def assert_true(value: Any, message: str = "") -> None:
    """Fail unless ``value`` is true; of an array, all of it."""
    array = _array(value)
    if not array.all():
        _fail(f"not true: {_where(array, ~array.astype(bool))}", message)


def assert_false(value: Any, message: str = "") -> None:
    """Fail unless ``value`` is false; of an array, all of it."""
    array = _array(value)
    if array.any():
        _fail(f"not false: {_where(array, array.astype(bool))}", message)


def assert_equal(found: Any, expected: Any, message: str = "") -> None:
    """Fail unless shapes and elements are equal; nan equals nan.

    Args:
        found: what there is.
        expected: what there should be; a number is compared with every element.
        message: said before all else.

    Raises:
        AssertionError: they differ.
    """
    a, b = _pair(found, expected, message)
    _compare(a, b, a != b, "differ", message)


def assert_not_equal(found: Any, expected: Any, message: str = "") -> None:
    """Fail if shapes and all elements are equal."""
    a, b = _array(found), _array(expected)
    if (a.shape == b.shape or not b.shape) and bool(((a == b) | _nans(a, b)).all()):
        _fail(f"equal, with shape {a.shape}: {a.ravel()[:8].tolist()}", message)


def assert_almost_equal(
    found: Any, expected: Any, message: str = "", *, atol: float = 1e-8, rtol: float = 1e-5
) -> None:
    """Fail unless ``abs(found - expected) <= atol + rtol * abs(expected)`` in every element; nan equals nan.

    Args:
        found: what there is.
        expected: what there should be; a number is compared with every element.
        message: said before all else.
        atol: the absolute tolerance.
        rtol: the relative one. The defaults are Mojo's and NumPy's.

    Raises:
        AssertionError: shapes differ, or elements by more than that.
    """
    import numpy as np

    a, b = _pair(found, expected, message)
    kind = np.result_type(a, b, np.float64)
    for side in (a, b):
        if side.dtype.kind not in "biufc":
            of = type(next(iter(side.flat), side)).__name__
            refuse(
                "argument-type",
                f"assert_almost_equal compares numbers, not {a_(of)}",
                "compare its parts, or write assert_equal",
            )
    x, y = a.astype(kind), b.astype(kind)
    with np.errstate(invalid="ignore"):  # infinities are near to nothing but themselves
        far = (x != y) & ~(np.isfinite(y) & (abs(x - y) <= atol + rtol * abs(y)))
        _compare(a, b, far, f"differ by more than {rtol:g} of the expected and {atol:g}", message)


def _pair(found: Any, expected: Any, message: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    import numpy as np

    a, b = _array(found), _array(expected)
    if not b.shape:
        b = np.broadcast_to(b, a.shape)
    if a.shape != b.shape:
        _fail(f"shape {a.shape}, expected {b.shape}", message)
    return a, b


def _compare(
    a: npt.NDArray[Any], b: npt.NDArray[Any], differ: npt.NDArray[Any], how: str, message: str
) -> None:
    import numpy as np

    wrong = np.asarray(differ) & ~_nans(a, b)
    count = int(np.count_nonzero(wrong))
    if not count:
        return
    lines = [f"{count} of {a.size} elements of shape {a.shape} {how}"] if a.shape else []
    places = np.argwhere(wrong)
    told = {tuple(places[0]): "the first"}
    if a.dtype.kind in "fiuc":
        distance = np.where(wrong, abs(a.astype(np.complex128) - b.astype(np.complex128)), -1.0)
        furthest = np.unravel_index(int(np.argmax(np.nan_to_num(distance, nan=np.inf))), a.shape)
        told.setdefault(tuple(furthest), "the furthest")
    for index, what in told.items():
        at = f"{what} at [{', '.join(str(int(n)) for n in index)}]: " if a.shape else ""
        lines.append(f"{at}{a[index]!s}, expected {b[index]!s}")
    _fail("\n".join(lines), message)


def _nans(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Any:
    return (a != a) & (b != b)


def _where(array: npt.NDArray[Any], wrong: npt.NDArray[Any]) -> str:
    if not array.shape:
        return str(array[()])
    index = tuple(int(n) for n in next(zip(*wrong.nonzero(), strict=True)))
    return f"{int(wrong.sum())} of {array.size} elements of shape {array.shape}, the first at {list(index)}"


def _fail(what: str, message: str) -> NoReturn:
    raise hush(AssertionError(f"{message}: {what}" if message else what))


def _array(value: Any) -> npt.NDArray[Any]:
    """A copy on the host, or the host's own memory."""
    import numpy as np

    if maybe_current() is not None and hasattr(cast("Any", type(value)), "__weft_spec__"):
        _only_after()
    view: Any = value.to_layout_tensor() if hasattr(value, "to_layout_tensor") else value
    storage: Any = getattr(view, "storage", view)
    if isinstance(storage, Buffer) and getattr(view, "element", None) is None:
        layout, memory = getattr(view, "layout", None), cast("Any", storage)
        if not isinstance(storage, DeviceBuffer):
            return _numbers(memory, layout)
        with memory.map_to_host() as host:
            return _numbers(host, layout)
    if hasattr(value, "layout") and hasattr(value, "numpy"):
        return np.array(value.numpy())
    if hasattr(value, "detach"):  # PyTorch
        return np.array(value.detach().cpu().numpy())
    array = np.asarray(value.get() if hasattr(value, "get") and hasattr(value, "device") else value)
    return array if array.dtype != object else _of_numbers(array)


def _of_numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same with weft's numbers as NumPy's: lanes are a further dimension, a struct stays what it is."""
    import numpy as np

    parts = [_plain(item) for item in array.flat]
    shapes = {np.shape(part) for part in parts}
    if len(shapes) != 1:
        return array
    made = np.array(parts)
    return made.reshape((*array.shape, *shapes.pop()))


def _plain(item: Any) -> Any:
    import numpy as np

    from weft.complex import ComplexSIMD

    if isinstance(item, ComplexSIMD):
        whole = cast("Any", item)
        return _plain(whole.re) + 1j * _plain(whole.im)
    if hasattr(cast("Any", type(item)), "__weft_rows__"):  # a matrix
        return np.array([[_plain(one) for one in row] for row in item.__weft_rows__()])
    if not isinstance(item, Number):
        return item
    if type(item.value) not in (bool, int, float, tuple):  # but the kernel's
        _only_after()
    lanes = item.value if has_lanes(item.value) or item.lanes == 1 else (item.value,) * item.lanes
    return np.array(lanes, item.dtype.name if item.dtype.in_numpy else None)


def _only_after() -> NoReturn:
    hint = "in a kernel write `assert a == b, message`; here, pass the memory that the kernel has written"
    refuse("host-only", "weft.testing compares on the host, when the kernel has run", hint)


def _numbers(host: Any, layout: Any) -> npt.NDArray[Any]:
    """A copy of what a host buffer holds, as numbers; a tensor's by its layout."""
    import numpy as np

    if layout is None or host.dtype.in_numpy:
        return np.array(host[:] if layout is None else host.tensor(layout).numpy())
    flat = host[:]  # of bfloat16 and of 8 bits, which a tensor gives as bits
    steps = [step * flat.itemsize for step in layout.stride]
    return np.lib.stride_tricks.as_strided(flat, tuple(layout.shape), steps).copy()


present(globals())
