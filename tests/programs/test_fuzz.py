"""The fuzzer's first programs on each device; ``python -m tests.fuzz`` runs as many as one likes."""

from __future__ import annotations

import itertools
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.fuzz.generate import generate
from tests.fuzz.judge import FINE, Judge
from tests.fuzz.kinds import INT, KINDS, bits_of, convert, literal
from tests.fuzz.machine import run_model
from tests.fuzz.program import Argument, Program, model_text, weft_text
from tests.fuzz.scalars import Number
from tests.fuzz.shrink import shrunk

PROGRAMS = {"cpu": 120, "threads": 10, "checked": 12, "interpreter": 24, "cuda": 190}
JOBS = 2


@pytest.mark.parametrize("gpu", [False, pytest.param(True, marks=pytest.mark.gpu)], ids=["hosts", "cuda"])
def test_first_programs(gpu: bool) -> None:
    """All ways of the host in one process, where the model runs each program once."""
    ways = {way: count for way, count in PROGRAMS.items() if (way == "cuda") == gpu}

    def judged(first: int) -> dict[tuple[int, str], str]:
        with Judge(list(ways), 120.0) as judge:
            found = {
                (seed, way): judge.ask(seed, way)
                for seed in range(first, max(ways.values()), JOBS)
                for way, count in ways.items()
                if seed < count
            }
        return {key: f"{v.name}: {v.detail}" for key, v in found.items() if not v.fine}

    with ThreadPoolExecutor(JOBS) as pool:
        failed = {key: said for part in pool.map(judged, range(JOBS)) for key, said in part.items()}
    how = "python -m tests.fuzz --device WAY --programs 1 --seed N shows and shrinks one"
    assert not failed, how + "".join(
        f"\n--- seed {seed}, {way} ---\n{said}" for (seed, way), said in sorted(failed.items())
    )


OUT = Argument("out", "pointer", "Int64", [0] * 4)


def written(body: str, launch: dict[str, Any]) -> list[int]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    program = Program(f"@kernel\ndef program(out: Pointer[Int64]):\n{lines}", [OUT], launch)
    return run_model(program).arrays["out"].tolist()


def test_the_model_waits_at_barriers() -> None:
    body = "s = stack_allocation(Int64, 4, address_space=AddressSpace.SHARED)\n"
    body += "s[thread_idx.x] = thread_idx.x * 7\n"
    turned = "out[thread_idx.x] = s[(thread_idx.x + 1) % 4]"
    four = {"grid_dim": [1], "block_dim": [4]}
    assert written(f"{body}barrier()\n{turned}", four) == [7, 14, 21, 0]
    with pytest.raises(TypeError):  # nothing is there yet
        written(f"{body}{turned} + 1", four)


def test_the_model_rounds_and_wraps_once() -> None:
    bfloat, half = KINDS["BFloat16"], KINDS["Float16"]
    assert bits_of(bfloat, literal(1 + 2**-8 + 2**-30, bfloat)) == 0x3F81  # by way of Float32 it would be 1
    assert float(convert(2**53 + 1, INT, half)) == float("inf")
    assert convert(literal(-200.5, KINDS["Float64"]), KINDS["Float64"], KINDS["Int8"]) == -128
    assert written("out[0] = Int8(100) + 100\nout[1] = -7 // Int64(2)", {"over": [1]})[:2] == [-56, -4]


FLOATS = [0.5, -0.0, 3.0, -7.25, 1e-300, 1e300, 0.1, -2.5, 1e16, 7.0, float("inf"), float("nan")]


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod".split())
def test_the_model_of_floats_is_python(name: str) -> None:
    kind, apply = KINDS["Float64"], getattr(operator, name)
    with np.errstate(all="ignore"):
        for a, c in itertools.product(FLOATS, FLOATS):
            if c != 0:
                found = apply(Number(kind, np.float64(a)), Number(kind, np.float64(c)))
                assert repr(float(found.value)) == repr(apply(a, c)), (a, c)


def test_marks_are_for_the_model() -> None:
    text = "def f(x):\n    return _times(x, _Int32(3)) + _power(x, 2)"
    assert "return x * 3 + x ** 2" in weft_text(text)
    assert "return _times(x, 3) + _power(x, 2)" in weft_text(text, apart=True)
    assert "p = p.replaced(q=p.q.replaced(x=1))" in model_text("p.q.x = 1")


def test_type_variables_are_written_in_two_ways() -> None:
    text = "TI = TypeVar('TI', bound=Integer)\nK = _variable('K', Int8, Floating)\n"
    text += "@func\ndef f(x: TI, y: K) -> TI:\n    return x\n@struct\nclass R(Generic[TI]):\n    x: TI\n"
    text += "def g(x: Int8):\n    pass\n"
    found = weft_text(text, brackets=True)
    assert "TypeVar(" not in found
    assert "def f[TI: Integer, K: Floating](x: TI, y: K) -> TI:\n" in found
    assert "class R[TI: Integer]:\n" in found
    assert "def g(x: Int8):\n" in found


def test_the_model_meets_in_warps_and_blocks() -> None:
    body = "own = thread_idx.x\nv = warp.shuffle_up(own, 3, width=16)\n"
    body += "w = warp.prefix_sum(own) if own < 32 else 0\n"
    body += "t = block.sum(own)\nif own == 17:\n    out[0] = v\n    out[1] = t\n"
    body += "if own == 20:\n    out[2] = w\n    out[3] = v"
    with pytest.raises(AssertionError, match="threads"):  # a part of the block does not come to it
        written(body.replace("if own < 32", "if own < 16"), {"grid_dim": [1], "block_dim": [64]})
    assert written(body, {"grid_dim": [1], "block_dim": [64]}) == [17, 2016, 210, 17]


