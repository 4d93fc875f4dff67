"""Triton, stopped at PTX, so that the assembler that follows it does not count."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from common import missing, run

SOURCE = Path(__file__).parent / "seven_triton.py"
POINTER, INT = "*fp32", "i32"
_numbers = itertools.count()

SIGNATURES: dict[str, tuple[str, str, dict[str, int], int]] = {
    "scale": ("a", "n", {"B": 256}, 8),
    "vadd": ("a b c", "n", {"B": 256}, 8),
    "gray": ("rgb out", "h w", {"B": 256}, 8),
    "box": ("src out", "h w", {"F": 2, "B": 256}, 8),
    "mm_naive": ("a b c", "M N K", {"B": 256}, 8),
    "mm_tiled": ("a b c", "M N K", {"B": 16}, 4),
    "bsum": ("src out", "n", {"B": 256}, 8),
    "softmax": ("src out", "cols", {"B": 256}, 8),
}
"""Pointers, integers, compile-time values, warps."""


def fresh_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"seven_triton_{next(_numbers)}", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def stop_at_ptx(backend: Any) -> None:
    """Take the last stage away."""
    add_stages, init = backend.add_stages, backend.__init__

    def fewer(self: Any, stages: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        add_stages(self, stages, *args, **kwargs)
        stages.pop("cubin")

    def made(self: Any, target: Any) -> None:
        init(self, target)
        self.binary_ext = "ptx"

    backend.add_stages, backend.__init__, backend.binary_ext = fewer, made, "ptx"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        os.environ["TRITON_ALWAYS_COMPILE"] = "1"
        try:
            triton: Any = importlib.import_module("triton")
            compiler: Any = importlib.import_module("triton.compiler")
            backends: Any = importlib.import_module("triton.backends.compiler")
            nvidia: Any = importlib.import_module("triton.backends.nvidia.compiler")
        except ImportError as error:
            return missing(error)
        stop_at_ptx(nvidia.CUDABackend)
        target = backends.GPUTarget("cuda", 90, 32)

        def fresh() -> Callable[[str], str]:
            module = fresh_module()

            def compile_one(name: str) -> str:
                pointers, integers, constants, warps = SIGNATURES[name]
                signature = dict.fromkeys(pointers.split(), POINTER)
                if name == "scale":
                    signature["f"] = "fp32"
                signature |= dict.fromkeys(integers.split(), INT) | dict.fromkeys(constants, "constexpr")
                aligned = {(i,): [["tt.divisibility", 16]] for i in range(len(pointers.split()))}
                source = compiler.ASTSource(
                    fn=getattr(module, name), signature=signature, constexprs=constants, attrs=aligned
                )
                made = triton.compile(source, target=target, options={"num_warps": warps})
                ptx = made.asm["ptx"]
                return ptx.decode() if isinstance(ptx, bytes) else ptx

            return compile_one

        run(f"Triton {triton.__version__}, stopped at PTX", fresh)


if __name__ == "__main__":
    main()
