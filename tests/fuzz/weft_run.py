"""A program run by weft: its text in a file, its arguments in buffers."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from tests.fuzz.kinds import KINDS, Kind, of_bits
from tests.fuzz.machine import Outcome
from tests.fuzz.program import Argument, Program, weft_text
from tests.fuzz.records import built, laid, part_of

from weft import DeviceError, WeftError
from weft.compiler import cache
from weft.compiler.pipeline import Compilation
from weft.gpu.host import DeviceContext
from weft.launch import extents
from weft.launch.ranges import OverPlan, plan_over
from weft.layout import Layout
from weft.memory import SoA
from weft.record import replace
from weft.runtime.cpu import native
from weft.runtime.driver import DeviceInfo
from weft.targets import TARGETS

__all__ = ["WAYS", "Device", "load"]

WAYS: dict[str, dict[str, Any]] = {
    "cpu": {"api": "cpu", "threads": 4},
    "threads": {"api": "cpu", "threads": 4},
    "checked": {"api": "cpu", "checked": True},
    "shuffled": {"api": "cpu", "schedule": 7},
    "checked-cuda": {"api": "cuda", "checked": True},
    "newer-cuda": {"api": "cuda"},
}
"""Ways to run a program, by the contexts' arguments; any other is an API. ``newer-cuda`` has PTX of a
version that some words ask for, of which LLVM makes other instructions.

What takes as little time as these programs runs on one thread where it is not forced to take several, which
``threads`` does: with the code that ``cpu`` had made.
"""
_PLAIN = {"checked": 16, "shuffled": 8}
"""Ways of which LLVM optimises, and the cache takes, one program in so many: what is theirs is what weft's
passes make. A checked kernel is five times as long as another; to optimise it takes as long as to make eight
as they stand.
"""
_key_of = cache.key_of
_SMALL: dict[str, float] = {name: vars(native)[name] for name in ("_SMALL", "_SMALL_SECONDS")}
_TARGETS = dict(TARGETS)
_NEWER = {n: replace(t, isa=max([t.isa, *t.isa_of.values()])) for n, t in TARGETS.items()}


def _elements(argument: Argument) -> npt.NDArray[Any]:
    """The elements of an argument, as memory holds them."""
    parts = [(path, _stored(KINDS[kind], bits)) for _, path, kind, bits in argument.parts()]
    if argument.record is None:
        return parts[0][1]
    made = np.zeros(parts[0][1].size, laid(argument.record))
    for path, numbers in parts:
        part_of(made, path)[...] = numbers
    return made


def _stored(kind: Kind, bits: list[int]) -> npt.NDArray[Any]:
    unsigned = np.array(bits, f"uint{max(kind.bits, 8)}")
    return unsigned.view(kind.storage) if kind.bits > 1 else unsigned.astype(np.bool_)


class _Modules:
    """The modules of the last texts, imported from files: ways of the same text share what is made of it."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="weft-fuzz-")
        self.last: dict[str, ModuleType] = {}
        self.numbers = itertools.count()

    def of(self, text: str) -> ModuleType:
        if text not in self.last:
            while len(self.last) > 1:
                del sys.modules[self.last.pop(next(iter(self.last))).__name__]
            self.last[text] = self.made(text)
        return self.last[text]

    def made(self, text: str) -> ModuleType:
        path = Path(self.folder.name) / f"program_{next(self.numbers)}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


_modules = _Modules()


_text = functools.lru_cache(2)(weft_text)
"""Ways share the text too."""


def load(program: Program, apart: bool) -> ModuleType:
    """The module of a program, imported from a file."""
    return _modules.of(_text(program.text, apart, program.brackets))


def _plan_with(each: tuple[int, int]) -> Callable[..., OverPlan]:
    """Plans in which each thread does so many elements, as for long ranges."""

    def plan(info: DeviceInfo, sizes: tuple[int, ...]) -> OverPlan:
        return replace(plan_over(info, sizes), per_thread=each)

    return plan


_contexts: dict[str, DeviceContext] = {}


def _context(arguments: dict[str, Any]) -> DeviceContext:
    key = repr(arguments)
    if key not in _contexts:
        devices = DeviceContext.number_of_devices(api=arguments["api"])
        _contexts[key] = DeviceContext(os.getpid() % devices, **arguments)  # workers take turns
    return _contexts[key]