FORMS = """map_shared_rank( cluster_sync() cluster_wait() grid_sync() named_barrier( named_barrier_arrive(
stride=4 blocked_to_striped( striped_to_blocked( radix_sort( .transpose() .copy_from( .tile[
.distribute[ .vectorize[ .tiles( .gather( .scatter( strided_load( strided_store( mask= .interleave(
.join( .slice( .select( Float8_e4m3fn Float8_e5m2 Float16 BFloat16 saturating_cast bitcast random.
bit. match enum. NamedTuple dataclass __post_init__ .register Generic TypeVar depth= lambda nonlocal
unroll( compare_exchange Atomic.fetch_ TABLE elementwise( map( map_reduce( parallelize( reduce(
scan( sort( vectorize( Matrix Quaternion Complex warp.shuffle warp.ballot( block.histogram( print(
assert break continue := while for default= SoA over"""


def test_each_form_is_made() -> None:
    missing = FORMS.split()
    for seed in range(1000):
        p = generate(seed)
        text = f"{p.text}\n{p.launch} {['SoA' for a in p.arguments if a.form == 'soa']}"
        missing = [form for form in missing if form not in text]
        if not missing:
            return
    assert not missing


def test_the_model_meets_across_blocks() -> None:
    body = "own = thread_idx.x\ns = stack_allocation(Int64, 1, address_space=AddressSpace.SHARED)\n"
    body += "s[0] = block_idx.x + 5\ncluster_sync()\n"
    body += "out[block_idx.x] = map_shared_rank(s, block_rank_in_cluster() ^ 1)[0]\ncluster_sync()"
    two = {"grid_dim": [4], "block_dim": [1], "cluster_dim": [2]}
    assert written(body, two) == [6, 5, 8, 7]
    body = "out[block_idx.x] = block_idx.x * 3\ngrid_sync()\nx = out[(block_idx.x + 1) % 4]\ngrid_sync()\n"
    assert written(
        f"{body}out[block_idx.x] = x", {"grid_dim": [4], "block_dim": [1], "cooperative": True}
    ) == [*(3, 6, 9, 0)]


def test_the_model_waits_at_named_barriers() -> None:
    body = "own = thread_idx.x\ns = stack_allocation(Int64, 64, address_space=AddressSpace.SHARED)\n"
    body += (
        "if own >= 32:\n    s[own] = own\n    named_barrier_arrive(3, 64)\nelse:\n    named_barrier(3, 64)\n"
    )
    body += "    if own < 4:\n        out[own] = s[own + 32]"
    launch = {"grid_dim": [1], "block_dim": [64]}
    assert written(body, launch) == [32, 33, 34, 35]
    with pytest.raises(AssertionError, match="wait"):  # more are said to come than do
        written(body.replace("(3, 64)", "(3, 96)"), launch)


def test_the_model_copies_views_as_numpy_does() -> None:
    body = "t = stack_allocation(Int64, Layout.row_major(2, 2))\nfor i in range(4):\n"
    body += "    t[i // 2, i % 2] = i + 1\n"
    body += "t[:] = t.transpose()\nt[1:] += t[:1]\nfor i in range(4):\n    out[i] = t[i // 2, i % 2]"
    x = np.array([[1, 2], [3, 4]])
    x[:] = x.T
    x[1:] += x[:1]
    assert written(body, {"over": [1]}) == x.reshape(-1).tolist()


def test_a_program_is_its_seed() -> None:
    assert generate(7).to_json() == generate(7).to_json() != generate(8).to_json()
    assert Program.from_json(generate(7).to_json()) == generate(7)


WRONG = """
@kernel
def program(out: Pointer[Int64]):
    for i in range(3):
        out[i] = i * i
    out[3] = 1 if out[0] == 0 else {0}
"""


def test_what_is_wrong_is_found_and_made_smaller() -> None:
    """Each verdict but the good one, of programs that are told wrongly to the model or to weft."""
    with Judge(["cpu"], 20.0) as judge:
        right = Program(WRONG.format(2), [OUT], {"over": [1]})
        assert judge.ask(right).name == FINE
        unequal = Program(WRONG.format(2).replace("i * i", "_Int8(i * 100)"), [OUT], {"over": [1]})
        found = judge.ask(unequal)
        assert found.name == "different"
        small = shrunk(unequal, lambda p: found.like(judge.ask(p)), 20.0)
        assert "out[3]" not in small.text
        unknown = WRONG.format(2).replace("i * i", "unknown")
        assert judge.ask(Program(unknown, [OUT], {"over": [1]})).name == "model"
        assert judge.ask(Program(WRONG.format("[].x"), [OUT], {"over": [0]})).name == "refused"
        assert judge.ask(Program("import os\nos._exit(3)\n", [OUT], {"over": [1]})).name == "crash"
        assert judge.ask(right).name == FINE
    with Judge(["cpu"], 2.0) as stuck:
        endless = "import time\ntime.sleep(100)\n"
        assert stuck.ask(Program(endless, [OUT], {"over": [1]})).name == "hang"
