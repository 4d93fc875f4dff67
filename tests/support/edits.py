"""Every way in which compiled code reaches a value: programs in which ``VALUE`` is edited.

``python edits.py FOLDER NUMBER`` compiles those below a folder, with the cache and without, and prints
both as JSON; ``write`` writes them with the first or second value.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from weft.abi.artifact import Artifact

__all__ = ["EDITS", "write"]


class Edit(NamedTuple):
    """Files of a program by name; the kernel ``k`` is in ``main``."""

    files: dict[str, str]
    values: tuple[str, str] = ("2.0", "3.0")


_HEAD = "from weft import Float32, Pointer, func, kernel, struct\n"
_KERNEL = """

@kernel
def k(p: Pointer[Float32]):
    p[0] = {}
"""


def _edit(before: str, expression: str, values: tuple[str, str] = ("2.0", "3.0"), **files: str) -> Edit:
    named = {name.replace("_in_", "/").replace("package", "__init__"): text for name, text in files.items()}
    return Edit({"main": _HEAD + before + _KERNEL.format(expression), **named}, values)


def _captured(make: str, expression: str, values: tuple[str, str] = ("2.0", "3.0")) -> Edit:
    """``c`` is captured from the function around the kernel."""
    kernel = _KERNEL.format(expression).replace("\n", "\n    ")
    return Edit(
        {"main": f"{_HEAD}\n{make}\n\ndef outer(c):{kernel}\n    return k\n\n\nk = outer(MADE)\n"}, values
    )


def _held(make: str, expression: str, values: tuple[str, str] = ("2.0", "3.0")) -> dict[str, Edit]:
    """The same value as a global and captured."""
    name, _, value = make.rpartition("\n")
    return {
        "global": _edit(f"{name}\nc = {value}\n", expression, values),
        "captured": _captured(f"{name}\nMADE = {value}", expression, values),
    }


_VALUES: dict[str, tuple[str, ...]] = {
    "number": ("VALUE", "c"),
    "list": ("[1.0, VALUE]", "c[1]"),
    "tuple": ("(1.0, (VALUE,))", "c[1][0]"),
    "dictionary": ("{'a': {'b': VALUE}}", "c['a']['b']"),
    "key of a dictionary": ("{VALUE: 1}", "max(*c, 1.0)"),
    "set": ("{1.0, VALUE}", "max(*c)"),
    "method of a list": ("[VALUE].__getitem__", "c(0)"),
    "method of a dictionary": ("{'a': VALUE}.get", "c('a')"),
    "partial": ("import functools\nfunctools.partial(max, VALUE)", "c(1.0)"),
    "operator": ("import operator\noperator.itemgetter(0)", "c([VALUE])"),
    "lambda": ("lambda: VALUE", "c()"),
    "lambda in a container": ("{'f': [lambda: VALUE]}", "c['f'][0]()"),
    "default of a lambda": ("lambda x=VALUE: x", "c()"),
    "default by name": ("def f(*, x=VALUE):\n    return x\nf", "c()"),
    "default of an inner function": (
        "def f():\n    def g(x=VALUE):\n        return x\n    return g\nf()",
        "c()",
    ),
    "cell of an inner function": ("def f(x):\n    return lambda: x\nf(VALUE)", "c()"),
    "cell of a cell": ("def f(x):\n    g = lambda: x\n    return lambda: g()\nf(VALUE)", "c()"),
    "attribute of a function": ("def f():\n    return f.scale\nf.scale = VALUE\nf", "c()"),
    "attribute of a function, read": ("def f(): ...\nf.scale = VALUE\nf", "c.scale"),
    "class attribute": ("class C:\n    x = VALUE\nC", "c.x"),
    "class attribute, a list": ("class C:\n    x = [VALUE]\nC", "c.x[0]"),
    "class attribute, a dictionary": ("class C:\n    x = {'a': VALUE}\nC", "c.x['a']"),
    "class attribute, a set": ("class C:\n    x = frozenset({VALUE})\nC", "max(*c.x, 0.0)"),
    "class attribute, a number of weft": ("class C:\n    x = Float32(VALUE)\nC", "c.x"),
    "class attribute, an array": (
        ("import numpy as np\nclass C:\n    x = np.array([VALUE])\nC"),
        "float(c.x[0])",
    ),
    "nested class": ("class C:\n    class D:\n        x = VALUE\nC", "c.D.x"),
    "base class": ("class B:\n    x = VALUE\nclass C(B): ...\nC", "c.x"),
    "attribute of a metaclass": ("class M(type):\n    x = VALUE\nclass C(metaclass=M): ...\nC", "c.x"),
    "property of a metaclass": (
        "class M(type):\n    @property\n    def x(cls): return VALUE\nclass C(metaclass=M): ...\nC",
        "c.x",
    ),
    "class, set later": ("class C: ...\nC.x = VALUE\nC", "c.x"),
    "static method": ("class C:\n    @staticmethod\n    def x(): return VALUE\nC", "c.x()"),
    "class method": ("class C:\n    y = VALUE\n    @classmethod\n    def x(cls): return cls.y\nC", "c.x()"),
    "instance": ("class C:\n    def __init__(self): self.x = VALUE\nC()", "c.x"),
    "instance in a list": ("class C:\n    def __init__(self): self.x = VALUE\n[C()]", "c[0].x"),
    "slots": ("class C:\n    __slots__ = ('x',)\n    def __init__(self): self.x = VALUE\nC()", "c.x"),
    "property": ("class C:\n    @property\n    def x(self): return VALUE\nC()", "c.x"),
    "cached property": (
        "import functools\nclass C:\n    @functools.cached_property\n    def x(self): return VALUE\nC()",
        "c.x",
    ),
    "descriptor": (
        "class D:\n    def __get__(self, one, kind=None): return VALUE\nclass C:\n    x = D()\nC()",
        "c.x",
    ),
    "bound method": ("class C:\n    y = VALUE\n    def x(self): return self.y\nC().x", "c()"),
    "what an object's call gives": ("class C:\n    def __call__(self): return VALUE\nC()", "c()"),
    "item": ("class C:\n    def __getitem__(self, i): return VALUE\nC()", "c[0]"),
    "attribute that is made up": ("class C:\n    def __getattr__(self, n): return VALUE\nC()", "c.x"),
    "operator of a class": ("class C:\n    def __mul__(self, x): return x * VALUE\nC()", "c * 4.0"),
    "iteration": ("class C:\n    def __iter__(self): return iter([VALUE])\nC()", "max(*c, 0.0)"),
    "length": ("class C:\n    def __len__(self): return VALUE\nC()", "len(c) * 1.0", "2", "3"),
    "enumeration": ("import enum\nclass E(enum.Enum):\n    A = VALUE\nE", "c.A.value"),
    "member": ("import enum\nclass E(enum.Enum):\n    A = VALUE\nE.A", "c.value"),
    "number of an enumeration": (
        ("import enum\nclass E(enum.IntEnum):\n    A = VALUE\nE.A"),
        "1.0 * c",
        "2",
        "3",
    ),
    "attribute of a member": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    def __init__(self, _): self.x = VALUE\nE.A",
        "c.x",
    ),
    "dataclass": ("import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: float = VALUE\nC()", "c.x"),
    "field left out of comparisons": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n"
        "    x: float = dataclasses.field(default=VALUE, compare=False)\nC()",
        "c.x",
    ),
    "default factory": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n"
        "    x: list = dataclasses.field(default_factory=lambda: [VALUE])\nC()",
        "c.x[0]",
    ),
    "order of a named tuple": (
        "import collections\ncollections.namedtuple('T', 'VALUE')(2.0, 3.0)",
        "c.a",
        "a b",
        "b a",
    ),
    "namespace": ("import types\ntypes.SimpleNamespace(x=VALUE)", "c.x"),
    "mapping proxy": ("import types\ntypes.MappingProxyType({'a': VALUE})", "c['a']"),
    "chain of mappings": ("import collections\ncollections.ChainMap({}, {'a': VALUE})", "c['a']"),
    "default dictionary": ("import collections\ncollections.defaultdict(lambda: VALUE)", "c['a']"),
    "queue": ("import collections\ncollections.deque([VALUE])", "c[0]"),
    "generator's list": ("list(x * VALUE for x in [1.0])", "c[0]"),
    "array": ("import numpy as np\nnp.array([VALUE])", "float(c[0])"),
    "array's type": ("import numpy as np\nnp.array([7], np.VALUE)", "c.itemsize * 1.0", "int8", "int64"),
    "array's shape": ("import numpy as np\nnp.zeros(VALUE)", "c.ndim * 1.0", "(1,)", "(1, 1)"),
    "number of NumPy": ("import numpy as np\nnp.float32(VALUE)", "float(c)"),
    "number of weft": ("Float32(VALUE)", "c"),
    "type": ("from weft import Int8, Int16\nVALUE", "c(70000).cast(Float32)", "Int8", "Int16"),
    "layout": ("from weft.layout import Layout\nLayout.row_major(VALUE, 2)", "c.size() * 1.0", "2", "3"),
    "fraction": ("import fractions\nfractions.Fraction(VALUE, 7)", "float(c)", "2", "3"),
    "bytes": ("b'VALUE'", "c[0] * 1.0", "a", "b"),
    "letters": ("'VALUE'", "len(c) * 1.0", "a", "bb"),
    "sign of zero": ("VALUE", "c", "0.0", "-0.0"),
    "kind of number": ("VALUE", "7 // c * 1.0", "2", "2.5"),
    "truth": ("VALUE", "1.0 if c is True else 2.0", "True", "1"),
    "module": ("import types\nm = types.ModuleType('m')\nm.x = VALUE\nm", "c.x"),
    "module in a list": ("import types\nm = types.ModuleType('m')\nm.x = VALUE\n[m]", "c[0].x"),
    "attribute that a module makes up": (
        "import types\nm = types.ModuleType('m')\nm.__getattr__ = lambda name: VALUE\nm",
        "c.x",
    ),
    "struct's method": (
        "@struct\nclass S:\n    a: Float32\n    def x(self) -> Float32:\n        return self.a * VALUE\nS",
        "c(p[0]).x()",
    ),
    "struct's static method": (
        (
            "@struct\nclass S:\n    a: Float32\n    @staticmethod\n    "
            "def x() -> Float32:\n        return Float32(VALUE)\nS"
        ),
        "c.x()",
    ),
    "struct's default": ("@struct\nclass S:\n    a: Float32 = VALUE\nS", "c().a"),
    "order of a struct's fields": (
        "@struct\nclass S:\n    VALUE: Float32\nS",
        "c(1.0, 2.0).a",
        "a: Float32\n    b",
        "b: Float32\n    a",
    ),
    "compiled function": ("@func\ndef f(x: Float32) -> Float32:\n    return x * VALUE\nf", "c(p[0])"),
    "function of a function": (
        "@func\ndef g(x: Float32) -> Float32:\n    return x * VALUE\n"
        "@func\ndef f(x: Float32) -> Float32:\n    return g(x)\nf",
        "c(p[0])",
    ),
    "bound value": (
        "from weft import Comptime\n@func\ndef f(*, n: Comptime[float]) -> Float32:\n"
        "    return Float32(n)\nf.bind(n=VALUE)",
        "c()",
    ),
    "annotation of a local": (
        "from weft import Int8, Int16\n@func\ndef f(x: Float32) -> Float32:\n"
        "    y: VALUE = 70\n    return (y * y).cast(Float32)\nf",
        "c(p[0])",
        "Int8",
        "Int16",
    ),
    "annotation of a parameter": (
        (
            "from weft import Int8, Int16\n@func\n"
            "def f(x: VALUE) -> Float32:\n    return (x * x).cast(Float32)\nf"
        ),
        "c(70)",
        "Int8",
        "Int16",
    ),
    "annotation of a result": (
        "from weft import Int8, Int16\n@func\ndef f(x: Float32) -> VALUE:\n    return x.cast(VALUE)\nf",
        "c(p[0]).cast(Float32)",
        "Int8",
        "Int16",
    ),
    "weak reference": ("import weakref\nclass C:\n    x = VALUE\nc0 = C()\nweakref.ref(c0)", "c().x"),
    "context variable": ("import contextvars\nv = contextvars.ContextVar('v')\nv.set(VALUE)\nv", "c.get()"),
}

_PROGRAMS: dict[str, Edit] = {
    "attribute of a module": _edit("import other", "other.x", other="x = VALUE\n"),
    "name from a module": _edit("from other import x", "x", other="x = VALUE\n"),
    "function of a module": _edit("import other", "other.f()", other="def f():\n    return VALUE\n"),
    "function of a module that reads": _edit(
        "import other", "other.f()", other="x = VALUE\n\n\ndef f():\n    return x\n"
    ),
    "submodule": _edit(
        "import pkg.mod", "pkg.mod.f()", pkg_in_package="", pkg_in_mod=("def f():\n    return VALUE\n")
    ),
    "submodule's value": _edit("import pkg.mod", "pkg.mod.x", pkg_in_package="", pkg_in_mod="x = VALUE\n"),
    "submodule of a submodule": _edit(
        "import a.b.c", "a.b.c.x[0]", a_in_package="", a_in_b_in_package="", a_in_b_in_c="x = [VALUE]\n"
    ),
    "submodule that the package gives": _edit(
        "import pkg", "pkg.m.x", pkg_in_package="from pkg import mod as m\n", pkg_in_mod="x = VALUE\n"
    ),
    "module that a module imports": _edit(
        "import one", "one.f()", one="import two\n\n\ndef f():\n    return two.x\n", two="x = VALUE\n"
    ),
    "module imported within a function": _edit(
        "def f():\n    import other\n    return other.x", "f()", other="x = VALUE\n"
    ),
    "module by its name": _edit(
        "import importlib\ndef f(): return importlib.import_module('other').x", "f()", other="x = VALUE\n"
    ),
    "module of sys.modules": _edit(
        "import sys, other\ndef f(): return sys.modules['other'].x", "f()", other="x = VALUE\n"
    ),
    "attribute that a module's function makes up": _edit(
        "import other", "other.anything", other="def __getattr__(name):\n    return VALUE\n"
    ),
    "getattr": _edit("import other\ndef f(n): return getattr(other, n)", "f('x')", other="x = VALUE\n"),
    "vars": _edit("import other\ndef f(): return vars(other)['x']", "f()", other="x = VALUE\n"),
    "globals": _edit("x = VALUE\ndef f(): return globals()['x']", "f()"),
    "eval": _edit("x = VALUE\ndef f(): return eval('x')", "f()"),
    "exec": _edit("exec('x = VALUE')", "x"),
    "file that is read": _edit(
        "from pathlib import Path\ndef f(): return float(Path(__file__).with_name('data.py').read_text())",
        "f()",
        data="VALUE",
    ),
    "file read before": _edit(
        ("from pathlib import Path\nx = float(Path(__file__).with_name('data.py').read_text())"),
        "x",
        data="VALUE",
    ),
    "environment": _edit(
        (
            "import os\nos.environ['WEFT_TEST_EDIT'] = 'VALUE'\n"
            "def f(): return float(os.environ['WEFT_TEST_EDIT'])"
        ),
        "f()",
    ),
    "name that a builtin has": _edit("def abs(x): return VALUE", "abs(1.0)"),
    "name of the language": _edit("def min(x, y): return VALUE", "min(p[0], p[1])"),
    "star import": _edit("from other import *", "x", other="x = VALUE\n"),
    "decorated helper": _edit(
        "def twice(f):\n    return lambda x: f(x) * VALUE\n@twice\ndef f(x): return x", "f(p[0])"
    ),
    "global of a decorated kernel": _edit("x = VALUE\ny = x * 2", "y"),
    "the kernel itself": _edit("", "VALUE"),
    "assertion": Edit(
        {"main": (f"{_HEAD}\n@kernel\ndef k(p: Pointer[Float32]):\n    assert p[0] < 1.0, 'VALUE'\n")},
        ("near", "far!"),
    ),
    "text that is printed": Edit(
        {"main": (f"{_HEAD}\n@kernel\ndef k(p: Pointer[Float32]):\n    print('VALUE', p[0])\n")},
        ("near", "far!"),
    ),
    "format that is printed": Edit(
        {"main": (f"{_HEAD}\n@kernel\ndef k(p: Pointer[Float32]):\n    print(f'{{p[0]:VALUE}}')\n")},
        (".1f", ".2f"),
    ),
    "line": Edit(
        {"main": f"{_HEAD}VALUE\n@kernel\ndef k(p: Pointer[Float32]):\n    assert p[0] < 1.0\n"}, ("", "\n")
    ),
}

EDITS: dict[str, Edit] = dict(_PROGRAMS)
for _name, (_make, _expression, *_values) in _VALUES.items():
    for _kind, _made in _held(
        _make, _expression, (_values[0], _values[1]) if _values else ("2.0", "3.0")
    ).items():
        EDITS[f"{_name}, {_kind}"] = _made


def write(folder: Path, version: int) -> None:
    """Write all programs, each into a folder of its own, with that value."""
    for number, edit in enumerate(EDITS.values()):
        for name, text in edit.files.items():
            file = folder / f"case{number}" / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("VALUE", edit.values[version]), encoding="utf-8")


def _compile(folder: Path) -> list[object]:
    from weft.compiler import cache
    from weft.compiler.pipeline import elaborate_kernel
    from weft.lang.accept import spec_of_annotation
    from weft.lang.signature import parameters

    def without_comments(artifact: Artifact) -> list[object]:
        """LLVM numbers calls through the life of a process, in comments."""
        [kernel] = artifact.kernels
        fields: dict[str, Any] = {f.name: getattr(kernel, f.name) for f in dataclasses.fields(kernel)}
        code = re.sub(r"//.*", "", artifact.code.decode())
        return [code, artifact.target, repr({**fields, "uses": sorted(kernel.uses)})]

    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    try:
        kernel = importlib.import_module("main").k
        specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.definition)}
        kept = cache.compile_kernel(kernel, specs, "sm_90")
        fresh = elaborate_kernel(kernel, specs, "sm_90").artifact()
        return [without_comments(kept), without_comments(fresh)]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


if __name__ == "__main__":
    print(json.dumps([_compile(Path(sys.argv[1]) / f"case{n}") for n in range(len(EDITS))]))
