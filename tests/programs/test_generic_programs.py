"""Random generic kernels against the same kernels written for one type, and against NumPy."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from weft.gpu.host import DeviceContext

KINDS = {
    "Float32": np.float32,
    "Float64": np.float64,
    "Int32": np.int32,
    "Int": np.int64,
    "UInt8": np.uint8,
}
KERNEL = """
@func
def inner_{k}{kind}(u: {T}, v: {T}) -> {T}:
    return {inner}

@struct
class Two_{k}{kind}{base}:
    one: {T}
    two: {T}

    def folded(self, by: {T}) -> {T}:
        return {folded}

@kernel
def kernel_{k}{kind}(a: {T}, x: Pointer[{T}], n: Int):
    i = global_idx.x
    if i < n:
        b = x[i]
        c = {T}(3)
        x[i] = {outer}
"""
HEAD = """
from typing import Generic, TypeVar
from weft import *
from weft.gpu import global_idx

T = TypeVar("T", bound=Number)
"""
UNSHRUNK = (Phase.explicit, Phase.generate)
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@st.composite
def expressions(draw: st.DrawFn, names: str, depth: int) -> str:
    """Additions, subtractions and products, which every type has; no two literals meet, 1 - 2 is no UInt8."""
    if not depth or not draw(st.integers(0, 3)):
        return draw(st.sampled_from(names.split()))
    one = draw(expressions(names, depth - 1))
    two = draw(st.one_of(expressions(names, depth - 1), st.sampled_from(["1", "2"])))
    return f"({one} {draw(st.sampled_from('+-*'))} {two})"


@st.composite
def programs(draw: st.DrawFn) -> list[dict[str, str]]:
    """The expressions of some kernels; in each a type meets the literals."""
    return [
        {
            "inner": f"u + {draw(expressions('u v', 2))}",
            "folded": f"self.one * {draw(expressions('self.two by', 2))}",
            "outer": f"inner_{{k}}{{kind}}(a, {draw(expressions('b c', 2))} + b) - "
            f"Two_{{k}}{{kind}}(c + {draw(expressions('a b', 2))}, a + b).folded(c)",
        }
        for _ in range(1)
    ]


def written(k: int, kind: str, parts: dict[str, str]) -> str:
    """One kernel with what it calls: generic, or for a type."""
    named, t = (f"_{kind}", kind) if kind else ("", "T")
    outer = parts["outer"].format(k=k, kind=named)
    base = "" if kind else "(Generic[T])"
    return KERNEL.format(k=k, kind=named, T=t, base=base, **{**parts, "outer": outer})


def by_numpy(parts: dict[str, str], a: Any, x: Any) -> Any:
    """What the kernel makes of ``x``, in the type that it has; NumPy's literals take that type too."""
    scope: dict[str, Any] = {"a": a, "b": x, "c": np.full_like(x, 3)}

    def inner(u: Any, v: Any) -> Any:
        return eval(parts["inner"], {"u": u, "v": v})

    scope["inner"] = inner

    class Two:
        def __init__(self, one: Any, two: Any) -> None:
            self.one, self.two = one, two

        def folded(self, by: Any) -> Any:
            return eval(parts["folded"], {"self": self, "by": by})

    scope["Two"] = Two
    with np.errstate(over="ignore"):
        return eval(parts["outer"].replace("_{k}{kind}", ""), scope)


@settings(max_examples=3, deadline=None, phases=UNSHRUNK, suppress_health_check=QUIET)
@given(parts=programs())
def test_a_generic_kernel_is_the_kernel_of_each_type(
    device: DeviceContext, load: Any, parts: list[dict[str, str]]
) -> None:
    kinds = ["", *KINDS]
    module = load(HEAD + "".join(written(k, kind, one) for k, one in enumerate(parts) for kind in kinds))
    for k, one in enumerate(parts):
        for kind, dtype in KINDS.items():
            x = np.array([0, 1, 2, 5, 100, 37, 3, 8]).astype(dtype)
            made: list[Any] = []
            for name in (f"kernel_{k}", f"kernel_{k}_{kind}"):
                buffer = device.enqueue_create_buffer(dtype, 8)
                device.enqueue_copy(buffer, x)
                device.enqueue_function(getattr(module, name), 2, buffer, 8, over=8)
                result = np.zeros(8, dtype)
                device.enqueue_copy(result, buffer)
                device.synchronize()
                made.append(result)
            np.testing.assert_array_equal(made[0], made[1])
            expected = by_numpy(one, dtype(2), x)
            if device.api == "cpu" or not np.issubdtype(dtype, np.floating):
                np.testing.assert_array_equal(made[0], expected)
            else:
                np.testing.assert_allclose(made[0], expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())
