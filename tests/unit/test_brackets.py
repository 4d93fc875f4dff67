"""Methods of a context that say what to write for Mojo's brackets are methods in all else."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from weft import CompileError, Float32
from weft.gpu.host import DeviceContext

BRACKETED = ["enqueue_function", "compile_function", "enqueue_create_buffer", "enqueue_create_host_buffer"]


@pytest.mark.parametrize("name", BRACKETED)
def test_a_method_is_one(name: str) -> None:
    ctx = DeviceContext(api="cpu")
    method, function = getattr(ctx, name), getattr(DeviceContext, name)
    assert (method.__name__, method.__self__, method.__func__) == (name, ctx, function)
    assert method.__doc__ == function.__doc__
    assert [*inspect.signature(method).parameters] == [*inspect.signature(function).parameters][1:]
    assert repr(method).startswith("<bound method ")
    with pytest.raises(AttributeError):
        method.nothing


@pytest.mark.parametrize("name", BRACKETED)
def test_brackets_are_told(name: str) -> None:
    method: Any = getattr(DeviceContext(api="cpu"), name)
    with pytest.raises(CompileError, match=f"what Mojo has in the brackets of {name} is its first argument"):
        method.__getitem__(Float32)


def test_a_subclass_calls_the_method_that_it_replaces() -> None:
    class Counting(DeviceContext):
        made = 0

        def enqueue_create_buffer(self, dtype: Any, size: Any) -> Any:
            self.made += 1
            return super().enqueue_create_buffer(dtype, size)

    ctx = Counting(api="cpu")
    assert len(ctx.enqueue_create_buffer(Float32, 4)) == 4
    assert ctx.made == 1