def _no_key(_: Compilation) -> None:
    """The key of what the cache is not to keep."""


class Device:
    """Runs programs in one way."""

    def __init__(self, way: str) -> None:
        self.arguments = WAYS.get(way, {"api": way})
        self.apart = "cuda" in self.arguments["api"]
        self.small: dict[str, float] = dict.fromkeys(_SMALL, 0) if way == "threads" else _SMALL
        self.newer = way.startswith("newer")
        self.plain = _PLAIN.get(way, 1)

    def run(self, program: Program) -> Outcome:
        """What the program gives.

        Raises:
            WeftError: it is refused.
        """
        for name, value in self.small.items():
            setattr(native, name, value)
        TARGETS.update(_NEWER if self.newer else _TARGETS)
        module = load(program, self.apart)
        plain = program.seed % self.plain != 0
        level = {"opt_level": 0} if plain else {}
        cache.key_of = _no_key if plain else _key_of
        self.context = _context({**self.arguments, **level})
        ctx, buffers, given, fixed = self.context, dict[str, Any](), list[Any](), dict[str, Any]()
        for argument in program.arguments:
            if argument.form == "comptime":
                fixed[argument.name] = argument.value
            elif argument.memory:
                buffers[argument.name], value = self._uploaded(argument, module)
                given.append(value)
            else:
                given.append(_host_value(argument, module))
        launch: dict[str, Any] = {
            name: tuple(cast("list[int]", v)) if isinstance(v, list) else v
            for name, v in program.launch.items()
        }
        each = launch.pop("each", None)
        extents.plan_over = plan_over if each is None else _plan_with((each[0], each[1]))
        out, failed = io.StringIO(), False
        with contextlib.redirect_stdout(out):
            try:
                if "host" in launch:
                    module.program(ctx, *given, **fixed)
                else:
                    ctx.enqueue_function(module.program, *given, **launch, **fixed)
                # behind an assertion that fails, a power's too, there is nothing to be launched
                if "assert" in program.text or "**" in program.text:
                    ctx.synchronize()
                if hasattr(module, "again"):
                    ctx.enqueue_function(module.again, *given, **launch, **fixed)
                ctx.synchronize()
            except DeviceError as error:
                if "assertion failed" not in str(error) or {r.code for r in error.reports} - {
                    "device-assert"
                }:
                    raise
                failed = True
            except WeftError:  # of something behind what has been launched
                with contextlib.suppress(DeviceError):
                    ctx.synchronize()
                raise
        arrays: dict[str, npt.NDArray[Any]] = {}
        for argument in program.arguments:
            if argument.memory:
                found = self._downloaded(argument, buffers[argument.name])
                arrays |= {name: part_of(found, path) for name, path, _, _ in argument.parts()}
        return Outcome(arrays, sorted(out.getvalue().splitlines()), failed)

    def _uploaded(self, argument: Argument, module: ModuleType) -> tuple[Any, Any]:
        """A buffer of the elements, and what the kernel is given."""
        ctx, array = self.context, _elements(argument)
        if argument.host:
            return array, array
        kind = eval(argument.kind, vars(module))
        if argument.form == "soa":
            buffer: Any = SoA(ctx, kind, array.size)
            buffer.copy_from(array)
            return buffer, buffer
        buffer = ctx.enqueue_create_buffer(kind, array.size)
        ctx.enqueue_copy(dst=buffer, src=array)
        if argument.form != "tensor":
            return buffer, buffer
        layout = Layout(tuple(argument.shape), tuple(argument.stride))
        return buffer, buffer.tensor(layout.dynamic() if argument.value else layout)

    def _downloaded(self, argument: Argument, buffer: Any) -> npt.NDArray[Any]:
        if argument.form == "soa" or argument.host:
            return buffer if argument.host else buffer.numpy()
        array = np.empty_like(_elements(argument))
        self.context.enqueue_copy(dst=array, src=buffer)
        self.context.synchronize()
        return array


def _host_value(argument: Argument, module: ModuleType) -> Any:
    def typed(name: str, bits: int) -> Any:
        value = of_bits(KINDS[name], bits)
        return getattr(module, name)(float(value) if KINDS[name].is_float else int(value))

    numbers = [typed(kind, bits[0]) for _, _, kind, bits in argument.parts()]
    return numbers[0] if argument.record is None else built(argument.record, vars(module), iter(numbers))
