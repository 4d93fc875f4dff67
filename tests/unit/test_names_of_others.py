"""What is said of names of Mojo's that weft has not: all advice is about what there is."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import LaunchError
from weft.compiler.frontend import names
from weft.compiler.frontend.names_of_mojo import MODULES, MOJOS
from weft.compiler.frontend.names_of_warp import OF_TURNS
from weft.layout.tensor import instead

ADVICE = sorted(
    {
        *MOJOS.values(),
        *names._ELSEWHERE.values(),  # pyright: ignore[reportPrivateUsage]
        *[text for held in names._MODULES.values() for text in held.values()],  # pyright: ignore[reportPrivateUsage]
        *names.NUMPYS.values(),
        *OF_TURNS.values(),
        *instead.OF_TENSORS.values(),
        *names.OF_POINTERS.values(),
    }
)

# Where Mojo has them, by its modules; what follows `|` is under another name here, or missing.
NAMES = {
    "gpu": "thread_idx block_idx block_dim grid_dim global_idx barrier lane_id warp_id |"
    " sm_id WARP_SIZE PDLLevel",
    "gpu.host": "DeviceContext DeviceBuffer HostBuffer Dim | DeviceFunction DeviceAttribute FuncAttribute"
    " dump_asm dump_llvm constant_memory func_attribute",
    "gpu.warp": "sum max min reduce shuffle_idx shuffle_up shuffle_down shuffle_xor broadcast prefix_sum |"
    " vote",
    "gpu.block": "sum max min prefix_sum broadcast |",
    "gpu.memory": "async_copy async_copy_commit_group async_copy_wait_all async_copy_wait_group"
    " | CacheOperation external_memory",
    "gpu.sync": "named_barrier barrier | mbarrier_init mbarrier_arrive mbarrier_test_wait syncwarp Semaphore",
    "gpu.semaphore": "Semaphore |",
    "gpu.cluster": "cluster_sync cluster_arrive cluster_wait elect_one_sync | cluster_arrive_relaxed",
    "layout": "Layout LayoutTensor IntTuple print_layout make_layout copy_dram_to_sram |"
    " RuntimeLayout UNKNOWN_VALUE TensorCore aligned_load aligned_store copy_local_to_sram mma_op",
    "layout.tensor_core": "TensorCore | get_mma_shape",
    "algorithm": "elementwise vectorize parallelize map reduce scan stencil tile | sync_parallelize argmax",
    "math": "exp sqrt iota ceildiv fma clamp | log2_ceil recip",
    "numerics": "max_finite min_finite inf nan | isnan neg_inf",
    "bit": "pop_count count_leading_zeros byte_swap log2_ceil | bit_not",
    "memory": "stack_allocation AddressSpace | UnsafePointer memcpy memset_zero bitcast",
    "sys": "align_of size_of has_accelerator | simd_width_of is_amd_gpu is_apple_gpu CompilationTarget",
    "complex": "ComplexSIMD ComplexFloat32 | ComplexScalar",
    "testing": "assert_equal assert_almost_equal assert_true | assert_raises",
    "random": "rand randint Random | seed random_float64 Philox",
    "benchmark": "Bench BenchConfig Bencher BenchId ThroughputMeasure BenchMetric keep run |"
    " Unit dump_report",
    "compile": "compile_info | num_captures cubin hsaco compile_offload get_linkage_name",
    "": "Int UInt Float32 DType constrained InlineArray Scalar |"
    " rebind StaticString Index IndexList StaticTuple print cast reduce_add register Graph rank",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_of_mojo(module: str) -> None:
    name = f"weft.{module}".rstrip(".")
    there, _, missing = NAMES[module].partition("|")
    for asked in there.split():
        exec(compile(f"from {name} import {asked}", __file__, "exec"))
    for asked in missing.split():
        with pytest.raises(LaunchError) as caught:
            exec(compile(f"from {name} import {asked}", __file__, "exec"))
        assert isinstance(caught.value, ImportError)
        [found] = caught.value.diagnostics
        assert re.match("write |import it: |leave it out|give ", found.hints[0]), (asked, found.hints)


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_mojo(name: str) -> None:
    assert importlib.import_module(f"weft.{MODULES[name]}")
    if name.rpartition(".")[0] in ("", "gpu", "layout"):
        with pytest.raises(LaunchError, match=f"write from weft.{MODULES[name]} import") as caught:
            exec(compile(f"import weft.{name}", __file__, "exec"))
        assert isinstance(caught.value, ModuleNotFoundError)


def test_modules_that_nobody_has() -> None:
    with pytest.raises(ImportError, match=r"no module `weft\.kernel`[^^]*\^+[^^]*write weft\.kernels"):
        exec(compile("import weft.kernel", __file__, "exec"))
    with pytest.raises(ImportError, match="`time` is a module of Python's"):
        exec(compile("from weft.time import sleep", __file__, "exec"))
    assert importlib.util.find_spec("weft.nobody") is None


@pytest.mark.parametrize("advice", ADVICE)
def test_advice_is_of_what_there_is(advice: str) -> None:
    for written, module in re.findall(r"(?:^|write )([\w.]+)(?:\([^()]*\))?, from (weft[\w.]*\w)", advice):
        assert getattr(importlib.import_module(module), written.split(".")[0], None) is not None
    for module, written in re.findall(r"from (weft[\w.]*) import (\w+)", advice):
        assert hasattr(importlib.import_module(module), written)


def test_what_weft_has_is_not_told() -> None:
    assert not MOJOS.keys() & {*vars(weft)["__all__"]}


def test_a_module_within_another() -> None:
    with pytest.raises(ImportError, match=r"write weft\.gpu\.warp"):
        exec("import weft.warp")
    with pytest.raises(ImportError, match=r"weft has no module `weft\.sys\.info`"):
        exec("import weft.sys.info")


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


def _bits(x: int) -> int:
    return int(np.float32(x).view(np.uint32))


_HERE = names._ELSEWHERE  # pyright: ignore[reportPrivateUsage]
CURES: list[tuple[str, str, Callable[[int], float]]] = [
    (_HERE["ffs"], "Int32", lambda x: (x & -x).bit_length()),
    (_HERE["popc"], "Int32", lambda x: (x & 0xFFFFFFFF).bit_count()),
    (_HERE["clz"], "Int32", lambda x: 32 - (x & 0xFFFFFFFF).bit_length()),
    (_HERE["float_as_uint"], "Float32", _bits),
    (names.NUMPYS["sign"].removeprefix("write "), "Float32", _sign),
    (names.NUMPYS["rint"].removeprefix("write "), "Float32", lambda x: float(np.rint(x))),
]


@pytest.mark.parametrize(("text", "kind", "wanted"), CURES, ids=[cure[0] for cure in CURES])
def test_what_is_to_be_written_computes_the_same(
    text: str, kind: str, wanted: Callable[[int], float], tmp_path: Path
) -> None:
    body = re.split(r", (?:from|with|which) |;", text)[0]
    imports = "import weft\nfrom weft import *\nfrom weft.bit import *\n"
    program = f"{imports}@func\ndef f(x: {kind}):\n    return {body}\n"
    (tmp_path / "cure.py").write_text(program, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("cure", tmp_path / "cure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for x in (0, 1, -1, 2, 8, -8, 12, -(2**31)):
        assert module.f(x) == wanted(x)
