"""What is rebound between launches is compiled for anew, by every way that Python has of reaching it.

Each way is a program with a place to change; what a launch gives is compared with what Python gives.
"""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import math
import struct
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driver_played import Gpu
from weft.compile import compile_info
from weft.diagnostics import LaunchError
from weft.gpu.host import DeviceContext
from weft.lang.reads import Reads
from weft.launch.context import AFTER
from weft.launch.native.objects import supported
from weft.launch.variants import Variants

HEAD = """
import dataclasses, enum, functools, math, types
import numpy as np
from weft import Comptime, Float32, Int, Pointer, func, kernel
"""

# name: (program with `value()` as the way, and a statement that changes what it gives; {n} is a number)
WAYS: dict[str, tuple[str, str]] = {
    "global": ("N = 1\ndef value(): return N", "m.N = {n}"),
    "item of a long list": ("L = [1] * 60000\ndef value(): return L[59999]", "m.L[59999] = {n}"),
    "item of a large array": (
        "A = np.ones(200000, np.float32)\ndef value(): return A[199999]",
        "m.A[199999] = {n}",
    ),
    "what a read-only array is a part of": (
        "A = np.ones(1000, np.float32)\nP = A[10:]\nP.setflags(write=False)\ndef value(): return P[5]",
        "m.A[15] = {n}",
    ),
    "global of another type": ("N = 1\ndef value(): return N / 2 * (1 + (type(N) is float))", "m.N = {n}.0"),
    "missing global": (
        "def value():\n    try:\n        return N\n    except NameError:\n        return 1",
        "m.N = {n}",
    ),
    "builtin that is hidden": ("def value(): return min(1, 5)", "m.min = lambda a, c: {n}"),
    "global that was deleted": ("min = lambda a, c: 1\ndef value(): return min({n}, 9)", "del m.min"),
    "name of the builtins": ("def value(): return len('x')", "m.__builtins__['len'] = lambda text: {n}"),
    "helper": ("def helper(): return 1\ndef value(): return helper()", "m.helper = lambda: {n}"),
    "helper of a helper": (
        "N = 1\ndef a(): return N\ndef c(): return a()\ndef value(): return c()",
        "m.N = {n}",
    ),
    "@func": (
        "@func\ndef f(): return Float32(1)\n@func\ndef g(): return Float32({n})\ndef value(): return f()",
        "m.f = m.g",
    ),
    "global of a @func": ("N = 1\n@func\ndef f(): return Float32(N)\ndef value(): return f()", "m.N = {n}"),
    "bound @func": (
        "@func\ndef f(*, n: Comptime[int]): return Float32(n)\ng = f.bind(n=1)\ndef value(): return g()",
        "m.g = m.f.bind(n={n})",
    ),
    "closure": (
        "def make():\n    n = 1\n    def value(): return n\n    def change(to):\n        nonlocal n\n"
        "        n = to\n    return value, change\nvalue, change = make()",
        "m.change({n})",
    ),
    "default": ("def helper(n=1): return n\ndef value(): return helper()", "m.helper.__defaults__ = ({n},)"),
    "keyword default": (
        "def helper(*, n=1): return n\ndef value(): return helper()",
        "m.helper.__kwdefaults__['n'] = {n}",
    ),
    "code": (
        "def helper(): return 1\ndef other(): return {n}\ndef value(): return helper()",
        "m.helper.__code__ = m.other.__code__",
    ),
    "function attribute": (
        "def helper(): return helper.n\nhelper.n = 1\ndef value(): return helper()",
        "m.helper.n = {n}",
    ),
    "lambda": ("N = 1\nf = lambda: N\ndef value(): return f()", "m.N = {n}"),
    "comprehension": ("N = 1\ndef value(): return sum([N for _ in range(1)])", "m.N = {n}"),
    "module": ("cfg = types.ModuleType('cfg')\ncfg.N = 1\ndef value(): return cfg.N", "m.cfg.N = {n}"),
    "module under another name": (
        "cfg = types.ModuleType('cfg')\ncfg.N = 1\ndef value():\n    c = cfg\n    return c.N",
        "m.cfg.N = {n}",
    ),
    "module that a helper is given": (
        "cfg = types.ModuleType('cfg')\ncfg.N = 1\ndef read(x): return x.N\ndef value(): return read(cfg)",
        "m.cfg.N = {n}",
    ),
    "submodule": (
        "a = types.ModuleType('a')\na.b = types.ModuleType('b')\na.b.N = 1\ndef value(): return a.b.N",
        "m.a.b.N = {n}",
    ),
    "missing attribute of a module": (
        "cfg = types.ModuleType('cfg')\ndef value(): return getattr(cfg, 'N', 1)",
        "m.cfg.N = {n}",
    ),
    "module by import in a helper": (
        "import sys\nsys.modules['weftless_cfg'] = cfg = types.ModuleType('weftless_cfg')\ncfg.N = 1\n"
        "def value():\n    import weftless_cfg\n    return weftless_cfg.N",
        "m.cfg.N = {n}",
    ),
    "name by import in a helper": (
        "import sys\nsys.modules['weftless_one'] = cfg = types.ModuleType('weftless_one')\ncfg.N = 1\n"
        "def value():\n    from weftless_one import N\n    return N",
        "m.cfg.N = {n}",
    ),
    "module's __getattr__": (
        "N = 1\ncfg = types.ModuleType('cfg')\ncfg.__getattr__ = lambda name: N\ndef value(): return cfg.X",
        "m.N = {n}",
    ),
    "attribute of a library": ("def value(): return math.weftless", "m.math.weftless = {n}"),
    "class attribute": ("class C: N = 1\ndef value(): return C.N", "m.C.N = {n}"),
    "inherited attribute": ("class B: N = 1\nclass C(B): pass\ndef value(): return C.N", "m.C.N = {n}"),
    "attribute of a base": ("class B: N = 1\nclass C(B): pass\ndef value(): return C.N", "m.B.N = {n}"),
    "attribute of a metaclass": (
        "class M(type): N = 1\nclass C(metaclass=M): pass\ndef value(): return C.N",
        "m.M.N = {n}",
    ),
    "nested class": ("class C:\n    class D: N = 1\ndef value(): return C.D.N", "m.C.D.N = {n}"),
    "static method": (
        "class C:\n    @staticmethod\n    def f(): return 1\ndef value(): return C.f()",
        "m.C.f = staticmethod(lambda: {n})",
    ),
    "global of a method": (
        "N = 1\nclass C:\n    def f(self): return N\ndef value(): return C().f()",
        "m.N = {n}",
    ),
    "method": (
        "class C:\n    def f(self): return 1\nc = C()\ndef value(): return c.f()",
        "m.C.f = lambda self: {n}",
    ),
    "__call__": (
        "class C:\n    def __call__(self): return 1\nc = C()\ndef value(): return c()",
        "m.C.__call__ = lambda self: {n}",
    ),
    "method of a base by super()": (
        "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f()\n"
        "c = B()\ndef value(): return c.f()",
        "m.A.f = lambda self: {n}",
    ),
    "attrgetter": (
        "import operator\nget = operator.attrgetter('N')\nc = types.SimpleNamespace(N=1)\n"
        "def value(): return get(c)",
        "m.c.N = {n}",
    ),
    "descriptor": (
        "N = 1\nclass D:\n    def __get__(self, *of): return N\nclass C: d = D()\ndef value(): return C.d",
        "m.N = {n}",
    ),
    "generator": ("N = 1\ndef items(): yield N\ndef value(): return sum(items())", "m.N = {n}"),
    "slot": (
        "class C: __slots__ = ('N',)\nc = C()\nc.N = 1\ndef value(): return c.N",
        "m.c.N = {n}",
    ),
    "property": (
        "N = 1\nclass C:\n    @property\n    def p(self): return N\nc = C()\ndef value(): return c.p",
        "m.N = {n}",
    ),
    "property that is replaced": (
        "class C:\n    @property\n    def p(self): return 1\nc = C()\ndef value(): return c.p",
        "m.C.p = property(lambda self: {n})",
    ),
    "class attribute of an instance": ("class C: N = 1\nc = C()\ndef value(): return c.N", "m.C.N = {n}"),
    "attribute of an instance": (
        "class C: pass\nc = C()\nc.N = 1\ndef value(): return c.N",
        "m.c.N = {n}",
    ),
    "attribute of a namespace": ("c = types.SimpleNamespace(N=1)\ndef value(): return c.N", "m.c.N = {n}"),
    "attribute of a dataclass": (
        "@dataclasses.dataclass\nclass C:\n    N: int\nc = C(1)\ndef value(): return c.N",
        "m.c.N = {n}",
    ),
    "list": ("L = [1]\ndef value(): return L[0]", "m.L[0] = {n}"),
    "list that grows": ("L = [1]\ndef value(): return sum(L)", "m.L.append({n} - 1)"),
    "dictionary": ("D = dict(a=1)\ndef value(): return D['a']", "m.D['a'] = {n}"),
    "key of a dictionary": ("D = dict(a=1)\ndef value(): return D.get('c', 1)", "m.D['c'] = {n}"),
    "order of a dictionary": (
        "D = dict(a=1, c={n})\ndef value(): return next(iter(D.values()))",
        "m.D.update(a=m.D.pop('a'))",
    ),
    "set": ("S = {1}\ndef value(): return max(S)", "m.S.add({n})"),
    "array": ("A = np.array([1])\ndef value(): return int(A[0])", "m.A[0] = {n}"),
    "shape of an array": (
        "A = np.zeros((1, {n}))\ndef value(): return A.shape[0]",
        "m.A.resize(({n}, 1), refcheck=False)",
    ),
    "list in a tuple": ("T = ([1],)\ndef value(): return T[0][0]", "m.T[0][0] = {n}"),
    "function in a dictionary": (
        "N = 1\ndef helper(): return N\nD = dict(f=helper)\ndef value(): return D['f']()",
        "m.N = {n}",
    ),
    "partial": (
        "N = 1\ndef helper(x): return N * x\nf = functools.partial(helper, 1)\ndef value(): return f()",
        "m.N = {n}",
    ),
    "bound method": ("L = [1]\nf = L.__getitem__\ndef value(): return f(0)", "m.L[0] = {n}"),
    "decorated helper": (
        "N = 1\ndef twice(f):\n    @functools.wraps(f)\n    def inner(): return f()\n    return inner\n"
        "@twice\ndef helper(): return N\ndef value(): return helper()",
        "m.N = {n}",
    ),
    "enumeration": (
        "class E(enum.Enum): A = 1\nclass F(enum.Enum): A = {n}\ndef value(): return E.A.value",
        "m.E = m.F",
    ),
    "globals()": ("N = 1\ndef value(): return globals()['N']", "m.N = {n}"),
    "getattr": ("class C: N = 1\ndef value(): return getattr(C, 'N')", "m.C.N = {n}"),
    "type": (
        "T = Float32\ndef value(): return 0.5 if T is Float32 else {n} - 0.5",
        "m.T = m.Int",
    ),
}

