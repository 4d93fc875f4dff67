"""Clusters, cooperative and dependent launches: what is refused, and what the driver is told."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft import Float32, Int, Pointer, kernel
from weft.abi.artifact import KernelInfo, Signature
from weft.compile import compile_info
from weft.compiler.cache import compile_kernel
from weft.diagnostics import CompileError, DeviceError, LaunchError
from weft.gpu import (
    block_id_in_cluster,
    block_rank_in_cluster,
    cluster_dim,
    cluster_idx,
    cluster_sync,
    global_idx,
    grid_sync,
    launch_dependent_grids,
    map_shared_rank,
    thread_idx,
    wait_on_dependent_grids,
)
from weft.gpu.host import DeviceContext, Dim
from weft.lang.accept import spec_of_annotation
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation
from weft.runtime.attributes import check_uses, launch_attributes
from weft.runtime.cuda.attributes import launch_config
from weft.runtime.cuda.errors import Cuda
from weft.runtime.driver import DeviceInfo, Launch, LaunchAttributes

GRIDS = (2**31 - 1, 65535, 65535)
H200 = DeviceInfo("NVIDIA H200", "cuda", "sm_90", 1024, (1024, 1024, 64), GRIDS, 232448, 132, 32, 150 << 30)
A100 = DeviceInfo("NVIDIA A100", "cuda", "sm_80", 1024, (1024, 1024, 64), GRIDS, 166912, 108, 32, 80 << 30)
CPU = DeviceInfo("A CPU", "cpu", "native", 1024, (1024, 1024, 64), GRIDS, 232448, 8, 32, 16 << 30)


def found(info: DeviceInfo, grid: Dim | None = None, **asked: Any) -> list[tuple[str, str, str]]:
    """Code, message and argument of each refusal."""
    return [(d.code, d.message, at) for d, at in launch_attributes(info, grid, **asked)[1]]


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ({}, None),
        ({"cluster_dim": None, "cooperative": False, "pdl": False}, None),
        ({"cluster_dim": 4}, LaunchAttributes(cluster=(4, 1, 1))),
        ({"cluster_dim": (2, 4)}, LaunchAttributes(cluster=(2, 4, 1))),
        ({"cluster_dim": Dim(16)}, LaunchAttributes(cluster=(16, 1, 1))),
        ({"cooperative": True}, LaunchAttributes(cooperative=True)),
        ({"pdl": True, "cluster_dim": 1}, LaunchAttributes(cluster=(1, 1, 1), pdl=True)),
    ],
)
def test_right_ones(asked: dict[str, Any], made: LaunchAttributes | None) -> None:
    assert launch_attributes(H200, Dim(16, 4), **asked) == (made, [])


@pytest.mark.parametrize(
    ("cluster", "grid", "code", "message"),
    [
        (
            17,
            17,
            "cluster-size",
            "cluster_dim=(17, 1, 1) has 17 blocks; NVIDIA H200 allows 16 per cluster at most",
        ),
        (
            (4, 4, 2),
            (4, 4, 2),
            "cluster-size",
            "cluster_dim=(4, 4, 2) has 32 blocks; NVIDIA H200 allows 16 per cluster at most",
        ),
        (
            4,
            10,
            "cluster-grid",
            "grid_dim=(10, 1, 1) is 10 in x, which cluster_dim=(4, 1, 1) does not divide",
        ),
        (
            (1, 2, 1),
            (4, 3),
            "cluster-grid",
            "grid_dim=(4, 3, 1) is 3 in y, which cluster_dim=(1, 2, 1) does not divide",
        ),
        (0, 4, "dim-empty", "cluster_dim=0 has no blocks; every extent must be 1 or more"),
        ((2, -2), 4, "dim-negative", "cluster_dim=(2, -2) has a negative extent; extents are 1 or more"),
        (2.0, 4, "dim-type", "cluster_dim=2.0 is not made of ints: 2.0 is a float"),
        (True, 4, "dim-type", "cluster_dim=True is not made of ints: True is a bool"),
        (
            (1, 1, 1, 2),
            4,
            "dim-rank",
            "cluster_dim=(1, 1, 1, 2) has 4 extents; a cluster has one to three (x, y, z)",
        ),
    ],
)
def test_wrong_clusters(cluster: Any, grid: Any, code: str, message: str) -> None:
    extents = Dim(*grid) if isinstance(grid, tuple) else Dim(grid)
    assert found(H200, extents, cluster_dim=cluster) == [(code, message, "cluster_dim")]


def test_an_uneven_grid_says_which_would_do() -> None:
    ((diagnostic, _),) = launch_attributes(H200, Dim(10, 6), cluster_dim=(4, 2))[1]
    assert diagnostic.hints[0].startswith("write grid_dim=(12, 6, 1);")


def test_devices_without() -> None:
    message = "NVIDIA A100 has no clusters of blocks, which cluster_dim=2 asks for"
    assert found(A100, Dim(4), cluster_dim=2) == [("cluster-device", message, "cluster_dim")]
    assert found(A100, Dim(4), cooperative=True, pdl=True) == []
    assert found(CPU, Dim(4), cluster_dim=2, cooperative=True) == []
    assert found(CPU, Dim(4), pdl=True) == []


def test_options_that_are_no_bools() -> None:
    assert found(H200, Dim(4), cooperative=1, pdl="yes") == [
        ("launch-option", "cooperative=1 is not True or False", "cooperative"),
        ("launch-option", "pdl='yes' is not True or False", "pdl"),
    ]


def test_ranges_choose_the_blocks() -> None:
    refused = found(H200, Dim(4), cluster_dim=2, cooperative=True, pdl=True, over=True)
    assert refused == [
        ("over", "over= chooses the blocks, and cluster_dim= needs a launch that says them", "cluster_dim"),
        ("over", "over= chooses the blocks, and cooperative= needs a launch that says them", "cooperative"),
    ]


# -- kernels that need a certain launch -----------------------------------------------------------


@kernel
def plain(x: Pointer[Float32]):
    x[global_idx.x] += 1.0


@kernel
def meets(x: Pointer[Float32]):
    x[global_idx.x] += 1.0
    grid_sync()
    x[global_idx.x] *= 2.0


@kernel
def follows(x: Pointer[Float32]):
    launch_dependent_grids()
    wait_on_dependent_grids()
    x[global_idx.x] += 1.0


def compiled(made: Any, target: str = "sm_90") -> KernelInfo:
    return compile_kernel(made, {"x": spec_of_annotation(Pointer[Float32])}, target).kernels[0]


def test_uses_are_noted_and_kept_by_the_cache() -> None:
    for _ in range(2):
        assert compiled(plain).uses == frozenset()
        assert compiled(meets).uses == {"grid_sync"}
        assert compiled(follows).uses == {"wait_on_dependent_grids"}
        assert compiled(follows, "native").uses == {"wait_on_dependent_grids"}


def test_a_grid_waits_only_in_a_cooperative_launch() -> None:
    kernel = compiled(meets)
    check_uses(H200, kernel, LaunchAttributes(cooperative=True), 0)
    for attributes in (None, LaunchAttributes(cluster=(2, 1, 1))):
        with pytest.raises(LaunchError, match=r"meets calls grid_sync\(\), for which all blocks"):
            check_uses(H200, kernel, attributes, 0)


def test_shared_memory_of_both_kinds_is_counted_together() -> None:
    kernel = KernelInfo("k", Signature("k", ()), shared=4096)
    check_uses(A100, kernel, None, 166912 - 4096)
    told = (
        "k has 4096 bytes of shared memory of its own, and the launch gives 162817; NVIDIA A100 allows 166912"
    )
    with pytest.raises(LaunchError, match=told) as raised:
        check_uses(A100, kernel, None, 162817)
    assert raised.value.diagnostics[0].hints == ("write shared_mem_bytes=162816 or less",)


def test_a_dependent_kernel_waits() -> None:
    check_uses(H200, compiled(follows), LaunchAttributes(pdl=True), 0)
    check_uses(H200, compiled(plain), LaunchAttributes(cooperative=True), 0)
    with pytest.raises(LaunchError, match="plain may begin before earlier work has ended, but never waits"):
        check_uses(H200, compiled(plain), LaunchAttributes(pdl=True), 0)


PROGRAM = """\
ctx.enqueue_function(
    plain,
    x,
    grid_dim=10,
    block_dim=32,
    cluster_dim=(4, 1),
)
"""


def test_a_refusal_points_at_its_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = DeviceContext(api="cpu")
    monkeypatch.setattr(ctx.device, "info", H200)
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    linecache.checkcache(str(file))
    names = {"ctx": ctx, "plain": plain, "x": ctx.enqueue_create_buffer(Float32, 320)}
    with pytest.raises(LaunchError) as raised:
        exec(compile(PROGRAM, str(file), "exec"), names)
    assert str(raised.value).replace(str(file), "program.py").splitlines() == [
        "error[cluster-grid]: grid_dim=(10, 1, 1) is 10 in x, which cluster_dim=(4, 1, 1) does not divide",
        " --> program.py:6:17",
        "  |",
        "6 |     cluster_dim=(4, 1),",
        "  |                 ^^^^^^",
        "  |",
        "  = help: write grid_dim=(12, 1, 1); where that makes more blocks than there is work for, "
        "the kernel must leave out the rest",
    ]


def test_dependent_launches_on_a_cpu() -> None:
    """They run one after the other, captured or not."""
    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float32, 8)
    x.enqueue_fill(0)
    with ctx.capture() as graph:
        ctx.enqueue_function(follows, x, grid_dim=2, block_dim=4, pdl=True)
    graph.replay()
    ctx.enqueue_function(follows, x, grid_dim=2, block_dim=4, pdl=True)
    ctx.enqueue_function(follows, x, grid_dim=2, block_dim=4)
    with x.map_to_host() as host:
        assert list(host) == [3.0] * 8


@kernel
def copies_after(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    wait_on_dependent_grids()
    out[global_idx.x] = x[global_idx.x]


def test_what_a_dependent_launch_reads_may_change() -> None:
    """A range's buffers are promised to be apart, and what is read to stay, only where nothing overlaps."""
    ctx = DeviceContext(api="cpu")
    x, out = (ctx.enqueue_create_buffer(Float32, 8).tensor(Layout.row_major(8)) for _ in range(2))
    for pdl in (False, True):
        assert ctx.enqueue_by_python(copies_after, x, out, over=8, pdl=pdl).apart == (not pdl)


