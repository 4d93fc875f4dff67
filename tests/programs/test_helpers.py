"""What Python does by itself with a run-time value in a plain helper: it is right, or refused at its line."""

from __future__ import annotations

import enum
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import CompileError, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

HEAD = """
import builtins, collections, copy, dataclasses, functools, math, numbers, operator, typing
import numpy as np
from weft import *

MISSING = object()


class Gate:
    def __init__(self, wanted):
        self.wanted = wanted

    def opens(self, flag):
        return flag is self.wanted

    @property
    def is_open(self):
        return self.wanted is True

    @staticmethod
    def shut(flag):
        return flag is False


GATE = Gate(True)
is_a = isinstance
KINDS = {"is_a": isinstance, "is": operator.is_}
is_true = functools.partial(operator.is_, True)
greatest = max
made_by_exec = {}
exec("def kind_of(v): return 1 if isinstance(v, bool) else 2 if isinstance(v, int) else 3", made_by_exec)
kind_of = made_by_exec["kind_of"]


@functools.singledispatch
def dispatched(v):
    return 0


@dispatched.register(bool)
def _(v):
    return 1


@dispatched.register(numbers.Integral)
def _(v):
    return 2


@dispatched.register(float)
def _(v):
    return 3


same = lambda a, b: a is b
"""

RIGHT = """
return b is True
return b is not True
return (b is False) + 2 * (b is not False)
return (x > 1) is True
return True is b
return b is (x > 2)
return 1 if x is None else 2
return 1 if x is not MISSING else 2
return 1 if MISSING is b else 2
return same(b, True)
return (lambda v: v is True)(b)
return operator.is_(b, True) + 2 * operator.is_not(b, True) + 4 * is_true(b) + 8 * KINDS["is"](b, False)
return sum(map(operator.is_, [b, b, x > 2], [True, False, True]))
return operator.not_(b) + 2 * operator.truth(x) + 4 * operator.contains((1, 3), x) + 8 * greatest(x, 2)
return getattr(operator, "is_")(b, True) + 2 * vars(operator)["is_not"](b, True)
return (b and x > 2) or not (f > 0)
return (x if x > 2 else -x) if b else (x if x not in (1, 2) else n)
return sum([v or 7 for v in (x, n, 0)])
return (y := x) and y + 1
return GATE.opens(b) + 2 * GATE.is_open + 4 * GATE.shut(b)
return 1 if x.__class__ is int else 0
return sum([v is True for v in (b, x > 2, True)])
return sum(1 for v in (x, f, None) if v is not None)
return {"a": b}["a"] is True
return 7 if isinstance(x, int) else 8
return 7 if isinstance(x, float) else 8
return 7 if isinstance(f, (float, complex)) else 8
return 7 if isinstance(b, bool) and isinstance(b, int) else 8
return 7 if not isinstance(x, bool) else 8
return 7 if issubclass(type(x), int) else 8
return len([v for v in (x, f, b) if isinstance(v, int)])
return len([*filter(lambda v: isinstance(v, float), (x, f, b))])
return is_a(x, int) + 2 * builtins.isinstance(b, bool) + 4 * KINDS["is_a"](f, float) + 8 * is_a(x, float)
return sum(map(isinstance, [x, f, b], [int, int, bool]))
return len([*filter(functools.partial(is_a, x), [int])])
return dispatched(x) + 10 * dispatched(f) + 100 * dispatched(b) + 1000 * dispatched([x])
return kind_of(x) + 10 * kind_of(f) + 100 * kind_of(b)
return isinstance(x, numbers.Integral) + 2 * isinstance(f, numbers.Real)
return isinstance(x, typing.Union[int, str]) + 2 * isinstance(f, typing.Optional[float])
return (x.__class__ == int) + 2 * issubclass(f.__class__, int)
return copy.deepcopy([x, (f, b)])[0]
return {int: 1}[int] + (x is None is b)
return abs(x) + sum([x, 2]) + divmod(x, 2)[0] + pow(x, 2)
return np.sum([x, 2]) + np.abs(x) + np.prod([x, 2]) + np.mod(x, 2)
return copy.copy(x) + next(iter([x])) + math.prod([x, 2])
return {"k": x}["k"] + [x, 1][0] + (lambda *a: a[-1])(1, x)
return max(x, 2) + 10 * min([x, 2]) + 100 * max(x, 2, key=lambda v: -v) + 1000 * min(3, 4)
return round(f) + sum(v for v in [x, x, 1]) + sum([])
return any([b, x > 2]) + 2 * all(v > 0 for v in (x, f)) + 4 * any([]) + 8 * all([b, False])
return (lambda a, c: max(a, c))(x, 1) + min((3, 1, 2)) + max([x], default=1)
return 1 if hasattr(x, "__len__") or callable(x) else 2
return 1 if b is True else 0
return 1 if b is not False else 0
return 1 if b in (True, False) else 0
return 1 if GATE.opens(b) else 0
return b is True is b
return 1 if not b else 0
return x or 5
return x and 5
return 0 < x < 5
return 1 if x in [1, 2] else 0
return 1 if x in (1, 2) else 0
return 1 if x in {1, 2} else 0
return 1 if x in {1: 2} else 0
return 1 if any([b]) else 0
return 1 if all([b, True]) else 0
return 1 if operator.truth(b) else 0
return functools.reduce(lambda a, c: a if a > c else c, [x, 2])
return 1 if (x, 1) == (3, 1) else 0
return 1 if [x] == [3] else 0
return 1 if (x, 1) < (3, 2) else 0

match x:
    case bool(): return 1
    case int(): return 2
    case _: return 3

match f:
    case int(v) | float(v): return v * 2 > 3.0
    case _: return x < 0

match (x, MISSING):
    case (_, True): return 1
    case (int(), _): return 2

match True:
    case False: return 1
    case True: return 2

match [x, True]:
    case [_, False]: return 1
    case [n, True | None]: return n

def inner(v):
    return v is True
return inner(b) + 2 * inner(True) + 4 * inner(1)

class Here:
    flag = b
    def get(self):
        return self.flag is True
return Here().get()

try:
    return {1: 2}[3]
except Exception:
    return x

try:
    return int("z")
except (KeyError, ValueError) as error:
    return x if isinstance(error, ValueError) else 0

try:
    return 1 if x > 2 else 0
except Exception:
    return 7
"""
"""Of each the result is compared with Python's; a body of several lines stands between empty ones."""

