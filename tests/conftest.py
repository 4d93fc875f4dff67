"""What all tests share: golden files, the skip of tests that need a GPU, a cache of their own."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from gpu_turns import gpu_turn
from ptxas import find_ptxas

if TYPE_CHECKING:
    from weft.gpu.host import DeviceContext

hypothesis.settings.register_profile("weft", deadline=None)
hypothesis.settings.load_profile("weft")

Golden = Callable[[str, str], None]

DEVICES = [os.environ.get("WEFT_TEST_HOST", "cpu"), pytest.param("cuda", marks=pytest.mark.gpu)]
"""What tests of any device run on: the processor, or as ``WEFT_TEST_HOST=interpreter`` says, and a GPU."""


def pytest_configure() -> None:
    """Interrupts are tested: a shell lets what it starts in the background ignore them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what the tests produce into the golden files"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(name, text)`` compares the text with the file ``golden/name`` beside the test.

    ``pytest --update-golden`` writes the file instead; read the difference before you commit it.
    """
    folder = request.path.parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def check(name: str, text: str) -> None:
        __tracebackhide__ = True
        path = folder / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"{path} does not exist; pytest --update-golden writes it")
        expected = path.read_text(encoding="utf-8")
        assert text == expected, f"differs from {path}; pytest --update-golden accepts it"

    return check


@pytest.fixture
def assemble(tmp_path: Path) -> Callable[[str, str], str]:
    """What ``ptxas`` has to say of a text for a GPU; nothing, where it takes it."""
    program = find_ptxas()
    if program is None:
        pytest.skip("no ptxas: neither from nvidia-cuda-nvcc-cu12 nor on the PATH")

    def run(ptx: str, arch: str) -> str:
        made = tmp_path / "kernel.cubin"
        command = [program, "-arch", arch, "-o", str(made), "-"]
        done = subprocess.run(command, input=ptx.encode(), capture_output=True)
        said = done.stderr.decode().strip()
        assert bool(said) >= bool(done.returncode), f"exit status {done.returncode}, and no reason"
        assert made.exists() == (done.returncode == 0)
        return said

    return run


@functools.cache
def missing_gpu() -> str | None:
    """Why no NVIDIA GPU can be used here, or none if one can."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return f"no NVIDIA driver here ({library} cannot be loaded)"
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "the NVIDIA driver finds no GPU here"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") is not None:
            reason = missing_gpu()
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """What is collected stays: without the search of thousands of tests for garbage each is shorter."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests on a GPU go beside each other, in as many processes as there are; ``gpu_memory`` goes alone.

    All of a test does, the fixtures of the session that it is the first to ask for among it.
    """
    if item.get_closest_marker("gpu") is None:
        return (yield)
    with gpu_turn(alone=item.get_closest_marker("gpu_memory") is not None):
        return (yield)


@pytest.fixture(params=DEVICES)
def any_context(request: pytest.FixtureRequest) -> Iterator[DeviceContext]:
    """A context on each device in turn, for tests of what must be the same on all of them."""
    from weft.gpu.host import DeviceContext

    with DeviceContext(api=request.param) as context:
        yield context


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> DeviceContext:
    """A context on each device in turn, kept for the whole run."""
    from weft.gpu.host import DeviceContext

    return DeviceContext(api=request.param)


@pytest.fixture(scope="session", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tests neither read nor fill the user's cache, and take the device that they name."""
    folder = tmp_path_factory.mktemp("weft-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFT_CACHE_DIR", str(folder))
        patch.delenv("WEFT_DEVICE", raising=False)
        yield folder


@pytest.fixture(scope="session")
def under_sanitizer() -> bool:
    """Whether NVIDIA's compute-sanitizer watches this process: it delays kernels and takes memory."""
    maps = Path("/proc/self/maps")
    return maps.exists() and "sanitizer" in maps.read_text(errors="replace")


@functools.cache
def missing_second_gpu() -> str | None:
    """Why no second NVIDIA GPU can be used here, or none if one can."""
    from weft.gpu.host import DeviceContext

    count = DeviceContext.number_of_devices(api="cuda")
    return None if count > 1 else f"needs two NVIDIA GPUs; this machine has {'one' if count else 'none'}"


@pytest.fixture
def open_device() -> Iterator[Callable[[str], DeviceContext]]:
    """``open_device("cuda:1")`` is a context of that device; the test is skipped where it is missing."""
    from weft.gpu.host import DeviceContext

    opened: list[DeviceContext] = []

    def open_device(name: str) -> DeviceContext:
        api, _, number = name.partition(":")
        reason = missing_second_gpu() if number == "1" else None
        if reason is not None:
            pytest.skip(reason)
        opened.append(DeviceContext(int(number or 0), api=api))
        return opened[-1]

    yield open_device
    for context in opened:
        context.close()


@pytest.fixture
def two_gpus(open_device: Callable[[str], DeviceContext]) -> tuple[DeviceContext, DeviceContext]:
    """Contexts of two GPUs; the test is skipped where there is only one."""
    return open_device("cuda:0"), open_device("cuda:1")
