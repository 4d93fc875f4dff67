"""Structs of random fields: their layout against ctypes, what kernels do to them against NumPy's records."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import math
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from ptxas import find_ptxas
from weft import struct
from weft.compile import compile_info
from weft.gpu.host import DeviceContext
from weft.sys import align_of

NUMBERS: dict[str, Any] = {
    "Bool": ctypes.c_bool,
    "Int8": ctypes.c_int8,
    "UInt8": ctypes.c_uint8,
    "Int16": ctypes.c_int16,
    "Int32": ctypes.c_int32,
    "UInt32": ctypes.c_uint32,
    "Int": ctypes.c_int64,
    "Float32": ctypes.c_float,
    "Float64": ctypes.c_double,
}
N = 4
SETTINGS = settings(
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)


class Array(NamedTuple):
    """Several of something."""

    of: Any
    times: int


class Record(NamedTuple):
    """A struct: its name, fields and packing."""

    name: str
    fields: tuple[tuple[str, Any], ...]
    pack: int


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A struct of numbers, arrays and structs, which it may hold several times."""
    known: list[Any] = list(NUMBERS)
    for name in itertools.islice("ABCD", draw(st.integers(0, 3)) + 1):
        fields: list[tuple[str, Any]] = []
        for n in range(draw(st.integers(1, 5))):
            kind = draw(st.sampled_from(known))
            for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
                kind = Array(kind, draw(st.integers(1, 3)))
            fields.append((f"f{n}", kind))
        known += [Record(name, tuple(fields), draw(st.sampled_from((0, 0, 1, 2, 4))))] * 3
    return known[-1]


def structs(kind: Any) -> list[Record]:
    """The structs that a kind is made of, those first that others hold."""
    if isinstance(kind, Array):
        return structs(kind.of)
    if not isinstance(kind, Record):
        return []
    found = [inner for _, part in kind.fields for inner in structs(part)]
    return list(dict.fromkeys([*found, kind]))


def text_of(kind: Any) -> str:
    if isinstance(kind, Array):
        return f"InlineArray[{text_of(kind.of)}, {kind.times}]"
    return kind.name if isinstance(kind, Record) else kind


def ctype_of(kind: Any, made: dict[str, Any]) -> Any:
    if isinstance(kind, Array):
        return ctype_of(kind.of, made) * kind.times
    if not isinstance(kind, Record):
        return NUMBERS[kind]
    if kind.name not in made:
        parts: dict[str, Any] = {"_fields_": [(name, ctype_of(part, made)) for name, part in kind.fields]}
        if kind.pack:
            parts = {"_pack_": kind.pack, "_layout_": "ms", **parts}
        made[kind.name] = type(kind.name, (ctypes.Structure,), parts)
    return made[kind.name]


def program(record: Record, body: list[str]) -> str:
    lines = ["from weft import *", "", ""]
    for each in structs(record):
        lines += [f"@struct(pack={each.pack})" if each.pack else "@struct", f"class {each.name}:"]
        lines += [f"    {name}: {text_of(part)}" for name, part in each.fields] + ["", ""]
    lines += ["@kernel", f"def k(p: Pointer[{record.name}], q: Pointer[{record.name}], i: Int, j: Int):"]
    return "\n".join([*lines, *[f"    {line}" for line in body], ""])


def load(text: str, folder: Path) -> Any:
    path = folder / f"random_{abs(hash(text))}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Path_ = tuple[Any, ...]
"""Names of fields, and indices: numbers, or ``j`` with what it is taken by."""


@st.composite
def paths(draw: st.DrawFn, record: Record) -> tuple[Path_, Any]:
    """The way to something in a struct, and what is there."""
    path: list[Any] = []
    kind: Any = record
    while not isinstance(kind, str) and (not path or draw(st.integers(0, 4)) or isinstance(kind, Array)):
        if isinstance(kind, Array):
            path.append(draw(st.sampled_from([("j", kind.times), draw(st.integers(0, kind.times - 1))])))
            kind = kind.of
        else:
            name, kind = draw(st.sampled_from(kind.fields))
            path.append(name)
    return tuple(path), kind


def written(path: Path_) -> str:
    steps = [
        f".{s}" if isinstance(s, str) else f"[(i + j) % {s[1]}]" if isinstance(s, tuple) else f"[{s}]"
        for s in path
    ]
    return "".join(steps)


def holder(record: Any, path: Path_, at: int) -> tuple[Any, Any]:
    """What NumPy has the last step of a path in, and that step."""
    steps: list[Any] = [at % s[1] if isinstance(s, tuple) else s for s in path]
    for step in steps[:-1]:
        record = record[step]
    return record, steps[-1]