USES = """
@kernel
def by_value(o: Pointer[Float32]):
    o[0] = value()
@kernel
def by_function(o: Pointer[Float32]):
    o[0] = in_function()
@func
def in_function():
    return Float32(value())
"""


def _nothing(key: str, *, quiet: bool = False) -> None:
    """Stands for a cache without entries."""


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, int], types.ModuleType]]:
    """Makes a module of a text; without the cache on disk, whose key is a matter of its own."""
    monkeypatch.setattr("weft.compiler.cache.load", _nothing)
    monkeypatch.setattr(math, "weftless", 1, raising=False)
    made: list[str] = []

    def make(text: str, n: int) -> types.ModuleType:
        name = f"weftless_{len(made)}_{tmp_path.name}"
        path = tmp_path / f"{name}.py"
        path.write_text(HEAD + text.replace("{n}", str(n)) + USES, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        vars(module)["__builtins__"] = dict(vars(builtins))
        spec.loader.exec_module(module)
        made.append(name)
        return module

    yield make
    for name in (*made, "weftless_cfg", "weftless_one"):
        sys.modules.pop(name, None)


def launches(module: types.ModuleType) -> Iterator[Callable[[], float]]:
    """Forms of a launch on the CPU: each gives what the kernel wrote."""
    ctx, other = DeviceContext(api="cpu"), DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)

    def form(context: DeviceContext, kernel: Any, **where: Any) -> Callable[[], float]:
        def launch() -> float:
            context.enqueue_function(kernel, out, **where)
            context.synchronize()
            return float(out[0])

        return launch

    yield form(ctx, module.by_value, over=1)
    yield module.in_function
    yield form(other, other.compile_function(module.by_value), grid_dim=1, block_dim=1)
    yield form(ctx, module.by_value, grid_dim=1, block_dim=1)
    yield form(ctx, module.by_function, grid_dim=1, block_dim=1)


