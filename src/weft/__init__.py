"""weft: GPU programming in Python.

The names that programs use most; the rest lives in ``weft.gpu``, ``weft.gpu.host``, ``weft.layout``,
``weft.math``, ``weft.memory``, ``weft.atomic``, ``weft.compile`` and ``weft.sys``. Importing weft loads
neither LLVM nor NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler import started as started  # before all else
from weft.diagnostics import (
    CompileError,
    CompileWarning,
    DeviceError,
    LaunchError,
    PerformanceWarning,
    WeftError,
    advised_by,
)
from weft.diagnostics.modules import present, tell_of_modules
from weft.dtype import DType
from weft.lang import (
    Comptime,
    Func,
    InlineArray,
    Kernel,
    Pointer,
    constrained,
    func,
    iota,
    kernel,
    scalars,
    struct,
    unroll,
)
from weft.lang.above import provide
from weft.lang.scalars import *

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from weft import algorithm as algorithm
    from weft import atomic as atomic
    from weft import benchmark as benchmark
    from weft import bit as bit
    from weft import compile as compile
    from weft import complex as complex
    from weft import config as config
    from weft import diagnostics as diagnostics
    from weft import dtype as dtype
    from weft import ffi as ffi
    from weft import gpu as gpu
    from weft import interop as interop
    from weft import kernels as kernels
    from weft import lang as lang
    from weft import layout as layout
    from weft import linalg as linalg
    from weft import math as math
    from weft import memory as memory
    from weft import numerics as numerics
    from weft import random as random
    from weft import sys as sys
    from weft import tensor as tensor
    from weft import testing as testing
    from weft import tile as tile
    from weft import torch as torch
    from weft import tuning as tuning
    from weft.build.ahead import precompile
    from weft.compiler.source.definition import Definition
    from weft.sys import has_accelerator
    from weft.tensor import Tensor, accelerator, cpu
    from weft.tuning import Config, autotune

__all__ = [
    "CompileError",
    "CompileWarning",
    "Comptime",
    "Config",
    "DType",
    "DeviceError",
    "Func",
    "InlineArray",
    "Kernel",
    "LaunchError",
    "PerformanceWarning",
    "Pointer",
    "Tensor",
    "WeftError",
    "__version__",
    "accelerator",
    "autotune",
    "constrained",
    "cpu",
    "func",
    "has_accelerator",
    "iota",
    "kernel",
    "precompile",
    "struct",
    "unroll",
]
__all__ += scalars.__all__

__version__ = "0.1.0"

_LATER = {
    "Config": "weft.tuning",
    "Tensor": "weft.tensor",
    "accelerator": "weft.tensor",
    "autotune": "weft.tuning",
    "cpu": "weft.tensor",
    "has_accelerator": "weft.sys",
    **{
        room: f"weft.{room}"
        for room in "algorithm atomic benchmark bit compile complex config diagnostics dtype ffi gpu interop "
        "kernels lang layout linalg math memory numerics random sys tensor testing tile torch tuning".split()
    },
    "precompile": "weft.build.ahead",
}
"""Names whose modules are loaded when they are first used, and the modules that are public."""

_HOST = frozenset(("build", "runtime", "launch", "tensor", "tuning", "compile", "benchmark", "interop"))
"""Rooms whose functions and objects a kernel's body cannot use."""


class _Rooms:
    """What the language asks of the rooms above it, each loaded when it is asked."""

    def call(self, func: Func[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        from weft.launch.contexts import call_on_cpu

        return call_on_cpu(func, args, kwargs)

    def cpu(self) -> Any:
        from weft.launch.contexts import cpu_context

        return cpu_context()

    def forget(self, definition: Definition) -> None:
        from sys import modules

        if "weft.launch.contexts" in modules:  # else there was no launch yet
            from weft.launch.contexts import forget

            forget(definition)

    def pow(self, x: Any, y: Any) -> Any:
        from weft.math import pow

        return pow(x, y)

    def exporter(self, name: str) -> str:
        from weft import (
            atomic,
            benchmark,
            bit,
            complex,
            gpu,
            lang,
            layout,
            linalg,
            math,
            memory,
            numerics,
            random,
        )
        from weft.gpu import block, host, warp

        if name in __all__:
            return "weft"
        rooms = (gpu, memory, layout, atomic, math, linalg, complex, lang, host, benchmark)
        rooms += (bit, random, numerics, warp, block)
        inner = {room.__name__.rpartition(".")[2]: room.__name__.rpartition(".")[0] for room in rooms}
        return next((room.__name__ for room in rooms if name in room.__all__), inner.get(name, ""))

    def on_host(self, module: str) -> bool:
        from weft.runtime import dim

        return not _HOST.isdisjoint(module.split(".")[1:2]) and module != dim.__name__


def _advice(name: str, asked: str) -> str | None:
    from weft.compiler.frontend.names import advice

    return advice(name, asked)


def _advice_on_import(name: str) -> str:
    from weft.compiler.frontend.names_of_mojo import advice_on_import

    return advice_on_import(name)


provide(_Rooms())
advised_by(_advice, _advice_on_import)
tell_of_modules()


present(globals(), _LATER)
