"""Kernels of a program compiled together: each has what it has alone, byte for byte.

What is expected is what each kernel gives that was compiled by itself, and NumPy's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from benchmarks.kernels.program import kernels

from weft import CompileError, Comptime, Float32, Int, LaunchError, Pointer, config, func, kernel
from weft.abi.artifact import Artifact
from weft.compiler.cache import compile_kernels
from weft.compiler.cache.program import Together
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import Instance, Program
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.launch import context as launches
from weft.launch.ahead import specs_ahead
from weft.targets import find_target

FACTOR = 3


@func
def scaled(x: Float32) -> Float32:
    return x * FACTOR


@func
def scaled_1(x: Float32) -> Float32:
    """Named as another one is that has to give way."""
    return scaled(x) - 1.0


@func
def told(x: Float32, i: Int) -> Float32:
    if i == 0:
        print("first", x)
    assert x < 1e30, f"{x} is too much"
    return x


@kernel
def first(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        x[i] = told(scaled(x[i]), i)


@kernel
def second(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        x[i] = scaled_1(x[i]) + scaled(x[i])


@kernel
def third(x: Pointer[Float32], *, n: Comptime[int]):
    x[global_idx.x] = told(scaled_1(x[global_idx.x]), n)


@kernel
def wrong(x: Pointer[Float32]):
    x[global_idx.x] = scaled(x[global_idx.x], 1)  # pyright: ignore[reportCallIssue]


def of_this_file(target: str) -> list[Instance]:
    even = find_target(target).threads == "loops"
    found: list[Instance] = []
    for made in (second, first, third.bind(n=0), third.bind(n=1), second, first):
        specs = specs_ahead(made)
        assert specs is not None
        options = CompileOptions(distinct=len(found) % 2 == 0, even=even and len(found) > 3)
        found.append(Instance(made, specs.by_name, options))
    return found


def of_the_benchmark(_: str) -> list[Instance]:
    """Kernels of all kinds and types, every seventh of them."""
    found: list[Instance] = []
    for made in kernels()[::7]:
        specs = specs_ahead(made)
        assert specs is not None
        found.append(Instance(made, specs.by_name, CompileOptions(distinct=True)))
    return found


def the_artifact(artifact: Artifact) -> Artifact:
    return artifact


def together(instances: list[Instance], target: str, jobs: int, folder: Path) -> list[Artifact]:
    with config.scope(cache_dir=folder), Together(find_target(target), jobs, the_artifact) as begun:
        pending = [begun.begin(instance) for instance in instances]
        return [each.result() for each in pending]


def kept(folder: Path) -> dict[str, bytes]:
    """The files of a cache."""
    return {path.name: path.read_bytes() for path in folder.rglob("*.weft")}


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
@pytest.mark.parametrize("of", [of_this_file, of_the_benchmark])
@pytest.mark.parametrize("target", ["sm_90", "x86-64", "interpreter"])
def test_each_is_what_it_is_alone(of: Any, target: str, tmp_path: Path) -> None:
    instances = of(target)
    if of is of_the_benchmark and target != "sm_90":
        instances = instances[::4]
    with config.scope(cache_dir=tmp_path / "alone"):
        alone = [compile_kernels([instance], target) for instance in instances]
    assert together(instances, target, 1, tmp_path / "one") == alone
    assert together(instances[::-1], target, 3, tmp_path / "three")[::-1] == alone
    assert together(instances, target, 2, tmp_path / "alone") == alone
    names = {path.name: path.read_bytes() for path in (tmp_path / "alone").rglob("*.weft")}
    for other in ("one", "three"):  # under the same keys
        assert {
            path.name: path.read_bytes() for path in (tmp_path / other).rglob("*.weft")
        }.items() <= names.items()


def test_helpers_are_elaborated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run, names = Elaborator._run, list[str]()  # pyright: ignore[reportPrivateUsage]

    def noted(self: Elaborator, fn: Any, *rest: Any) -> Any:
        names.append(fn.name)
        return run(self, fn, *rest)

    monkeypatch.setattr(Elaborator, "_run", noted)
    program = Program("sm_90")
    for instance in of_this_file("sm_90"):
        program.elaborate(instance)
    assert names.count("scaled") == names.count("scaled_1") == 1
    assert names.count("told") == 4  # it tells, so that each kernel has its own


def test_one_that_is_wrong_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(wrong.definition)}
    with config.scope(cache_dir=tmp_path), Together(find_target("sm_90"), 2, the_artifact) as begun:
        [one, *_] = of_this_file("sm_90")
        before = begun.begin(one)
        with pytest.raises(CompileError, match="scaled takes 1"):
            begun.begin(Instance(wrong, specs))
        after = begun.begin(one)
        assert before.result() == after.result()


# -- DeviceContext.compile_functions -----------------------------------------------------------------
@pytest.fixture
def ctx() -> Iterator[DeviceContext]:
    with DeviceContext(api="cpu") as made:
        yield made


def result(ctx: DeviceContext, compiled: Any) -> list[float]:
    x = np.arange(1, 5, dtype=np.float32)
    ctx.enqueue_function(compiled, x, 4, grid_dim=1, block_dim=16)
    ctx.synchronize()
    return x.tolist()


def test_what_is_compiled_together_is_launched(ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ctx.compile_functions(iter([second, third, third.bind(n=2), second]), jobs=2)
    names = [str(each).partition(" on ")[0] for each in made]
    again, unbound, bound = (f"<compiled kernel {name}" for name in ("second", "third", "third, n=2"))
    assert names == [again, unbound, bound, again]  # of the second, n is said when it is launched

    def never(*_: Any) -> Any:
        raise AssertionError("it was compiled before")

    monkeypatch.setattr(launches, "compile_kernel", never)
    assert result(ctx, made[0]) == [5.0, 11.0, 17.0, 23.0]
    assert ctx.compile_functions([]) == []


def test_what_a_shared_helper_reads_counts_for_each(
    ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is elaborated with a helper that was elaborated for the first."""
    copy = kernel(cast(Any, second.definition.function))
    [_, made] = ctx.compile_functions([second, copy])
    assert result(ctx, made) == [5.0, 11.0, 17.0, 23.0]
    monkeypatch.setitem(globals(), "FACTOR", 2)
    assert result(ctx, made) == [3.0, 7.0, 11.0, 15.0]


def test_what_is_no_kernel_is_refused(ctx: DeviceContext) -> None:
    refused: Any = scaled
    with pytest.raises(LaunchError, match="scaled is a @func"):
        ctx.compile_functions([second, refused])
    with pytest.raises(LaunchError, match="jobs='2' is no number of workers"):
        ctx.compile_functions([second], jobs="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(CompileError, match="scaled takes 1"):
        ctx.compile_functions([second, wrong])
