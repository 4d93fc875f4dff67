"""What a kernel does to memory, found in its IR: which parameters it writes to, whether threads meet."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

import pytest

from weft import CompileError, Float32, Int, Int32, Pointer, func, kernel, math, struct
from weft.abi.artifact import Argument
from weft.atomic import Atomic, fence
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, cluster_sync, global_idx, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.decorators import Kernel
from weft.lang.intrinsics import inline_asm, llvm_intrinsic
from weft.lang.signature import parameters
from weft.launch.ranges import describe_over
from weft.layout import Layout, LayoutTensor


@kernel
def copy(source: Pointer[Float32], out: Pointer[Float32], n: Int):
    if global_idx.x < n:
        out[global_idx.x] = source[global_idx.x]


@kernel
def reads(source: Pointer[Float32], n: Int):
    for i in range(n):
        if source[i] > 1.0:
            print(source[i])


@kernel
def walks(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    """One pointer moves on, one is chosen at run time."""
    p = a
    for i in range(n):
        p[0] = c[i]
        p += 1
    q = a
    if n > 3:
        q = b
    q.store(1, Float32(2.0))


@kernel
def swaps(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    """The written pointer comes round in a loop."""
    p, q = a, b
    for _ in range(n):
        p, q = q, p
    p[0] = c[0]


@kernel
def counts(totals: Pointer[Int32], source: Pointer[Int32]):
    Atomic.fetch_add(totals + source[0], 1)


@func
def put(where: Pointer[Float32], value: Float32):
    where[1] = value


@kernel
def calls(a: Pointer[Float32], b: Pointer[Float32]):
    put(b + 2, a[0])


@struct
class Pair:
    a: Pointer[Float32]
    b: Pointer[Float32]


@kernel
def fields(pair: Pair, n: Int):
    pair.b[n] = pair.a[n]


@kernel
def tensors(image: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    out[global_idx.y, global_idx.x] = image[global_idx.y, global_idx.x] * 2.0


def arguments(made: Kernel[...], *, target: str = "sm_90", over: int = 0, **types: Any) -> Sequence[Argument]:
    specs = {p.name: spec_of_annotation(p.annotation, types.get(p.name)) for p in parameters(made.definition)}
    plan = describe_over(over, (4, 1)) if over else None
    artifact = elaborate_kernel(made, specs, target, CompileOptions(plan, distinct=True)).artifact()
    return artifact.kernels[0].signature.parameters


@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
@pytest.mark.parametrize(
    ("made", "written", "read"),
    [
        (copy, ["out"], ["source"]),
        (reads, [], ["source"]),
        (walks, ["a", "b"], ["c"]),
        (swaps, ["a", "b"], ["c"]),
        (counts, ["totals"], ["totals", "source"]),
        (calls, ["b"], ["a"]),
        (fields, ["pair.b"], ["pair.a"]),
    ],
)
def test_written_and_read(made: Kernel[...], written: list[str], read: list[str], target: str) -> None:
    found = arguments(made, target=target)
    assert [p.name for p in found if p.written] == written
    assert [p.name for p in found if p.read] == read


@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
def test_over_a_range(target: str) -> None:
    layout = Layout.row_major(64, 64)
    found = arguments(tensors, target=target, over=2, image=layout, out=layout)
    assert [p.name for p in found if p.written] == ["out"]


@kernel
def staged(x: Pointer[Float32], out: Pointer[Float32]):
    """Threads meet between a write and a read."""
    out[thread_idx.x] = x[thread_idx.x]
    barrier()
    out[thread_idx.x] += out[thread_idx.x ^ 1]


@kernel
def hides(x: Pointer[Float32], out: Pointer[Float32]):
    """A pointer goes into assembly, which is not looked into."""
    barrier()
    value = inline_asm("ld.global.f32 $0, [$1];", Float32, x, constraints="=f,l")
    out[0] = value


def alone(made: Kernel[...], *, distinct: bool = True) -> list[str]:
    """The parameters whose memory LLVM takes to be reached by nothing else."""
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(made.definition)}
    text = elaborate_kernel(made, specs, "sm_90", CompileOptions(distinct=distinct)).llvm()
    head = re.search(r"define [^{]*ptx_kernel [^{(]*\((.*)\) nounwind", text)
    assert head is not None
    given = head[1].split(", ")
    return [p.name for p, a in zip(parameters(made.definition), given, strict=True) if "noalias" in a]


def test_what_is_distinct() -> None:
    assert alone(copy) == ["source", "out"]
    assert alone(copy, distinct=False) == []
    assert alone(reads) == ["source"]


def test_threads_that_meet() -> None:
    """What one writes another may read: the optimiser must not think that it is its thread's own."""
    assert alone(staged) == ["x"]
    assert alone(counts) == ["source"]
    assert alone(hides) == []


@kernel
def follows(flag: Pointer[Int32], x: Pointer[Float32], out: Pointer[Float32], n: Int):
    """Another GPU or the host writes x, round by round."""
    for i in range(n):
        while Atomic.load(flag, ordering="acquire", scope="system") < i:
            pass
        out[i] += x[0]


@kernel
def fenced(flag: Pointer[Int32], x: Pointer[Float32], out: Pointer[Float32], n: Int32):
    for i in range(n):
        while Atomic.compare_exchange(flag, n, n)[0] < i:
            pass
        fence("acquire")
        out[i] += x[0]


