"""A program as PTX, and what NVIDIA's assembler says of it; no GPU is needed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.fuzz.program import Argument, Program
from tests.fuzz.weft_run import load
from tests.support.ptxas import find_ptxas

from weft import Pointer
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.launch.ranges import describe_over
from weft.layout import Layout, LayoutTensor
from weft.memory import SoA

__all__ = ["Assembler"]


class Assembler:
    """Takes programs for one architecture, such as ``sm_90``."""

    def __init__(self, arch: str) -> None:
        found = find_ptxas()
        if found is None:
            raise SystemExit("no ptxas: it comes with the test dependencies")
        self.arch, self.ptxas = arch, found
        self.folder = tempfile.TemporaryDirectory(prefix="weft-fuzz-")

    def says(self, program: Program) -> str:
        """What the assembler says: nothing, where it takes the program.

        Raises:
            WeftError: it is refused.
        """
        if "host" in program.launch:  # its kernels are the library's, made when they are launched
            return ""
        folder = Path(self.folder.name)
        module = load(program, apart=True)
        kernel = module.program
        given = {a.name: a for a in program.arguments}
        names = [p.name for p in parameters(kernel.definition)]
        specs = {name: _spec(given[name], module) for name in names if name in given}
        if "K" in names:
            specs["K"] = StaticSpec(vars(module)[_stands_for(program)])
        over = describe_over(len(program.launch["over"]), (4, 1)) if "over" in program.launch else None
        ptx = elaborate_kernel(kernel, specs, self.arch, CompileOptions(over, distinct=True)).emit("asm")
        assert isinstance(ptx, str)
        command = [self.ptxas, "-arch", self.arch, "-o", str(folder / "kernel.cubin"), "-"]
        done = subprocess.run(command, input=ptx.encode(), capture_output=True)
        said = done.stderr.decode().strip()
        return said or (f"exit status {done.returncode}, and no reason" if done.returncode else "")


def _stands_for(program: Program) -> str:
    return program.text.partition("_variable('K', ")[2].partition(",")[0]


def _spec(given: Argument, module: ModuleType) -> Spec:
    if given.form == "comptime":
        return StaticSpec(given.value)
    annotation: Any = eval(given.kind, vars(module))
    if given.memory:
        owner: Any = {"pointer": Pointer, "tensor": LayoutTensor, "soa": SoA}[given.form]
        annotation = owner[annotation]
    if given.form != "tensor":
        return spec_of_annotation(annotation)
    layout = Layout(tuple(given.shape), tuple(given.stride))
    return spec_of_annotation(annotation, layout.dynamic() if given.value else layout)