def fill(array: Any, random: np.random.Generator) -> None:
    """Numbers in every field, and nothing between them."""
    if array.dtype.names is not None:
        for name in array.dtype.names:
            fill(array[name], random)
    elif array.dtype.kind == "f":
        array[...] = random.integers(-1000, 1000, array.shape)
    else:
        array[...] = random.integers(0, 2 if array.dtype.kind == "b" else 100, array.shape)


def laid(dtype: Any) -> Any:
    """Type, number and place of all that a type has; arrays of arrays are arrays."""
    count = 1
    while dtype.subdtype is not None:
        count, dtype = count * math.prod(dtype.shape), dtype.base
    if dtype.names is None:
        return dtype.str, count
    return dtype.itemsize, count, [(n, dtype.fields[n][1], laid(dtype.fields[n][0])) for n in dtype.names]


def laid_by_ctypes(cls: Any) -> Any:
    """The same of ctypes; what NumPy makes of packed structs within others is not where C has them."""
    count = 1
    while hasattr(cls, "_length_"):
        count, cls = count * cls._length_, cls._type_
    if not hasattr(cls, "_fields_"):
        return np.dtype(cls).str, count
    parts = [(name, getattr(cls, name).offset, laid_by_ctypes(kind)) for name, kind in cls._fields_]
    return ctypes.sizeof(cls), count, parts


@given(record=records())
@settings(SETTINGS, max_examples=60)
def test_layouts(record: Record) -> None:
    """All lies where ctypes has it."""
    import weft

    scope: dict[str, Any] = dict(vars(weft))
    made: dict[str, Any] = {}
    for each in structs(record):
        parts = {name: eval(text_of(part), scope) for name, part in each.fields}
        cls: Any = type(each.name, (), {"__annotations__": parts})
        scope[each.name] = struct(pack=each.pack)(cls) if each.pack else struct(cls)
        theirs = ctype_of(each, made)
        assert laid(np.dtype(scope[each.name])) == laid_by_ctypes(theirs)
        assert align_of(scope[each.name]) == ctypes.alignment(theirs)


@given(data=st.data())
@settings(SETTINGS, max_examples=4)
def test_programs(data: st.DataObject, device: DeviceContext, tmp_path: Path) -> None:
    record = data.draw(records())
    ways = data.draw(st.lists(paths(record), min_size=2, max_size=6))
    body: list[str] = ["p[3] = q[1]", "_held = q[i]"]
    for path, kind in ways:
        at = written(path)
        body.append(f"p[i]{at} = q[j]{at}")
        if kind in NUMBERS and kind != "Bool":
            body.append(f"p[i]{at} += {kind}(1)")
        if all(isinstance(step, str) for step in path):
            body.append(f"p[j]{at} = _held{at}")
    text = program(record, body)
    module = load(text, tmp_path)
    random = np.random.default_rng(len(text))
    p, q = (np.zeros(N, np.dtype(getattr(module, record.name))) for _ in range(2))
    fill(p, random)
    fill(q, random)
    there = [device.enqueue_create_buffer(getattr(module, record.name), N) for _ in range(2)]
    for buffer, array in zip(there, (p, q), strict=True):
        device.enqueue_copy(dst=buffer, src=array)
    i, j = 0, 2
    device.enqueue_function(module.k, *there, i, j, grid_dim=1, block_dim=1)
    found = np.zeros_like(p)
    device.enqueue_copy(dst=found, src=there[0])
    device.synchronize()
    p[3], held = q[1], q[i].copy()
    for path, kind in ways:
        (into, step), (out, _) = holder(p[i], path, i + j), holder(q[j], path, i + j)
        into[step] = out[step]
        if kind in NUMBERS and kind != "Bool":
            into[step] += 1
        if all(isinstance(s, str) for s in path):
            (into, step), (out, _) = holder(p[j], path, 0), holder(held, path, 0)
            into[step] = out[step]
    assert repr(found.tolist()) == repr(p.tolist()), text
    ptxas = find_ptxas()
    if ptxas is not None and device.api == "cpu":
        file = tmp_path / "k.ptx"
        file.write_text(str(compile_info(module.k, target="sm_90")))
        subprocess.run([ptxas, "-arch=sm_90", str(file), "-o", str(tmp_path / "k.cubin")], check=True)


def test_packing_comes_to_ctypes() -> None:
    record = Record("A", (("f0", "Int8"), ("f1", "Float64")), 2)
    assert ctypes.sizeof(ctype_of(record, {})) == 10
