"""Flags of ready kernels and algorithms: bools of Python and NumPy alone."""

from __future__ import annotations

import inspect
from typing import Any, cast

import numpy as np
import pytest

import weft.algorithm
import weft.kernels
from weft import LaunchError

ROOMS: tuple[Any, ...] = (weft.kernels, weft.algorithm)
FLAGS = [
    pytest.param(getattr(room, name), flag, id=f"{name}-{flag}")
    for room in ROOMS
    for name in room.__all__
    for flag, p in inspect.signature(getattr(room, name)).parameters.items()
    if p.annotation in ("bool", bool)
]
NO_FLAGS: list[Any] = ["no", 1, 0, None, [True], np.ones(1, bool)]


@pytest.mark.parametrize(("operation", "flag"), FLAGS)
def test_what_is_no_bool_is_refused(operation: Any, flag: str) -> None:
    x = np.zeros(4, np.float32)
    given = [p for p in inspect.signature(operation).parameters.values() if p.default is p.empty]
    for value in NO_FLAGS:
        with pytest.raises(LaunchError, match=f"{operation.__name__}: {flag} is .*") as caught:
            operation(*[x for _ in given], **{flag: value})
        assert f"write {flag}=True or {flag}=False" in str(caught.value)


def test_all_flags_are_known_here() -> None:
    known = {p.values[1] for p in FLAGS}
    assert {"keepdims", "causal", "add", "exclusive", "descending", "largest", "tf32"} <= known


def test_numpys_bools_are_flags() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yes, no = cast("list[Any]", [np.bool_(True), np.bool_(False)])
    kept, gone = weft.kernels.sum(x, 1, keepdims=yes), weft.kernels.sum(x, 1, keepdims=no)
    assert kept.shape == x.sum(1, keepdims=True).shape == (2, 1)
    assert gone.shape == (2,)
    weft.algorithm.scan(lambda a, b: a + b, x[0], x[0], np.float32(0), exclusive=yes)
    assert x[0].tolist() == [0, 0, 1]