# -- the code -------------------------------------------------------------------------------------


@kernel
def neighbours(x: LayoutTensor[Float32], out: Pointer[Int]):
    tile = stack_allocation(Float32, Layout.row_major(4, 8), address_space=AddressSpace.SHARED)
    tile[thread_idx.y, thread_idx.x] = x[thread_idx.y, thread_idx.x]
    cluster_sync()
    theirs = map_shared_rank(tile, (block_rank_in_cluster() + 1) % cluster_dim.x)
    x[thread_idx.y, thread_idx.x] = theirs[thread_idx.y, thread_idx.x]
    out[0] = cluster_idx.x + block_id_in_cluster.y


def ptx(made: Any, target: str = "sm_90", **layouts: Any) -> str:
    return str(compile_info(made, target=target, **layouts))


def test_instructions_of_clusters() -> None:
    text = ptx(neighbours, x=Layout.row_major(4, 8))
    instructions = re.findall(r"^\s+(barrier\S+|mapa\S+|(?:ld|st)\.shared\S*)", text, re.M)
    assert instructions == [
        "st.shared.b32",
        "barrier.cluster.arrive.aligned;",
        "barrier.cluster.wait.aligned;",
        "mapa.shared::cluster.u64",
        "ld.shared::cluster.b32",
    ]
    for register in ("%cluster_ctarank", "%cluster_nctaid.x", "%clusterid.x", "%cluster_ctaid.y"):
        assert f", {register};" in text