@kernel
def polls(flag: Pointer[Int32], x: Pointer[Float32], out: Pointer[Float32]):
    """Others write to the flag; of x nobody says so."""
    while Atomic.load(flag) == 0:
        pass
    out[0] = x[0]


@kernel
def within_a_block(count: Pointer[Int32], x: Pointer[Float32], out: Pointer[Float32]):
    Atomic.fetch_add(count, 1, ordering="acq_rel", scope="block")
    out[0] = x[0]


@kernel
def fenced_by_an_intrinsic(x: Pointer[Float32], out: Pointer[Float32]):
    value = x[0]
    llvm_intrinsic("llvm.nvvm.membar.sys", None)
    out[0] = value + x[0]


@kernel
def met_by_its_block(x: Pointer[Float32], out: Pointer[Float32]):
    out[thread_idx.x] = x[0]
    llvm_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", None, Int32(0), effects="block")


@kernel
def met_by_anyone(x: Pointer[Float32], out: Pointer[Float32]):
    out[thread_idx.x] = x[0]
    llvm_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", None, Int32(0))


@kernel
def met_in_assembly(x: Pointer[Float32], out: Pointer[Float32]):
    """Nothing in the text or the constraints says so."""
    out[thread_idx.x] = x[0]
    inline_asm("griddepcontrol.wait;", None, constraints="")


@kernel
def met_by_its_cluster(x: Pointer[Float32], out: Pointer[Float32]):
    """Another block writes to x meanwhile."""
    out[thread_idx.x] = x[0]
    cluster_sync()
    out[thread_idx.x] += x[1]


@kernel
def computed_in_assembly(x: Pointer[Float32], out: Pointer[Float32]):
    out[0] = inline_asm("sqrt.approx.f32 $0, $1;", Float32, x[0], constraints="=f,f", effects="none")


@kernel
def read_in_assembly(x: Pointer[Float32], out: Pointer[Float32]):
    barrier()
    out[0] = inline_asm("ld.global.f32 $0, [$1];", Float32, x, constraints="=f,l", effects="read")


def test_effects_are_what_the_call_declares() -> None:
    assert alone(met_by_its_block) == ["x"]
    assert alone(met_by_anyone) == []
    assert alone(met_in_assembly) == []
    assert alone(met_by_its_cluster) == []
    assert alone(computed_in_assembly) == ["x", "out"]
    assert alone(read_in_assembly) == ["x"]


def test_assembly_that_touches_memory_keeps_its_place() -> None:
    def text(made: Kernel[...]) -> str:
        return elaborate_kernel(made, _specs(made), "sm_90").llvm()

    assert '"griddepcontrol.wait;", "~{memory}"' in text(met_in_assembly)
    assert '"=f,l,~{memory}"' in text(read_in_assembly)
    assert "~{memory}" not in text(computed_in_assembly)


def test_effects_have_words() -> None:
    @kernel
    def wrong(x: Pointer[Float32]):
        llvm_intrinsic("llvm.trap", None, effects="some")  # pyright: ignore[reportArgumentType]

    with pytest.raises(CompileError, match="effects='some' says nothing"):
        elaborate_kernel(wrong, _specs(wrong), "sm_90")


def _specs(made: Kernel[...]) -> dict[str, Any]:
    return {p.name: spec_of_annotation(p.annotation) for p in parameters(made.definition)}


def test_llvm_knows_what_only_computes() -> None:
    """Of each intrinsic that the library calls without effects LLVM says so too."""

    @kernel
    def uses(x: Pointer[Float32], out: Pointer[Float32]):
        y = x[global_idx.x] ** 2.5
        out[0] = math.fma(math.sqrt(y), math.floor(y), math.exp(y)) + abs(y) + math.min(y, x[1])
        out[1] = Float32(round(y)) + math.copysign(y, x[2])

    text = elaborate_kernel(uses, _specs(uses), "sm_90").llvm()
    declared = [line for line in text.splitlines() if line.startswith("declare ") and "@llvm." in line]
    assert len(declared) > 5
    binding: Any = importlib.import_module("llvmlite.binding")
    printed = str(binding.parse_assembly("\n".join(declared)))
    groups = dict(re.findall(r"attributes (#\d+) = \{(.*)\}", printed))
    for line in re.findall(r"^declare .*", printed, re.MULTILINE):
        assert "memory(none)" in groups[line.split()[-1]], line


def test_others_that_write_meanwhile() -> None:
    assert alone(fenced_by_an_intrinsic) == []
    assert alone(follows) == []
    assert alone(fenced) == []
    assert alone(polls) == ["x"]
    assert alone(within_a_block) == ["x"]


@pytest.mark.parametrize("made", [follows, fenced, polls])
def test_what_others_write_is_read_after_the_wait(made: Kernel[...]) -> None:
    """LLVM moves the read of what it thinks stays as it is, and has no atomic loads of that."""
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(made.definition)}
    ptx = str(elaborate_kernel(made, specs, "sm_90", CompileOptions(distinct=True)).emit("asm"))
    reads = re.findall(r"(ld\.(?:relaxed|acquire)|fence\.acq|ld\.global(?:\.nc)?)\.", ptx)
    assert reads[-1] == ("ld.global.nc" if made is polls else "ld.global")
