"""The examples run alone and by ``weft run``, and print what the same programs print elsewhere.

``golden/print_threads.txt``, ``scalar_add.txt`` and ``vector_addition.txt`` are what Mojo prints for
its own versions; the pictures in ``downsample.txt`` are those of the blog post that the example follows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

EXAMPLES = Path(__file__).parents[2] / "examples"
PYTHON = [sys.executable]
WEFT_RUN = [sys.executable, "-m", "weft", "run"]
WAYS = pytest.mark.parametrize("way", [PYTHON, WEFT_RUN], ids=["python", "weft run"])


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., str]:
    """Runs an example on each device in turn, in a folder of its own; gives what it printed."""

    def run(way: list[str], name: str, *args: object) -> str:
        command = [*way, str(EXAMPLES / name), *map(str, args)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            env={**os.environ, "WEFT_DEVICE": request.param, "PYTHONIOENCODING": "utf-8"},
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return run


def pixels_of(path: Path) -> npt.NDArray[np.uint8]:
    with Image.open(path) as picture:
        return np.asarray(picture)


@WAYS
@pytest.mark.parametrize("name", ["scalar_add", "vector_addition", "downsample"])
def test_golden(
    output: Callable[..., str], golden: Callable[[str, str], None], way: list[str], name: str
) -> None:
    golden(f"{name}.txt", output(way, f"{name}.py"))


@WAYS
def test_print_threads(output: Callable[..., str], way: list[str]) -> None:
    lines = output(way, "print_threads.py").splitlines()
    expected = (Path(__file__).parent / "golden" / "print_threads.txt").read_text(encoding="utf-8")
    assert sorted(lines) == sorted(expected.splitlines())
    assert lines[-1] == "Done"


def test_detect_gpu(output: Callable[..., str]) -> None:
    assert output(PYTHON, "detect_gpu.py") in ("GPU detected\n", "No GPU detected\n")


def test_grayscale(output: Callable[..., str]) -> None:
    text = output(PYTHON, "grayscale.py")
    assert text == "✅ grid and block: same as NumPy\n✅ over=(height, width): same as NumPy\n"


@pytest.mark.parametrize("name", ["softmax", "histogram", "matmul_mma"])
def test_as_numpy(output: Callable[..., str], name: str) -> None:
    assert output(PYTHON, f"{name}.py") == "as NumPy\n"


def test_transpose(output: Callable[..., str]) -> None:
    lines = output(PYTHON, "transpose.py").splitlines()
    assert [line.partition(":")[2].strip()[:17] for line in lines[:2]] == ["no bank conflicts"] * 2
    assert lines[2:] == ["as NumPy"]


def test_block_sum(output: Callable[..., str]) -> None:
    lines = output(PYTHON, "block_sum.py").splitlines()
    assert lines == [f"by {way}: 7500003, NumPy: 7500003" for way in ("blocks", "warps")]


def test_hopper_matmul(output: Callable[..., str]) -> None:
    assert output(PYTHON, "hopper_matmul.py").endswith(": as NumPy has it\n")


def test_compile_info(output: Callable[..., str]) -> None:
    text = output(PYTHON, "compile_info.py")
    assert '"func.func"() <{"sym_name" = "hello"' in text
    assert 'target triple = "nvptx64-nvidia-cuda"' in text
    assert "define dso_local ptx_kernel void @kernel$hello()" in text
    assert "memory(none)" in text
    assert re.search(r"\.version 7\.0\n\.target sm_80\n\.address_size 64\n", text)
    assert ".visible .entry hello()" in text


def test_mandelbrot(output: Callable[..., str], tmp_path: Path) -> None:
    text = output(PYTHON, "mandelbrot.py")
    same = re.search(r"([\d.]+)% of the pixels are the same", text)
    assert same is not None
    # a GPU rounds a product and a sum once, which shows where points hardly escape
    least = 99 if "a thread per pixel, NVIDIA" in text else 100
    assert float(same[1]) >= least
    picture = pixels_of(tmp_path / "out" / "mandelbrot.png")
    height, width, _ = picture.shape
    assert picture[height // 2, width * 2 // 3].tolist() == [0, 0, 0]  # the origin is in the set
    assert picture[0, 0].tolist() != [0, 0, 0]
    mirrored = picture[1:] == picture[1:][::-1]
    assert mirrored.mean() > 0.99  # but for rounding it is its own mirror image


def test_demo_with_the_default_photograph(output: Callable[..., str], tmp_path: Path) -> None:
    text = output(PYTHON, "demo.py")
    assert text.count("the same") == 3
    assert "512 x 600" in text
    names = ["grayscale.png", "downsampled_by_2.png", "downsampled_by_4.png"]
    shapes = [pixels_of(tmp_path / "out" / name).shape for name in names]
    assert shapes == [(600, 512), (300, 256, 3), (150, 128, 3)]
    assert all(str(Path("out") / name) in text for name in names)


def test_demo_with_a_photograph_of_odd_size(output: Callable[..., str], tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (33, 47, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    text = output(WEFT_RUN, "demo.py", "photo.png")
    assert text.count("the same") == 3
    quarter = pixels_of(tmp_path / "out" / "downsampled_by_4.png")
    expected = pixels[:32, :44].reshape(8, 4, 11, 4, 3).mean(axis=(1, 3))
    assert np.abs(quarter - expected).max() <= 0.51