def test_instructions_of_dependent_launches() -> None:
    text = ptx(follows)
    assert re.findall(r"griddepcontrol\S+|ld\.global|st\.global", text) == [
        "griddepcontrol.launch_dependents;",
        "griddepcontrol.wait;",
        "ld.global",
        "st.global",
    ]
    assert "griddepcontrol" not in ptx(follows, "sm_80")


@pytest.mark.parametrize("target", ["sm_70", "sm_90"])
def test_instructions_of_a_grids_barrier(target: str) -> None:
    text = ptx(meets, target)
    assert "mov.u32 high, %envreg1; mov.u32 low, %envreg2;" in text
    assert re.findall(r"bar\.sync|fence\.acq_rel\.gpu|atom\.add|ld\.acquire\.gpu", text) == [
        "bar.sync",
        "fence.acq_rel.gpu",
        "atom.add",
        "ld.acquire.gpu",
        "bar.sync",
    ]


def test_targets_without_clusters() -> None:
    with pytest.raises(CompileError, match=r"cluster_sync\(\) is not known on sm_80, which has no clusters"):
        ptx(neighbours, "sm_80", x=Layout.row_major(4, 8))


@kernel
def maps_global(x: Pointer[Float32]):
    map_shared_rank(x, 0)


@kernel
def maps_a_number(x: Pointer[Float32]):
    map_shared_rank(3, 0)  # pyright: ignore


