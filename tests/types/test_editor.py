"""What an editor shows of public names: signatures that a person can read, their words, their source."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import weft
from language_server import LanguageServer
from type_checks import configure

pytest.importorskip("pyright", reason="pyright is not installed: pip install 'weft[dev]'")
ASKED = """
= DeviceContext, ctx.enqueue_create_buffer, ctx.enqueue_copy, ctx.enqueue_function, ctx.compile_function
ctx.synchronize, buffer.tensor, scale.bind, enqueue_function(scale, ready, bound, partly
enqueue_function(tuned, @autotune
x: Pointer, t: LayoutTensor, soa: SoA, v: SIMD, factor: Comptime, x: Pointer[Float32
i = global_idx, = global_idx.x, = stack_allocation, AddressSpace.SHARED, Layout.row_major, barrier()
    items, = InlineArray, = relu, math.exp, math.clamp, 2.0).norm, ).cast, x.store, x.load
t.tile, t.dim, t.vectorize, .copy_from, Atomic.fetch_add, warp.sum, block.sum, v.reduce_add, v.shuffle
= vec3, + iota, @struct, @func, @kernel
tile.tile_kernel, tile.load, tile.exp, row.max, tile.zeros, tile.dot, tile.store
"""
"""Pieces of the program, the last name of which an editor asks about."""
_VARIABLES = {"items", "partly"}
"""They have no words of their own."""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageServer]:
    folder = tmp_path_factory.mktemp("editor")
    configure(folder)
    program = folder / "program.py"
    text = (Path(__file__).parent / "editor.txt").read_text(encoding="utf-8")
    program.write_text("\n".join((text, *public_names(), "")), encoding="utf-8")
    with LanguageServer(program) as server:
        yield server


def public_names() -> list[str]:
    rooms = "algorithm atomic benchmark bit compile complex config diagnostics ffi gpu gpu.block gpu.cluster "
    rooms += (
        "gpu.host gpu.memory gpu.mma gpu.sync gpu.warp gpu.wgmma interop kernels lang layout linalg math "
    )
    rooms += "memory numerics random sys tensor testing tile tuning layout.tensor_core layout.tma_async"
    names = ["weft", *(f"weft.{room}" for room in rooms.split())]
    named = {name: importlib.import_module(name) for name in names}
    return [f"{name}.{n}" for name, room in named.items() for n in room.__all__ if n[:2] != "__"]


def pieces() -> list[str]:
    lines = [line.split(", ") for line in ASKED.strip("\n").splitlines()]
    return [piece.removesuffix("()") for line in lines for piece in line]


def test_hovers_and_jumps(editor: LanguageServer, golden: Callable[[str, str], None]) -> None:
    shown: list[str] = []
    for piece in pieces():
        signature, text = editor.hover(piece)
        jumps = editor.jumps(piece)
        assert text or piece.strip() in _VARIABLES, piece
        assert any(path.suffix == ".py" for path, _ in jumps), piece
        shown += [signature, *(f"    {line}" for line in text.splitlines()[:1])]
        shown += [f"    > {path.name}: {line.strip()}" for path, line in jumps if path.suffix == ".py"]
    golden("hovers.txt", "\n".join(shown) + "\n")


def test_every_public_name_has_words_and_source(editor: LanguageServer) -> None:
    for name in public_names():
        assert editor.hover(f"\n{name}\n")[1], name
        assert any(path.suffix == ".py" for path, _ in editor.jumps(f"\n{name}\n")), name


def test_completions(editor: LanguageServer) -> None:
    assert editor.completions("= global_idx.") == ["x", "y", "z"]
    public = {name for name in dir(weft) if name[:2] != "__"}
    assert public <= {*editor.completions("\nweft.")}
    assert {"gpu", "math", "kernels", "tile"} <= public
    assert {"enqueue_copy", "enqueue_function", "synchronize"} <= {*editor.completions("\nctx.")}
    assert {"max", "sum", "argmax"} <= {*editor.completions("- row.")}
