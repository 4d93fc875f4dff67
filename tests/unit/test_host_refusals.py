"""What is refused or shown: writes after a mapping's end, where queued work failed, indices in text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from weft import DeviceError, Float32, Int, LaunchError, Pointer, Tensor, kernel
from weft.gpu import block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import stack_allocation


@pytest.fixture
def ctx() -> DeviceContext:
    return DeviceContext(api="cpu")


def test_a_mapping_ends_with_its_block(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 3)
    with buffer.map_to_host() as host:
        host[:] = [1.0, 2.0, 3.0]
    for use in (lambda: host[0], lambda: host.__setitem__(0, 5.0), host.numpy):
        with pytest.raises(LaunchError, match="this HostBuffer of 3 float32 is closed"):
            use()
    with pytest.raises(ValueError, match="broadcast"), buffer.map_to_host() as other:
        other.numpy()[:2] = range(3)
    assert other.closed
    with buffer.map_to_host() as host:
        assert list(host) == [1.0, 2.0, 3.0]


def test_a_mapping_whose_host_buffer_was_closed(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 3)
    with pytest.raises(LaunchError, match="is closed"), buffer.map_to_host() as host:
        host.close()


def test_a_closed_tensor_is_called_one() -> None:
    tensor = Tensor(Float32, (3,))
    tensor.close()
    with pytest.raises(LaunchError, match="this Tensor of 3 float32 is closed"):
        tensor.numpy()


def test_where_queued_work_failed(ctx: DeviceContext) -> None:
    def fails() -> None:
        int("x")

    ctx.enqueue_host_call(fails)
    with pytest.raises(DeviceError, match="ValueError: invalid literal") as failed:
        ctx.synchronize()
    [found] = failed.value.diagnostics
    assert found.location is not None
    assert (found.location.file, found.location.line) == (__file__, fails.__code__.co_firstlineno + 1)
    assert isinstance(failed.value.__cause__, ValueError)


def test_run_shows_where_queued_work_failed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    lines = [
        "import json",
        "from weft.gpu.host import DeviceContext",
        "ctx = DeviceContext(api='cpu')",
        "ctx.enqueue_host_call(lambda: json.loads('{'))",
        "ctx.synchronize()",
    ]
    program.write_text("\n".join(lines), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "weft", "run", str(program)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "error[queued-work]: work queued on the CPU raised JSONDecodeError" in ended.stderr
    assert f"{program}:4:" in ended.stderr  # the innermost line that is the user's, not the library's


@kernel
def shows_places() -> None:
    print(thread_idx, f"{block_idx} {global_idx}", str(thread_idx), [global_idx])


def test_indices_print_as_three_numbers(ctx: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    ctx.enqueue_function(shows_places, grid_dim=(1, 2), block_dim=1)
    ctx.synchronize()
    lines = sorted(capsys.readouterr().out.splitlines())
    places = [(0, y, 0) for y in range(2)]
    assert lines == [f"{(0, 0, 0)} {p} {p} {(0, 0, 0)} {[p]}" for p in places]
    assert "object at 0x" not in repr(thread_idx) + repr(global_idx)


@kernel
def reversed_by_four(x: Pointer[Int]):
    own = stack_allocation(Int, 4)
    for i in range(4):
        own[i] = x[i]
    x.store(0, own.load(0, width=4).shuffle(3, 2, 1, 0))
    x[4] = own[3]
    x[5] = (own + 2)[1]


def test_memory_of_a_known_size(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Int, 6)
    with buffer.map_to_host() as host:
        host[:] = range(6)
    ctx.enqueue_function(reversed_by_four, buffer, grid_dim=1, block_dim=1)
    with buffer.map_to_host() as host:
        assert list(host) == [3, 2, 1, 0, 3, 3]
