"""BFloat16 on processors that convert to it by an instruction which knows no subnormal numbers."""

from __future__ import annotations

import re

import pytest

from weft import BFloat16, Pointer, kernel
from weft.compiler.llvm.worker.backend import Job, compile, host_machine, without_flushing
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import global_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.math import max as greater


@kernel
def several(x: Pointer[BFloat16], y: Pointer[BFloat16]) -> None:
    i = global_idx.x
    v, w = x[i], y[i]
    if v == w:
        y[i] = -v
    else:
        y[i] = (v % w + v // w) * min(v, w) + greater(v, w).fma(v, w)


def conversions(features: str) -> int:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(several.definition)}
    text = elaborate_kernel(several, specs, "x86-64").llvm()
    text = text.replace('"target-cpu"="x86-64"', "")
    job = Job(text, "asm", "x86_64-unknown-linux-gnu", "sapphirerapids", features, vectors=True)
    asm = compile(job, lambda stage: None)
    assert isinstance(asm, str)
    return len(re.findall(r"vcvtne2?ps2bf16", asm))


def test_the_instruction_is_not_used() -> None:
    assert conversions("+avx512bf16") > 0  # else the test says nothing
    assert conversions(without_flushing("+avx512bf16")) == 0


@pytest.mark.parametrize("name", ["avx512bf16", "avxneconvert"])
def test_this_machine_is_taken_not_to_have_it(name: str) -> None:
    assert f"+{name}" not in host_machine()[2]
    assert without_flushing(f"+sse,+{name},-avx") == f"+sse,-{name},-avx"
