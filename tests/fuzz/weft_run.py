"""A program run by weft: its text in a file, its arguments in buffers."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from tests.fuzz.kinds import KINDS, of_bits
from tests.fuzz.machine import Outcome
from tests.fuzz.program import Argument, Program, weft_text

from weft import DeviceError
from weft.gpu.host import DeviceContext
from weft.layout import Layout

__all__ = ["Device", "load"]

_numbers = itertools.count()


def _elements(argument: Argument) -> npt.NDArray[Any]:
    """The elements of an argument, as memory holds them."""
    kind = KINDS[argument.kind]
    unsigned = np.array(argument.bits, f"uint{max(kind.bits, 8)}")
    return unsigned.view(kind.storage) if kind.bits > 1 else unsigned.astype(np.bool_)


def load(program: Program, folder: Path, apart: bool) -> ModuleType:
    """The module of a program, imported from a file."""
    path = folder / f"program_{next(_numbers)}.py"
    path.write_text(weft_text(program.text, apart), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Device:
    """Runs programs on one device; the context is a new one now and then, for what it keeps."""

    def __init__(self, api: str) -> None:
        self.api = api
        self.folder = tempfile.TemporaryDirectory(prefix="weft-fuzz-")
        self.context = DeviceContext(api=api)
        self.count = 0

    def run(self, program: Program) -> Outcome:
        """What the program gives.

        Raises:
            WeftError: it is refused.
        """
        self.count += 1
        if self.count % 200 == 0:
            self.context.close()
            self.context = DeviceContext(api=self.api)
        module = load(program, Path(self.folder.name), self.api != "cpu")
        ctx, buffers, given, fixed = self.context, dict[str, Any](), list[Any](), dict[str, Any]()
        for argument in program.arguments:
            if argument.form == "comptime":
                fixed[argument.name] = argument.value
            elif argument.form in ("pointer", "tensor"):
                array = _elements(argument)
                buffer = ctx.enqueue_create_buffer(KINDS[argument.kind].name.lower(), array.size)
                ctx.enqueue_copy(dst=buffer, src=array)
                buffers[argument.name] = buffer
                tensor = argument.form == "tensor"
                layout = Layout(tuple(argument.shape), tuple(argument.stride)) if tensor else None
                given.append(
                    buffer
                    if layout is None
                    else buffer.tensor(layout.dynamic() if argument.value else layout)
                )
            else:
                given.append(_host_value(argument, module))
        launch: dict[str, Any] = {
            name: tuple(cast("list[int]", v)) if isinstance(v, list) else v
            for name, v in program.launch.items()
        }
        out, failed = io.StringIO(), False
        with contextlib.redirect_stdout(out):
            ctx.enqueue_function(module.program, *given, **launch, **fixed)
            try:
                ctx.synchronize()
            except DeviceError as error:
                if "assertion failed" not in str(error):
                    raise
                failed = True
        arrays: dict[str, npt.NDArray[Any]] = {}
        for argument in program.arguments:
            if argument.name in buffers:
                arrays[argument.name] = np.empty_like(_elements(argument))
                ctx.enqueue_copy(dst=arrays[argument.name], src=buffers[argument.name])
        ctx.synchronize()
        del sys.modules[module.__name__]
        return Outcome(arrays, sorted(out.getvalue().splitlines()), failed)


def _host_value(argument: Argument, module: ModuleType) -> Any:
    def typed(name: str, bits: int) -> Any:
        value = of_bits(KINDS[name], bits)
        return getattr(module, name)(float(value) if KINDS[name].is_float else int(value))

    if argument.form == "scalar":
        return typed(argument.kind, argument.bits[0])
    fields = [typed(k, b) for k, b in zip(argument.kinds, argument.bits, strict=True)]
    return getattr(module, argument.kind)(*fields)