def test_what_other_blocks_have() -> None:
    with pytest.raises(CompileError, match=r"of AddressSpace\.SHARED, not memory of AddressSpace\.GLOBAL"):
        ptx(maps_global)
    with pytest.raises(
        CompileError, match=r"takes a pointer or a tensor of AddressSpace\.SHARED, not an int"
    ):
        ptx(maps_a_number)


# -- what the driver is told ----------------------------------------------------------------------


class Function:
    """A loaded kernel."""

    handle = 7
    kernel = KernelInfo("k", Signature("k", ()))


class Binding:
    """The driver's functions that a launch with attributes asks, and its structs."""

    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED="non-portable")

    def __init__(self, **answers: tuple[int, ...]) -> None:
        self.answers = answers
        self.calls: list[tuple[Any, ...]] = []
        self.CUlaunchConfig = SimpleNamespace
        self.CUlaunchAttribute = lambda: SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

        class Ids:
            def __getattr__(self, name: str) -> str:
                return name.removeprefix("CU_LAUNCH_ATTRIBUTE_").lower()

        self.CUlaunchAttributeID = Ids()

    def __getattr__(self, name: str) -> Callable[..., tuple[int, ...]]:
        if not name.startswith("cu"):
            raise AttributeError(name)

        def function(*args: Any) -> tuple[int, ...]:
            self.calls.append((name, *args))
            return self.answers.get(name, (0, 2))

        function.__name__ = name
        return function

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:
        return 0, b"text"

    cuGetErrorName = cuGetErrorString


def configured(
    binding: Binding,
    attributes: LaunchAttributes,
    grid: tuple[int, int, int] = (32, 1, 1),
    *,
    info: DeviceInfo = H200,
    version: int = 13000,
    function: Any = None,
) -> Any:
    cuda = Cuda(binding)
    cuda.version = version
    primary: Any = SimpleNamespace(cuda=cuda, cu=binding, call=cuda, info=info, error=ValueError)
    made: Any = Function() if function is None else function
    launch = Launch(made, grid, (64, 2, 1), b"", 100, attributes=attributes)
    return launch_config(primary, launch, 5)