@pytest.mark.parametrize("way", WAYS)
def test_on_the_cpu(program: Any, way: str) -> None:
    text, change = WAYS[way]
    module = program(text, 7)
    few = None if way in ("global", "class attribute", "closure") else 2
    forms = list(itertools.islice(launches(module), few))
    first = float(module.value())
    assert [launch() for launch in forms] == [first] * len(forms)
    before = str(compile_info(module.by_value, emission_kind="ir"))
    exec(change.replace("{n}", "7"), {"m": module})
    then = float(module.value())
    assert then != first
    assert [launch() for launch in forms] == [then] * len(forms)
    assert str(compile_info(module.by_value, emission_kind="ir")) != before


@pytest.mark.skipif(not supported(), reason="this Python's objects have another form")
@pytest.mark.parametrize("way", WAYS)
def test_natively(program: Any, gpu: Gpu, way: str) -> None:
    """The same launch again is native, and goes to Python once what it read has changed."""
    text, change = WAYS[way]
    module = program(text, 7)
    gpu.slots = 1
    ctx = DeviceContext(api="cuda")
    loaded = _loads(gpu)
    buffer = ctx.enqueue_create_buffer("float32", 1)

    def launch() -> str:
        ctx.enqueue_function(module.by_value, buffer, grid_dim=1, block_dim=1)
        return gpu.launches[-1][0]

    for _ in range(AFTER + 1):
        launch()
    native = launch()
    assert native == ("python" if way in ("set",) else "native")
    calls = "@func" in text  # which run on the CPU, and that is played here
    assert constant_in(loaded[-1]) == (1 if calls else module.value())
    exec(change.replace("{n}", "7"), {"m": module})
    assert launch() == "python"
    assert constant_in(loaded[-1]) == (7 if calls else module.value())
    assert [launch(), launch()] == [native, native]
    assert len(loaded) == 2