REFUSED = """
return [v for v in (1, 2) if b is True][0]
return 1 if x is n else 0
return 1 if x is 3 else 0
return x is True
return hasattr(x, "numerator")
return np.isscalar(x)
return getattr(f, "imag", 7)
return [type(x)].count(int)
return operator.contains((int, float), type(f))
return 1 if same(x, n) else 0
return 1 if type(x) is int else 0
return 1 if type(f) == float else 0
return 1 if type(x) != int else 0
return 1 if type(f) in (int, float) else 0
return {3: 1}[x]
return {3: 1}.get(x, 0)
return {x: 1}[3]
return (1, 2)[b]
return hash(x)
return id(x) == id(True)
return x if b else "3"
return sorted([x, n])[0]
return len(list(filter(None, [b, False])))
return len([v for v in (x, 3) if v])
return 1 if f"{x}" == "3" else 0
return 1 if str(x) == "3" else 0
return 1 if repr(x) == "3" else 0
return 1 if str([x]) == "[3]" else 0
return 1 if "%s" % x == "3" else 0
return 1 if "{}".format(x) == "3" else 0
return len(str(x))
return int(x)
return bool(b)
return float(x)
return math.floor(f)
return np.maximum(x, 2)
return np.where(b, 1, 0)
return np.array([x, 2]).max()
return 1 if x in np.array([1, 3]) else 0
return len(range(x))
return len([5] * x)
return functools.lru_cache(lambda v: v)(x)
return [1, 2, 3].index(x)
return [1, 2, 3].count(x)
return collections.Counter([x])[3]
return 1 if x == "a" else 0

match b:
    case True: return 1
    case _: return 0

match (x, b):
    case (_, True | None): return 1
    case _: return 0

match x:
    case 3: return 1
    case _: return 0

try:
    return float(x)
except:
    return 7

try:
    return [1, 2][x]
except (ValueError, Exception):
    return 7

assert x > 2
return 1

while x > 2:
    x -= 1
return x

for i in range(x):
    n += 1
return n
"""

ROWS = [(x, b, f) for x in range(4) for b in (False, True) for f in (-1.5, 2.5)]


def _bodies(text: str) -> list[str]:
    blocks = [block.strip("\n") for block in text.split("\n\n")]
    return [*blocks[0].split("\n"), *[b for b in "\n\n".join(blocks[1:]).split("\n\n") if b]]


