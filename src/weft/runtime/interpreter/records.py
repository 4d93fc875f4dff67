"""Structs in memory, as a debugger shows them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from weft.dtype import DType


class Record:
    """The type of a struct in memory, made of its name and fields (``frontend/stepping.py``)."""

    in_numpy = True

    def __init__(self, name: str, fields: Any) -> None:
        self.name = name
        self.numpy = _as_numpy(fields, name)
        self.itemsize: int = self.numpy.itemsize


def element(dtype: Any) -> DType | Record:
    """The type of elements, of which code has the name, or that of a struct and its fields."""
    return getattr(DType, dtype) if isinstance(dtype, str) else Record(*dtype)


def _as_numpy(fields: Any, name: str = "") -> Any:
    """NumPy's type, with which fields are attributes, too."""
    if isinstance(fields, str):
        return np.dtype(fields)
    first: Any
    second: Any
    first, second = fields
    if isinstance(second, list):
        of: Any = _as_numpy(first), tuple(cast("list[int]", second))
        return np.dtype(of)
    each: dict[str, Any] = {name: (_as_numpy(kind), at) for name, (kind, at) in first.items()}
    kinds, places = [kind for kind, _ in each.values()], [at for _, at in each.values()]
    named: Any = {"names": [*each], "formats": kinds, "offsets": places, "itemsize": second}
    made: Any = type(name, (np.record,), {"__repr__": _shown})
    return np.dtype((made, np.dtype(named)))


def _shown(value: Any) -> str:
    return f"{type(value).__name__}{_told(value)}"


def _told(value: Any) -> str:
    """A value; of a struct its fields."""
    if not isinstance(value, np.record):
        return repr(value)
    names = cast("tuple[str, ...]", value.dtype.names)
    return f"({', '.join([f'{name}={_told(value[name])}' for name in names])})"