def constant_in(ptx: bytes) -> float:
    """The number that a kernel stores."""
    text = ptx.decode()
    if "0f" in text:
        return struct.unpack(">f", bytes.fromhex(text.split("0f")[1][:8]))[0]
    (line,) = [line for line in text.splitlines() if "st.global" in line]
    word = line.split(",")[-1].strip(" ;\t")
    if not word.lstrip("-").isdigit():
        word = (
            next(part for part in text.splitlines() if "mov" in part and word in part)
            .split(",")[-1]
            .strip(" ;\t")
        )
    return struct.unpack("<f", struct.pack("<I", int(word)))[0]


def _loads(gpu: Gpu) -> list[bytes]:
    """The code that the played driver is given from now on."""
    loaded: list[bytes] = []
    load = gpu.on_ModuleLoadDataEx

    def note(code: bytes, *rest: Any) -> tuple[int, int]:
        loaded.append(code)
        return load(code, *rest)

    gpu.returns["cuModuleLoadDataEx"] = note
    return loaded


@pytest.mark.skipif(not supported(), reason="this Python's objects have another form")
def test_values_that_change_back(program: Any, gpu: Gpu) -> None:
    """Each is compiled for once, and launched natively from its third launch on."""
    module = program("N = 1\ndef value(): return N", 7)
    gpu.slots = 1
    ctx = DeviceContext(api="cuda")
    loaded = _loads(gpu)
    buffer = ctx.enqueue_create_buffer("float32", 1)
    for _ in range(AFTER + 1):
        ctx.enqueue_function(module.by_value, buffer, over=1)
    for n in (2, 1, 2, 1, 2):
        module.N = n
        ctx.enqueue_function(module.by_value, buffer, over=1)
    assert len(loaded) == 2
    assert [who for who, *_ in gpu.launches[-4:]] == ["native"] * 4
    module.N = int("2000")
    ctx.enqueue_function(module.by_value, buffer, over=1)
    module.N = int("2000")  # another object, and the same code
    for _ in range(3):
        ctx.enqueue_function(module.by_value, buffer, over=1)
    assert len(loaded) == 3
    assert [who for who, *_ in gpu.launches[-3:]] == ["python", "native", "native"]


def test_values_that_never_come_back_are_dropped(program: Any) -> None:
    module = program("N = 1\ndef value(): return N", 7)
    variants: Variants[object] = Variants()
    for n in range(100):
        module.N = n
        assert variants.find((module.value,)) is None
        _, made = variants.make((module.value,), (), object)
        assert (variants.find((module.value,)) or (0, 0))[1] is made
    assert len(variants) <= 8


def test_what_is_made_meanwhile_is_made_again(program: Any) -> None:
    """Another thread may rebind a name while a kernel is compiled."""
    module = program("N = 1\ndef value(): return N", 7)
    variants: Variants[int] = Variants()

    def make() -> int:
        found = module.N
        module.N = 2
        return found

    assert variants.make((module.value,), (), make)[1] == 2
    assert (variants.find((module.value,)) or (0, 0))[1] == 2