def _helper(name: str, body: str) -> str:
    return f"def {name}(x, b, f, n):\n{textwrap.indent(body, '    ')}\n"


def test_it_is_what_python_gives(load: Any, device: DeviceContext) -> None:
    bodies = _bodies(RIGHT)
    text = HEAD + "".join(_helper(f"h{n}", body) for n, body in enumerate(bodies))
    calls = "".join(f"    out[{n}] = h{n}(x, b, f, 9)\n" for n in range(len(bodies)))
    text += f"@kernel\ndef k(x: Int32, b: Bool, f: Float32, out: Pointer[Int]):\n{calls}"
    module = load(text)
    out = device.enqueue_create_buffer(np.int64, len(bodies))
    for x, b, f in ROWS:
        device.enqueue_function(module.k, x, b, f, out, grid_dim=1, block_dim=1)
        with out.map_to_host() as host:
            found = host.numpy().tolist()
        expected = [int(getattr(module, f"h{n}")(x, b, f, 9)) for n in range(len(bodies))]
        wrong = [
            (body, want, got) for body, want, got in zip(bodies, expected, found, strict=True) if want != got
        ]
        assert not wrong, (x, b, f)


@pytest.mark.filterwarnings('ignore:"is" with:SyntaxWarning')
def test_what_python_would_decide_alone_is_refused_at_its_line(load: Any) -> None:
    ctx, out = DeviceContext(api="cpu"), np.zeros(1, np.int32)
    bodies = _bodies(REFUSED)
    taken: list[str] = []
    for body in bodies:
        text = HEAD + _helper("helper", body)
        lines = range(HEAD.count("\n") + 2, text.count("\n") + 1)
        text += "@kernel\ndef k(x: Int32, b: Bool, f: Float32, n: Int, out: Pointer[Int32]):\n"
        module = load(text + "    out[0] = helper(x, b, f, n)\n")
        try:
            ctx.enqueue_function(module.k, 3, True, 2.5, 4, out, grid_dim=1, block_dim=1)
        except CompileError as error:
            first = error.diagnostics[0]
            at = first.labels[0].location.line
            assert first.code != "internal-error", body
            assert first.hints, body
            assert at in lines or (at < lines[0] and ("GATE" in body or "same" in body)), (body, at)
        else:
            taken.append(body)
    assert not taken


