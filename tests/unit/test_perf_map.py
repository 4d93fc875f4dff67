"""What ``perf`` is told of kernels: their names, and where they lie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft import Float32, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.runtime.cpu import perf_map
from weft.runtime.cpu.elf import symbols


@kernel
def bumped(x: Pointer[Float32]):
    x[global_idx.x] += 1.0


PROGRAM = """
import os
from weft import Float32
from weft.gpu.host import DeviceContext
from test_perf_map import bumped

ctx = DeviceContext(api="cpu")
x = ctx.enqueue_create_buffer(Float32, 32)
ctx.enqueue_function(bumped, x, grid_dim=1, block_dim=32)
ctx.synchronize()
print(os.getpid())
"""


def test_symbols_of_an_object_file() -> None:
    code = compile_info(bumped, target="x86-64", emission_kind="object").code
    assert isinstance(code, bytes)
    (entry,) = [each for each in symbols(code) if each.name == "kernel$bumped"]
    assert 0 < entry.size <= entry.whole <= len(code)
    assert not list(symbols(b"MZ" + code[2:]))


@pytest.mark.skipif(sys.platform != "linux", reason="perf is Linux's")
@pytest.mark.parametrize("wanted", ["0", "1"])
def test_names_are_told_where_that_is_asked_for(wanted: str) -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "WEFT_PERF_MAP": wanted}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    found = Path(f"/tmp/perf-{done.stdout.strip()}.map")
    assert found.exists() == (wanted == "1")
    if found.exists():
        rows = [line.split(" ", 2) for line in found.read_text().splitlines()]
        found.unlink()
        assert "bumped" in [name for _, _, name in rows]
        assert all(int(start, 16) > 1 << 16 and int(size, 16) > 0 for start, size, _ in rows)


def test_addresses_follow_the_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = compile_info(bumped, target="x86-64", emission_kind="object").code
    assert isinstance(code, bytes)

    def elsewhere(_: str) -> Path:
        return tmp_path / "map"

    monkeypatch.setattr(perf_map, "Path", elsewhere)
    perf_map.note(code, "kernel$bumped", 0x70000)
    rows = [line.split(" ", 2) for line in (tmp_path / "map").read_text().splitlines()]
    assert ["70000", "bumped"] in [[start, name] for start, _, name in rows]
