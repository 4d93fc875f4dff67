"""Processors' features with which LLVM's code would be wrong are not used."""

from __future__ import annotations

import re

import pytest

from weft import BFloat16, Pointer, kernel
from weft.compiler.llvm.worker.backend import Job, compile, host_machine, without_wrong
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


def assembly(text: str, features: str) -> str:
    job = Job(text, "asm", "x86_64-unknown-linux-gnu", "sapphirerapids", features, vectors=True)
    made = compile(job, lambda stage: None)
    assert isinstance(made, str)
    return made


def conversions(features: str) -> int:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(several.definition)}
    text = elaborate_kernel(several, specs, "x86-64").llvm()
    return len(re.findall(r"vcvtne2?ps2bf16", assembly(text.replace('"target-cpu"="x86-64"', ""), features)))


def test_the_instruction_is_not_used() -> None:
    """It knows no subnormal numbers."""
    assert conversions("+avx512bf16") > 0  # else the test says nothing
    assert conversions(without_wrong("+avx512bf16")) == 0


_LEAST = """
define double @f(double %x, i16 %y) {
  %n = sitofp i16 %y to double
  %r = call double @llvm.minimumnum.f64(double %x, double %n)
  ret double %r
}
declare double @llvm.minimumnum.f64(double, double)
"""
_CUT = """
define i16 @f(half %x) {
  %r = call i16 @llvm.fptosi.sat.i16.f16(half %x)
  ret i16 %r
}
declare i16 @llvm.fptosi.sat.i16.f16(half)
"""


@pytest.mark.parametrize(
    ("text", "feature", "asks_for_nan"),
    [(_LEAST, "avx512dq", r"vcmpunordsd"), (_CUT, "avx512fp16", r"vucomis[sh]\s+(%xmm\d+), \1")],
)
def test_nan_is_asked_for(text: str, feature: str, asks_for_nan: str) -> None:
    """Where LLVM has mended one, it need no longer be left out."""
    others = "-avx512fp16," if feature == "avx512dq" else ""
    assert not re.search(asks_for_nan, assembly(text, f"{others}+{feature}"))
    assert re.search(asks_for_nan, assembly(text, f"{others}{without_wrong(f'+{feature}')}"))


@pytest.mark.parametrize("name", ["avx512bf16", "avx512dq", "avx512fp16", "avxneconvert"])
def test_this_machine_is_taken_not_to_have_it(name: str) -> None:
    assert f"+{name}" not in host_machine()[2]
    assert without_wrong(f"+sse,+{name},-avx") == f"+sse,-{name},-avx"


_ROWS = """
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @f(ptr addrspace(1) %a, ptr addrspace(1) %out, i64 %n, i64 %from) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %sum = phi float [ 0.0, %entry ], [ %more, %body ]
  %row = mul i64 %i, 3
  %at = add i64 %row, %from
  %p = getelementptr float, ptr addrspace(1) %a, i64 %at
  %v = load float, ptr addrspace(1) %p
  %more = fadd float %sum, %v
  %next = add nsw i64 %i, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %body, label %end
end:
  store float %more, ptr addrspace(1) %out
  ret void
}
"""


def test_addresses_in_loops_are_made_cheaper_for_gpus_alone() -> None:
    """What LLVM is told of that holds for the whole process."""
    job = Job(_ROWS, "asm", "nvptx64-nvidia-cuda", "sm_90", "+ptx78")

    def additions(job: Job) -> int:
        made = compile(job, lambda stage: None)
        assert isinstance(made, str)
        return len(re.findall(r"\t(?:add|mad|mul|shl)\S+64", made))

    before = additions(job)
    assert additions(job._replace(vectors=True)) != before
    assert additions(job) == before