def test_a_helper_is_itself_again_behind_a_compilation(load: Any) -> None:
    module = load(
        HEAD
        + "def h(b):\n    return b is True\n"
        + "@kernel\ndef k(b: Bool, out: Pointer[Int32]):\n    out[0] = h(b)\n"
        + "@kernel\ndef wrong(b: Bool, out: Pointer[Int32]):\n    out[0] = h(b)[1]\n"
    )
    before, ctx, out = module.h.__code__, DeviceContext(api="cpu"), np.zeros(1, np.int32)
    for flag in (True, False):
        ctx.enqueue_function(module.k, flag, out, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert out[0] == flag
    with pytest.raises(CompileError):
        ctx.enqueue_function(module.wrong, True, out, grid_dim=1, block_dim=1)
    assert module.h.__code__ is before
    assert module.h(1) is False
    again: dict[str, Any] = {"h": module.h, **vars(module)}
    exec("from weft import func\nf = func(h)", again)  # its text is still that of its code
    assert again["f"](True) is True


def test_print_in_a_helper_prints_in_the_kernel(load: Any, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(
        HEAD
        + "def told(x):\n    print('now')\n    print('x =', x, sep=' ')\n    return x\n"
        + "@kernel\ndef k(x: Int32, out: Pointer[Int32]):\n    out[0] = told(x)\n"
    )
    ctx, out = DeviceContext(api="cpu"), np.zeros(1, np.int32)
    for x in (3, 4):
        ctx.enqueue_function(module.k, x, out, grid_dim=1, block_dim=1)
        ctx.synchronize()
    assert capsys.readouterr().out == "now\nx = 3\nx = 4\n"


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

    @property
    def is_fast(self) -> bool:
        return self is Mode.FAST


def _slow(mode: Mode) -> bool:
    return mode is Mode.SLOW


@kernel
def of_modes(mode: Mode, out: Pointer[Int]):
    i = global_idx.x
    out[i] = mode.is_fast + 2 * _slow(mode)


def test_a_member_of_an_enum_is_asked_for_at_run_time(device: DeviceContext) -> None:
    out = device.enqueue_create_buffer(np.int64, 1)
    for mode, expected in ((Mode.FAST, 1), (Mode.SLOW, 2)):
        device.enqueue_function(of_modes, mode, out, grid_dim=1, block_dim=1)  # pyright: ignore[reportArgumentType]
        with out.map_to_host() as host:
            assert host[0] == expected


METHODS = """
import contextlib, functools
from weft import *


def looked_at(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k) if isinstance(a[0], int) else -1
    return inner


@looked_at
def by_decorator(x, /, y, *, z=3):
    return max(x, y * z) if isinstance(y, int) else 0


class Base:
    __k = 5

    def get(self, x):
        return x * self.__k if isinstance(x, int) else 0

    @classmethod
    def made(cls, x):
        return x + 1 if isinstance(x, int) else cls

    @staticmethod
    def least(x):
        return max(x, 3)


class Derived(Base):
    def get(self, x):
        return super().get(x) + (1 if isinstance(x, int) else 100)

    def __call__(self, x):
        return min(x, 2)


HELD = Derived()


def several(x):
    for i in range(3):
        if isinstance(x, int):
            yield x + i


@contextlib.contextmanager
def within(x):
    try:
        yield max(x, 1)
    finally:
        pass


def made(k):
    def inner(v):
        return max(v, k) if isinstance(v, int) else 0
    return inner


MADE = made(4)
PART = functools.partial(by_decorator, z=10)


def recursive(x, n):
    return x if n == 0 else max(recursive(x, n - 1), n) if isinstance(x, int) else 0


def caught(x):
    try:
        try:
            raise KeyError(1)
        except Exception as e:
            y = 1 if isinstance(e, KeyError) else 2
    except BaseException:
        y = 3
    else:
        y += 10
    return x + y


def told(x):
    t = by_decorator(x, 2) + by_decorator(x, y=x, z=1)
    t += HELD.get(x) + HELD.made(x) + HELD.least(x) + HELD(x)
    for v in several(x):
        t += v
    with within(x) as w:
        t += w
    return t + MADE(x) + PART(x, 1) + recursive(x, 3) + caught(x)


@func
def compiled(x: Int) -> Int:
    return told(x)
"""


def test_helpers_of_every_form(load: Any) -> None:
    module = load(METHODS)
    for x in (0, 3, 9):
        assert module.compiled(x) == module.told(x)


OF_EXEC = """
b is True
True is b
type(x) is int
operator.is_(b, True)
(lambda v: v is True)(b)
[v for v in (b, x) if v is True]
getattr(operator, "is_")(b, True)
type(x) in {int, float}
id(x)
"""


def test_what_exec_made_is_refused_where_it_goes_by_objects(load: Any) -> None:
    for body in OF_EXEC.split("\n")[1:-1]:
        module = load(
            HEAD
            + "made = {'operator': operator}\n"
            + f"exec({f'def h(x, b): return 1 if {body} else 0'!r}, made)\nh = made['h']\n"
            + "fine = eval('lambda x, b=None: x if b is None or b is not MISSING else 0', globals())\n"
            + "@func\ndef k(x: Int32, b: Bool) -> Int32:\n    return fine(x, b) * fine(x) + h(x, b)\n"
        )
        with pytest.raises(CompileError, match="asks by `is` or `type` what an object is") as raised:
            module.k(3, True)
        assert raised.value.diagnostics[0].labels[0].location.line == module.k.definition.line + 2, body
        assert module.h(3, True) in (0, 1)


PACKAGE = """
import operator
MISSING = object()


def flag(b):
    return b is True or (b is not MISSING and operator.is_(b, None))


def deep(b, x=MISSING):
    return 1 + flag(b) + 2 * isinstance(x, int) if x is not MISSING else 0


def kind(x):
    return 1 if type(x) is int else 2
"""


def test_packages_that_are_installed_are_no_exception(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "weft_test_package.py").write_text(PACKAGE)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    module = load(
        HEAD
        + "import weft_test_package as package\n"
        + "@func\ndef k(b: Bool, x: Int) -> Int:\n    return Int(package.flag(b)) + 10 * package.deep(b, x)\n"
        + "@func\ndef wrong(x: Int) -> Int:\n    return package.kind(x)\n"
    )
    package = sys.modules["weft_test_package"]
    for flag in (True, False):
        assert module.k(flag, 3) == package.flag(flag) + 10 * package.deep(flag, 3)
    with pytest.raises(CompileError, match="never Python's int"):
        module.wrong(3)