def told(config: Any) -> dict[str, Any]:
    """The attributes of a configuration."""
    assert config.numAttrs == len(config.attrs)
    out: dict[str, Any] = {}
    for one in config.attrs:
        values = one.value.__dict__.copy()
        cluster = values.pop("clusterDim")
        out[one.id] = vars(cluster) or values
    return out


def test_the_configuration() -> None:
    config = configured(Binding(), LaunchAttributes((2, 4, 1), cooperative=True, pdl=True), (2, 4, 1))
    assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (2, 4, 1)
    assert (config.blockDimX, config.blockDimY, config.blockDimZ) == (64, 2, 1)
    assert (config.sharedMemBytes, config.hStream) == (100, 5)
    assert told(config) == {
        "cluster_dimension": {"x": 2, "y": 4, "z": 1},
        "cooperative": {"cooperative": 1},
        "programmatic_stream_serialization": {"programmaticStreamSerializationAllowed": 1},
    }
    assert told(configured(Binding(), LaunchAttributes(pdl=True), info=A100)) == {}


def test_it_is_made_once() -> None:
    binding, function = Binding(), Function()
    one = configured(binding, LaunchAttributes((2, 1, 1)), function=function)
    asked = len(binding.calls)
    assert configured(binding, LaunchAttributes((2, 1, 1)), function=function) is one
    assert len(binding.calls) == asked
    assert configured(binding, LaunchAttributes((4, 1, 1)), function=function) is not one


def test_large_clusters_are_asked_for() -> None:
    for size, asked in ((8, False), (16, True)):
        binding = Binding()
        configured(binding, LaunchAttributes((size, 1, 1)))
        assert (("cuFuncSetAttribute", 7, "non-portable", 1) in binding.calls) == asked


@pytest.mark.parametrize("answer", [(0, 0), (912, 0)])
def test_a_cluster_that_does_not_fit(answer: tuple[int, int]) -> None:
    binding = Binding(cuOccupancyMaxActiveClusters=answer, cuOccupancyMaxPotentialClusterSize=(0, 8))
    with pytest.raises(LaunchError) as raised:
        configured(binding, LaunchAttributes((16, 1, 1)))
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "cluster-size",
        "cluster_dim=(16, 1, 1) has 16 blocks; NVIDIA H200 allows 8 per cluster for this kernel "
        "with its block and its shared memory",
    )


def test_blocks_that_do_not_run_at_once() -> None:
    each = {"cuOccupancyMaxActiveBlocksPerMultiprocessor": (0, 3)}
    configured(Binding(**each), LaunchAttributes(cooperative=True), (3 * 132, 1, 1))
    with pytest.raises(LaunchError) as raised:
        configured(Binding(**each), LaunchAttributes(cooperative=True), (133, 3, 1))
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "cooperative-blocks",
        "grid_dim=(133, 3, 1) has 399 blocks; NVIDIA H200 runs 396 of this kernel at once "
        "with block_dim=(64, 2, 1)",
    )
    assert diagnostic.hints == ("write grid_dim=396 and let each block loop over its share of the work",)
    binding = Binding(cuOccupancyMaxActiveClusters=(0, 66))
    with pytest.raises(LaunchError, match="runs 264 of this kernel"):  # 66 clusters of 4
        configured(binding, LaunchAttributes((4, 1, 1), cooperative=True), (268, 1, 1))
    none = Binding(cuOccupancyMaxActiveBlocksPerMultiprocessor=(0, 0))
    with pytest.raises(LaunchError) as raised:
        configured(none, LaunchAttributes(cooperative=True))
    assert raised.value.diagnostics[0].hints == ("use smaller blocks, or less shared memory",)


def test_a_driver_that_is_too_old() -> None:
    with pytest.raises(DeviceError, match=r"is of CUDA 11\.7; cluster_dim, cooperative and pdl need 11\.8"):
        configured(Binding(), LaunchAttributes(cooperative=True), version=11070)