def test_what_the_compilation_changes_itself(program: Any) -> None:
    """A counter is never the same; what remembers is, the second time."""
    ctx = DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)
    for text in (
        "N = 0\ndef value():\n    global N\n    N += 1\n    return 5",
        "D = {}\ndef value():\n    if 1 not in D: D[1] = 5\n    return D[1]",
    ):
        module = program(text, 7)
        for _ in range(3):
            ctx.enqueue_function(module.by_value, out, over=1)
        ctx.synchronize()
        assert out[0] == 5
        assert len(ctx._loaded) == 1  # pyright: ignore[reportPrivateUsage]
        ctx = DeviceContext(api="cpu")


def test_annotations_that_name_another_type(program: Any) -> None:
    kernel = "@kernel\ndef write(o: Pointer[Float32], x: 'T'):\n    o[0] = Float32(x)\n"
    module = program("T = Float32\ndef value(): return 1\n" + kernel, 7)
    ctx = DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)

    def launch(x: float) -> float:
        ctx.enqueue_function(module.write, out, x, over=1)
        ctx.synchronize()
        return float(out[0])

    assert [launch(1.5) for _ in range(3)] == [1.5] * 3
    for _ in range(2):
        module.T = module.Int
        with pytest.raises(LaunchError, match="takes Int, not the float"):
            launch(1.5)
        assert [launch(2) for _ in range(3)] == [2.0] * 3
        module.T = module.Float32
        assert [launch(0.5) for _ in range(3)] == [0.5] * 3
    assert len(ctx._loaded) == 2  # pyright: ignore[reportPrivateUsage]


def test_parameters_are_looked_at_once_where_the_code_reads_the_same(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = program("def value(): return 1\n@kernel\ndef write(o: Pointer[Float32]):\n    o[0] = 1.0\n", 7)
    ctx = DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)
    walks: list[Reads] = []
    hold = Reads.hold

    def counted(reads: Reads) -> bool:
        walks.append(reads)
        return hold(reads)

    for _ in range(2):
        ctx.enqueue_function(module.write, out, over=1)
    monkeypatch.setattr(Reads, "hold", counted)
    ctx.enqueue_function(module.write, out, over=1)
    ctx.synchronize()
    assert len(walks) == 1


def test_the_kernel_itself(program: Any) -> None:
    text = (
        "def value(): return 1\n@kernel\ndef write(o: Pointer[Float32], x: Int = 1):\n    o[0] = Float32(x)\n"
    )
    module = program(text + "@kernel\ndef other(o: Pointer[Float32], x: Int = 1):\n    o[0] = 9.0\n", 7)
    ctx = DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)

    def launch() -> float:
        ctx.enqueue_function(module.write, out, over=1)
        ctx.synchronize()
        return float(out[0])

    assert launch() == 1.0
    module.write.function.__defaults__ = (4,)
    assert launch() == 4.0
    module.write.function.__code__ = module.other.function.__code__
    assert launch() == 9.0


@pytest.mark.skipif(not supported(), reason="this Python's objects have another form")
def test_forgotten_in_all_contexts(program: Any, gpu: Gpu, tmp_path: Path) -> None:
    file = tmp_path / "factor"
    module = program(f"import pathlib\ndef value(): return float(pathlib.Path({str(file)!r}).read_text())", 7)
    file.write_text("1.0")
    gpu.slots = 1
    loaded = _loads(gpu)
    contexts = [DeviceContext(api="cuda") for _ in range(2)]
    buffers = [ctx.enqueue_create_buffer("float32", 1) for ctx in contexts]

    def launch() -> list[str]:
        for ctx, buffer in zip(contexts, buffers, strict=True):
            ctx.enqueue_function(module.by_value, buffer, over=1)
        return [who for who, *_ in gpu.launches[-2:]]

    for _ in range(AFTER + 2):
        launch()
    assert launch() == ["native", "native"]
    file.write_text("5.0")
    assert launch() == ["native", "native"]
    module.by_value.forget()
    assert launch() == ["python", "python"]
    assert [constant_in(code) for code in loaded] == [1.0, 1.0, 5.0, 5.0]
    launch()
    assert launch() == ["native", "native"]


def test_a_forgotten_function_takes_its_kernels_along(program: Any, tmp_path: Path) -> None:
    file = tmp_path / "factor"
    module = program(f"import pathlib\ndef value(): return float(pathlib.Path({str(file)!r}).read_text())", 7)
    ctx = DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)
    for text in ("1.0", "5.0"):
        file.write_text(text)
        module.in_function.forget()
        ctx.enqueue_function(module.by_function, out, over=1)
        ctx.synchronize()
        assert (out[0], module.in_function()) == (float(text), float(text))
