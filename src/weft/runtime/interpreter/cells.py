"""The interpreter's memory with a witness: what a line reads and writes, by the names of variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any

import numpy as np

from weft.dtype import DType
from weft.runtime.interpreter.machine import load, nbytes, store
from weft.runtime.interpreter.views import Elements

_LONGEST = 72
"""Characters of a value."""
_FLOATS_FROM = 1 << 12
"""The address of the first element of the arrays of floats."""
_FAR = 1 << 31
"""Bytes from the beginning of a pointer within which an address is told by it."""


class Touched:
    """Who accesses memory now: the notes of its line, None where nobody follows it, and its frame."""

    def __init__(self) -> None:
        self.step: list[str] | None = None
        self.frame: FrameType | None = None

    def tell(self, what: str, kind: str, address: int, value: Any) -> None:
        """Note an access."""
        if self.step is not None and self.frame is not None:
            self.step.append(f"{what} {_spelt(self.frame, kind, address, value)}")


class _Cells:
    """All memory as an array of one type, which tells of each access."""

    def __init__(self, kind: str, cells: Any, touched: Touched) -> None:
        self._kind, self._cells, self._touched = kind, cells, touched
        self._size = nbytes(kind)
        self._first = _FLOATS_FROM if kind[0] == "f" else 0

    def __getitem__(self, index: int) -> Any:
        value = self._cells[index]
        self._touched.tell("reads", self._kind, self._first + index * self._size, value)
        return value

    def __setitem__(self, index: int, value: Any) -> None:
        self._cells[index] = value
        self._touched.tell("writes", self._kind, self._first + index * self._size, value)


def told_cells(names: Mapping[str, Any], touched: Touched) -> dict[str, Any]:
    """In place of a module's memory (``__mem_f32``, ``__load`` and the like) such as tells of accesses."""

    def told_load(kind: str, address: int, lanes: int = 1) -> Any:
        value = load(kind, address, lanes)
        touched.tell("reads", kind, address, value)
        return value

    def told_store(kind: str, address: int, value: Any, lanes: int = 1) -> None:
        store(kind, address, value, lanes)
        touched.tell("writes", kind, address, value)

    found: dict[str, Any] = {
        name: _Cells(name.removeprefix("__mem_"), cells, touched)
        for name, cells in names.items()
        if name.startswith("__mem_")
    }
    calls: dict[str, Callable[..., Any]] = {"__load": told_load, "__store": told_store}
    return {**found, **calls}


def of_kernel(code: CodeType) -> bool:
    """Whether code is what the interpreter runs for a kernel's thread."""
    return code.co_varnames[:1] == ("__t",)


def _spelt(frame: FrameType, kind: str, address: int, value: Any) -> str:
    """``a[3] = 2.0``: the element that a variable of the frame, or of one around it, begins before."""
    around: FrameType | None = frame
    while around is not None and of_kernel(around.f_code):
        near = [base for base in map(_base, around.f_locals.items()) if base is not None]
        near = [base for base in near if 0 <= address - base[1] < _FAR]
        for name, start, dtype, shape, strides in sorted(near, key=lambda base: -base[1]):
            index = _index(address - start, dtype.itemsize, shape, strides)
            if index is not None:
                return f"{name}[{index}] = {shown(_as_element(dtype, kind, value))}"
        around = around.f_back
    return f"{kind} at {address:#x} = {shown(value)}"


_Base = tuple[str, int, DType, tuple[int, ...], tuple[int, ...]]


def _base(variable: tuple[str, Any]) -> _Base | None:
    """Where the memory of a variable begins: a pointer's has no extents."""
    name, value = variable
    kind = value.__class__
    if kind is Elements:
        return (name, value.address, value.dtype, (), ()) if isinstance(value.dtype, DType) else None
    if kind is not np.ndarray or name[:2] == "__" or value.dtype.name not in _KNOWN:
        return None
    start = value.__array_interface__["data"][0]
    return name, start, getattr(DType, value.dtype.name), value.shape, value.strides


_KNOWN = frozenset(
    {"float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))}
)


def _index(offset: int, size: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> str | None:
    """The index of the element so many bytes from the beginning; None where there is none."""
    if not shape:
        return None if offset % size else str(offset // size)
    found = [0] * len(shape)
    for axis in sorted(range(len(shape)), key=lambda axis: -strides[axis]):
        if strides[axis] > 0:
            found[axis] = min(offset // strides[axis], shape[axis] - 1)
            offset -= found[axis] * strides[axis]
    return None if offset else ", ".join(map(str, found))


def _as_element(dtype: DType, kind: str, value: Any) -> Any:
    """A value as elements of that type have it: cells are numbers with a sign, and bits of short floats."""
    if isinstance(value, int) and dtype.name.startswith("uint"):
        return value & (1 << 8 * dtype.itemsize) - 1
    if dtype.name == "bfloat16" and kind == "i16":
        return np.uint32((int(value) & 0xFFFF) << 16).view(np.float32)
    return value


def shown(value: object) -> str:
    """A value as a line shows it."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"{getattr(value, 'dtype', 'array')} of {' x '.join(map(str, shape))}"
    number = getattr(value, "item", None)
    text = repr(value if number is None else number())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
