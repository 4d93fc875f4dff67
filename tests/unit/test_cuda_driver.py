"""What NVIDIA's driver refuses or lacks, said in weft's words; with a driver that is played here."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driver_played import Binding, always
from weft import config
from weft.abi.artifact import Argument, Artifact, KernelInfo, Signature
from weft.compiler.cache import kept
from weft.compiler.cache.folder import NAME
from weft.diagnostics import DeviceError, LaunchError
from weft.dtype import DType
from weft.runtime.context import BaseContext
from weft.runtime.cuda.context import Primary
from weft.runtime.cuda.device import CudaDevice
from weft.runtime.cuda.driver import CudaDriver
from weft.runtime.cuda.module import ptx_of_driver
from weft.runtime.cuda.stream import CudaStream
from weft.runtime.driver import DriverMissing, Launch


def artifact(ptx: str = "7.8") -> Artifact:
    code = f"//\n.version {ptx}\n.target sm_90\n".encode()
    signature = Signature("scale", (Argument("n", DType.int64),))
    return Artifact("sm_90", "ptx", code, (KernelInfo("scale", signature),))


def context(binding: Binding) -> BaseContext:
    return BaseContext(driver=CudaDriver(binding))


def launch(ctx: BaseContext, block: int = 1) -> None:
    ctx.stream.launch(Launch(ctx.device.load(artifact())[0], (1, 1, 1), (block, 1, 1), b"\0" * 8))


@pytest.mark.parametrize("there", [True, False])
def test_what_assembles_is_loaded_while_the_driver_starts(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def load(name: str) -> None:
        asked.append(name)
        if not there:
            raise OSError(name)

    monkeypatch.setattr("weft.runtime.cuda.driver.ctypes.CDLL", load)
    before = threading.active_count()
    CudaDriver(Binding())
    assert threading.active_count() == before
    assert asked == ["libnvidia-ptxjitcompiler.so.1"]


def test_a_module_is_loaded_once_for_all_its_kernels() -> None:
    binding = Binding()
    ctx, [one] = context(binding), artifact().kernels
    both = dataclasses.replace(artifact(), kernels=(one, dataclasses.replace(one, entry="other")))
    first, second = ctx.device.load(both)
    assert [f.kernel.entry for f in (first, second)] == ["scale", "other"]
    assert binding.calls.count("cuModuleLoadDataEx") == 1
    assert binding.calls.count("cuModuleGetFunction") == 2
    del first
    gc.collect()
    ctx.device.free_memory()  # gives back what was let go
    assert "cuModuleUnload" not in binding.calls
    del second
    gc.collect()
    ctx.device.free_memory()
    assert binding.calls.count("cuModuleUnload") == 1


def failed(call: Callable[[], object], error: type[DeviceError | LaunchError] = DeviceError) -> Any:
    with pytest.raises(error) as caught:
        call()
    return caught.value.diagnostics[0]


def test_no_usable_driver() -> None:
    with pytest.raises(DriverMissing, match="finds no GPU"):
        CudaDriver(Binding(cuInit=always(100)))
    with pytest.raises(
        DriverMissing, match=r"does not start: text 3 \(CUDA_ERROR_NOT_INITIALIZED\)"
    ) as caught:
        CudaDriver(Binding(cuInit=always(3)))
    assert "nvidia-smi" in caught.value.hint
    old = Binding()
    old.version = 11020
    with pytest.raises(DriverMissing, match=r"too old: it is of CUDA 11\.2, and weft needs 11\.4"):
        CudaDriver(old)


def test_device() -> None:
    ctx = context(Binding())
    assert (ctx.api, ctx.name, ctx.info.target) == ("cuda", "NVIDIA H200", "sm_90")
    assert ctx.memory_info() == (7 << 30, 150 << 30)
    with pytest.raises(DeviceError, match="no device 2 of api 'cuda'; this machine has 2 devices"):
        BaseContext(2, driver=CudaDriver(Binding()))


def test_threads_are_for_a_cpu() -> None:
    with pytest.raises(DeviceError, match="threads=2 is how many threads of the host run kernels"):
        BaseContext(driver=CudaDriver(Binding()), threads=2)


@pytest.mark.parametrize(
    ("capability", "target"), [((8, 9), "sm_89"), ((12, 9), "sm_121"), ((9, 1), "sm_90")]
)
def test_target(capability: tuple[int, int], target: str) -> None:
    binding = Binding()
    binding.attributes["COMPUTE_CAPABILITY_MAJOR"], binding.attributes["COMPUTE_CAPABILITY_MINOR"] = (
        capability
    )
    assert CudaDriver(binding).device_info(0).target == target


def test_gpu_too_old() -> None:
    binding = Binding()
    binding.attributes["COMPUTE_CAPABILITY_MAJOR"] = 6
    with pytest.raises(
        DriverMissing, match=r"NVIDIA H200 has compute capability 6\.0, and weft compiles for 7\.0"
    ):
        CudaDriver(binding).device_info(0)


def test_priorities_are_clamped() -> None:
    binding = Binding()
    ctx = context(binding)
    for asked, given in ((0, 0), (-3, -3), (-99, -5), (99, 0)):
        ctx.create_stream(priority=asked)
        assert binding.priority == given


def test_driver_too_old_for_ptx() -> None:
    binding = Binding()
    binding.version = 12020
    ctx = context(binding)
    ctx.device.load(artifact("8.2"))
    found = failed(lambda: ctx.device.load(artifact("8.6")))
    assert found.message == (
        "kernel 'scale' needs a driver that takes PTX 8.6; "
        "the one here is of CUDA 12.2 and takes PTX up to 8.2"
    )
    assert found.hints == ("install a newer NVIDIA driver: PTX 8.6 came with CUDA 12.7, driver 565",)
    newer = Binding(cuLinkAddData=always(222))
    newer.version = 14000
    assert failed(lambda: context(newer).device.load(artifact("9.9"))).code == "driver-too-old"
    assert ptx_of_driver(13000) == 90


def test_log_of_the_assembler() -> None:
    def refuse(*_: Any) -> tuple[int]:
        text = b"ptxas fatal: line 7; unknown symbol"
        binding.log[: len(text)] = text
        return (218,)

    binding = Binding(cuLinkAddData=refuse)
    found = failed(lambda: context(binding).device.load(artifact()))
    assert binding.calls[-1] == "cuLinkDestroy"
    assert found.message.startswith("the NVIDIA driver cannot assemble kernel 'scale' for NVIDIA H200")
    assert found.notes == ("it says: ptxas fatal: line 7; unknown symbol",)


def test_no_memory() -> None:
    binding = Binding()
    ctx = context(binding)
    with pytest.raises(DeviceError, match=r"no memory on NVIDIA H200 for 200\.0 GiB; 7\.0 GiB are free"):
        ctx.enqueue_create_buffer("uint8", 200 << 30)
    assert "cuMemPoolTrimTo" in binding.calls
    pinned = context(Binding(cuMemHostAlloc=always(2, None)))
    with pytest.raises(DeviceError, match="no host memory for 4000 bytes"):
        pinned.enqueue_create_host_buffer("uint8", 4000)


def test_memory_is_freed_once_the_streams_have_passed() -> None:
    binding = Binding(cuStreamQuery=always(600), cuEventQuery=always(600))
    ctx = context(binding)
    ctx.enqueue_create_buffer("uint8", 100).close()
    ctx.memory_info()
    assert "cuMemFreeAsync" not in binding.calls
    binding.returns["cuEventQuery"] = always(0)
    ctx.memory_info()
    assert binding.calls.count("cuMemFreeAsync") == 1


def test_a_kernel_that_needs_many_registers() -> None:
    found = failed(lambda: launch(context(Binding()), 1024), LaunchError)
    assert "the registers of this kernel allow 640 per block on NVIDIA H200" in found.message


def test_a_fault_is_one_error_and_then_the_context_is_lost() -> None:
    binding = Binding()
    ctx = context(binding)
    buffer = ctx.enqueue_create_buffer("uint8", 100)
    launch(ctx)
    binding.returns["cuStreamSynchronize"] = always(716)
    found = failed(ctx.synchronize)
    assert found.code == "device-fault"
    assert found.message == (
        "kernel 'scale' failed on NVIDIA H200 (cuda:0): a thread accessed memory at an address that is not a "
        "multiple of the access's size (CUDA_ERROR_716)"
    )
    for attempt in (ctx.synchronize, lambda: ctx.enqueue_fill(buffer, 0), ctx.create_stream):
        assert failed(attempt).code == "context-lost"
    ctx.close()
    del binding.returns["cuStreamSynchronize"]
    with context(binding) as new:
        new.synchronize()
        assert "cuDevicePrimaryCtxReset" in binding.calls


def test_a_driver_that_keeps_the_fault() -> None:
    binding = Binding()
    ctx = context(binding)
    binding.returns["cuStreamSynchronize"] = always(700)
    failed(ctx.synchronize)
    binding.returns["cuDevicePrimaryCtxRetain"] = always(700, None)
    found = failed(lambda: context(binding))
    assert found.code == "context-lost"
    assert "start the program anew" in found.hints[0]


def test_refusals_of_the_driver_are_named() -> None:
    ctx = context(Binding(cuMemsetD32Async=always(1)))
    found = failed(lambda: ctx.enqueue_create_buffer("int32", 4).enqueue_fill(7))
    assert found.message == "the NVIDIA driver refused cuMemsetD32Async: CUDA_ERROR_1, text 1"


def test_closing_gives_unused_memory_back() -> None:
    binding = Binding()
    ctx = context(binding)
    assert isinstance(ctx.device, CudaDevice)
    ctx.close()
    ctx.close()
    assert binding.calls.count("cuMemPoolTrimTo") == 1


def two(binding: Binding) -> tuple[BaseContext, BaseContext]:
    driver = CudaDriver(binding)
    return BaseContext(0, driver=driver), BaseContext(1, driver=driver)


def test_a_copy_between_two_gpus_links_them_once() -> None:
    binding = Binding()
    one, other = two(binding)
    here, there = one.enqueue_create_buffer("int32", 8), other.enqueue_create_buffer("int32", 8)
    for _ in range(3):
        one.enqueue_copy(dst=here, src=there)
    assert binding.calls.count("cuMemcpyPeerAsync") == 3
    assert binding.calls.count("cuCtxEnablePeerAccess") == binding.calls.count("cuMemPoolSetAccess") == 1
    with pytest.raises(LaunchError, match=r"the buffer belongs to another context: that is .*cuda:1, NVIDIA"):
        one.enqueue_fill(there, 1)  # that takes enable_peer_access
    one.enable_peer_access(other)
    one.enqueue_fill(there, 1)
    assert binding.calls.count("cuCtxEnablePeerAccess") == 1
    with pytest.raises(LaunchError, match="belongs to another context"):
        other.enqueue_fill(here, 1)


def test_copies_that_leave_the_other_gpu_s_context_current() -> None:
    """What they kept alive is given back by events of their own GPU, though that is not the current one."""
    binding = Binding(cuStreamQuery=always(600))  # not ready: events tell when it will be
    one, other = two(binding)
    here, there = one.enqueue_create_buffer("int32", 8), other.enqueue_create_buffer("int32", 8)
    for _ in range(100):
        one.enqueue_copy(dst=there, src=here)
        other.enqueue_copy(dst=here, src=there)
    assert "cuEventRecord" in binding.calls


@pytest.mark.parametrize("enabled", [704, 711], ids=["by another library", "too many"])
def test_the_driver_s_word_on_peers(enabled: int) -> None:
    one, other = two(Binding(cuCtxEnablePeerAccess=always(enabled)))
    if enabled == 704:
        one.enable_peer_access(other)
        return
    assert failed(lambda: one.enable_peer_access(other)).code == "peer-access"
    one.enqueue_copy(one.enqueue_create_buffer("int32", 8), other.enqueue_create_buffer("int32", 8))


def test_gpus_that_are_not_linked() -> None:
    binding = Binding()
    binding.linked = 0
    one, other = two(binding)
    assert not one.can_access(other)
    found = failed(lambda: one.enable_peer_access(other))
    assert found.message == (
        "kernels on <BaseContext cuda:0, NVIDIA H200> cannot use the memory of "
        "<BaseContext cuda:1, NVIDIA H200>"
    )
    assert found.hints == ("copy: `ctx.enqueue_copy(dst, src)` goes between any two devices",)
    here, there = one.enqueue_create_buffer("int32", 8), other.enqueue_create_buffer("int32", 8)
    one.enqueue_copy(dst=here, src=there)
    refused = failed(lambda: one.enqueue_fill(there, 1), LaunchError)
    assert refused.hints == ("copy it: ctx.enqueue_copy(dst=own, src=theirs)",)
    assert "cuCtxEnablePeerAccess" not in binding.calls
    with pytest.raises(
        LaunchError, match=r"no copy between NVIDIA H200 \(cuda:0\) and NVIDIA H200 \(cuda:1\)"
    ):
        with one.capture():
            one.enqueue_copy(dst=here, src=there)


def test_whose_fault_it_is() -> None:
    """A driver may report a fault of one GPU from calls for another; kernels launched tell."""
    binding = Binding()
    one, other = two(binding)
    launch(other)
    binding.returns["cuStreamSynchronize"] = always(700)
    found = failed(one.synchronize)
    assert found.code == "device-fault"
    assert found.message.startswith("kernel 'scale' failed on NVIDIA H200 (cuda:1): a thread accessed")
    assert failed(one.synchronize).message == (
        "the context of NVIDIA H200 (cuda:0) was lost: NVIDIA H200 (cuda:1) had failed"
    )
    assert failed(other.synchronize).message.startswith(
        "the context of NVIDIA H200 (cuda:1) was lost: a thread"
    )
    binding = Binding()
    one, other = two(binding)
    launch(one)
    launch(other)
    binding.returns["cuStreamSynchronize"] = always(700)
    assert failed(other.synchronize).message.startswith(
        "one of the kernels 'scale' on NVIDIA H200 (cuda:1) and 'scale' on NVIDIA H200 (cuda:0) failed: a "
    )


class TwoGpus(Binding):
    """A driver with the rules of two GPUs: what is current, whose streams, events and memory these are.

    Contexts, streams and events are numbers, the GPU's times a million and more. GPU n has the addresses
    from (n + 1) << 40 on; what is below is host memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.current = 0
        self.number = 0
        self.access: set[tuple[int, int]] = set()
        self.CUhostFn = int

    def new(self) -> tuple[int, int]:
        self.number += 1
        return 0, self.current * 1_000_000 + self.number

    def on_DevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return 0, device * 1_000_000

    def on_CtxSetCurrent(self, context: int) -> tuple[int]:
        self.current = context // 1_000_000
        return (0,)

    def on_StreamCreate(self, flags: Any) -> tuple[int, int]:
        return self.new()

    def on_StreamCreateWithPriority(self, flags: Any, priority: int) -> tuple[int, int]:
        return self.new()

    def on_EventCreate(self, flags: Any) -> tuple[int, int]:
        return self.new()

    def on_EventRecord(self, event: int, stream: int) -> tuple[int]:
        return (0 if event // 1_000_000 == stream // 1_000_000 else 400,)

    def on_MemPoolCreate(self, properties: Any) -> tuple[int, int]:
        return 0, properties.location.id

    def on_MemPoolSetAccess(self, pool: int, accesses: list[Any], count: int) -> tuple[int]:
        self.access.update((access.location.id, pool) for access in accesses)
        return (0,)

    def on_MemAllocFromPoolAsync(self, nbytes: int, pool: int, stream: int) -> tuple[int, int]:
        self.number += 1
        return (0, (pool + 1 << 40) + (self.number << 20)) if stream // 1_000_000 == pool else (400, 0)

    def on_MemHostAlloc(self, nbytes: int, flags: int) -> tuple[int, int]:
        self.number += 1
        return 0, self.number << 20

    def reached(self, stream: int, *addresses: int) -> tuple[int]:
        here = stream // 1_000_000
        owners = [(address >> 40) - 1 for address in addresses if address >> 40]
        return (0 if all(owner == here or (here, owner) in self.access for owner in owners) else 1,)

    def on_MemcpyDtoHAsync(self, dst: int, src: int, nbytes: int, stream: int) -> tuple[int]:
        return self.reached(stream, src)

    def on_MemcpyHtoDAsync(self, dst: int, src: int, nbytes: int, stream: int) -> tuple[int]:
        return self.reached(stream, dst)

    def on_MemcpyDtoDAsync(self, dst: int, src: int, nbytes: int, stream: int) -> tuple[int]:
        return self.reached(stream, dst, src)

    def on_MemsetD32Async(self, address: int, value: int, count: int, stream: int) -> tuple[int]:
        return self.reached(stream, address)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("linked", [0, 1])
@pytest.mark.parametrize("ends", ["device device", "device host", "host device", "host host"])
def test_what_each_gpu_is_asked_to_copy(ends: str, linked: int, closed: bool) -> None:
    """No GPU is given memory of the other that it cannot reach, and every event is of its own stream."""
    binding = TwoGpus()
    binding.linked = linked
    one, other = two(binding)

    def create(ctx: BaseContext, where: str) -> Any:
        call = ctx.enqueue_create_buffer if where == "device" else ctx.enqueue_create_host_buffer
        return call("int32", 8)

    own_where, their_where = ends.split()
    own, theirs = create(one, own_where), create(other, their_where)
    if closed:
        other.close()
    one.enqueue_copy(dst=own, src=theirs)
    one.enqueue_copy(dst=theirs, src=own)
    with one.create_stream() as side:
        one.enqueue_copy(dst=theirs, src=own, stream=side)
    assert binding.calls.count("cuMemcpyPeerAsync") == (3 if ends == "device device" else 0)
    if not closed:
        other.enqueue_wait_for(one)
        one.enqueue_wait_for(other.record_event())
    if linked and not closed:
        one.enable_peer_access(other)
        if their_where == "device":
            one.enqueue_fill(theirs, 1)


def test_a_graph_lets_go_what_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    class Launch:
        argtypes: Any = None

        def __call__(self, *args: Any) -> int:
            return 0

    monkeypatch.setattr(Primary, "library", lambda _: SimpleNamespace(cuLaunchHostFunc=Launch()))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    ctx = context(Binding(cuGraphGetNodes=always(0, [], 1)))
    called = Launch()
    gone = weakref.ref(called)
    with ctx.capture() as graph:
        ctx.enqueue_host_call(called)
    del called
    graph.replay()
    assert gone() is not None
    graph.close()
    ctx.synchronize()
    gc.collect()
    assert gone() is None


def test_threads_that_order_their_work_with_one_stream() -> None:
    """What one has recorded is waited for before another records."""
    binding, threads = Binding(), list[threading.Thread]()
    ctx = context(binding)
    assert isinstance(ctx.device, CudaDevice)
    assert isinstance(ctx.native, CudaStream)
    guest, stream = ctx.device.adopt_stream(1, None), ctx.native

    def record(event: int, of: int) -> tuple[int]:
        if not threads:
            threads.append(threading.Thread(target=guest.follow, args=(stream,)))
            threads[0].start()
            threads[0].join(0.2)
        return (0,)

    binding.returns["cuEventRecord"] = record
    binding.calls.clear()
    guest.follow(stream)
    threads[0].join()
    order = [call for call in binding.calls if call in ("cuEventRecord", "cuStreamWaitEvent")]
    assert order == ["cuEventRecord", "cuStreamWaitEvent"] * 2


def test_what_the_linker_would_spoil_is_loaded_as_text() -> None:
    binding = Binding()
    made = artifact("8.2")
    made = dataclasses.replace(made, code=made.code + b"setmaxnreg.inc.sync.aligned.u32 240;")
    context(binding).device.load(made, kept)
    assert "cuLinkCreate" not in binding.calls
    assert "cuModuleLoadDataEx" in binding.calls


def test_what_the_assembler_made_is_kept(tmp_path: Path) -> None:
    with config.scope(cache_dir=tmp_path):
        for count, (version, code) in enumerate([(13000, "8.2"), (13010, "8.2"), (13010, "8.3")], 1):
            for again in (False, True):
                binding = Binding()
                binding.version = version
                context(binding).device.load(artifact(code), kept)
                assert ("cuLinkComplete" in binding.calls) is not again
                assert "cuModuleLoadDataEx" in binding.calls
            assert len(list((tmp_path / NAME).glob("*.weft"))) == count
