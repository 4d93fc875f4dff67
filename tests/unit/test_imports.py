"""Imports point one way, and files stay small enough to have one purpose."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

import weft
from weft.compiler.cache.tools import SUPPORT, TOOLS

PACKAGE = Path(weft.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

BOTTOM = {"record", "diagnostics", "dtype", "abi"}
IR = BOTTOM | {"compiler.ir", "targets"}
SOURCE = IR | {"compiler.source"}
LIBRARY = {
    "algorithm",
    "atomic",
    "bit",
    "complex",
    "ffi",
    "gpu",
    "layout",
    "linalg",
    "math",
    "memory",
    "numerics",
    "random",
    "tile",
}
NATIVE = BOTTOM | {
    "compiler.source",
    "foreign",
    "lang",
    "layout",
    "launch.arguments",
    "launch.large",
    "launch.native",
    "runtime",
    "targets",
}
ANYTHING: set[str] | None = None

# What each room may import besides itself. A module directly under the package is a room, as are the parts of
# `compiler` and `launch`.
ROOMS: dict[str, set[str] | None] = {
    "record": set(),
    "diagnostics": {"record"},
    "dtype": {"record", "diagnostics"},
    "abi": {"record", "dtype", "diagnostics"},
    "config": BOTTOM,
    "compiler": set(),
    "compiler.started": set(),
    "compiler.ir": BOTTOM,
    "compiler.source": {"record", "diagnostics", "dtype"},
    "targets": BOTTOM | {"compiler.ir"},
    "lang": SOURCE,
    "compiler.frontend": SOURCE | {"lang"},
    "compiler.lint": SOURCE | {"lang", "compiler.frontend", "compiler.passes"},
    "compiler.passes": IR,
    "compiler.llvm": IR | {"config", "compiler.passes"},
    "compiler.support": SOURCE | {"lang", "compiler.frontend", "compiler.llvm"},
    "compiler.interpreted": IR | {"compiler.llvm", "compiler.passes", "compiler.support"},
    "compiler.copies_under_way": {"abi", "lang"},
    "compiler.handing_over": {"abi", "lang"},
    "compiler.shadow": SOURCE
    | {"lang", "compiler.copies_under_way", "compiler.frontend", "compiler.handing_over", "compiler.passes"},
    "compiler.pipeline": SOURCE
    | {"compiler.interpreted", "compiler.shadow", "compiler.support"}
    | {"config", "lang", "compiler.frontend", "compiler.lint", "compiler.passes", "compiler.llvm"},
    "compiler.exported": SOURCE | {"lang", "compiler.frontend", "compiler.llvm", "compiler.support"},
    "compiler.cache": SOURCE
    | {"config", "lang", "compiler.frontend", "compiler.passes", "compiler.llvm"}
    | {"compiler.exported", "compiler.pipeline", "compiler.started"},
    "runtime": BOTTOM | {"config", "targets"},
    "testing": {"complex", "diagnostics", "lang", "runtime"},
    "benchmark": BOTTOM | {"lang", "runtime"},
    **dict.fromkeys(LIBRARY, {"lang", "record", "diagnostics", "dtype"} | LIBRARY),
    "algorithm": {"calls", "foreign", "lang", "record", "diagnostics", "dtype", "targets"} | LIBRARY,
    "calls": BOTTOM
    | {"compiler.source", "foreign", "lang", "layout", "runtime", "tensor"}
    | {"launch.native", "launch.profile", "launch.tiles"},
    "numerics": BOTTOM | {"lang"},
    "foreign": BOTTOM | {"config", "lang", "layout", "runtime"},
    "launch": set(),
    "launch.native": NATIVE | {"compiler.cache", "compiler.llvm", "memory"},
    "launch.ahead": BOTTOM
    | {"config", "compiler.cache", "compiler.frontend", "compiler.pipeline", "compiler.source", "lang"}
    | {"launch.arguments", "launch.variants", "runtime", "targets"},
    "launch.arguments": BOTTOM | {"compiler.source", "foreign", "lang", "runtime"},
    "launch.dumps": {"compiler.pipeline", "diagnostics", "lang"},
    "launch.kernels": BOTTOM | {"lang", "runtime"},
    "launch.launched": BOTTOM | {"compiler.source", "lang", "runtime"},
    "launch.made_again": {"diagnostics", "lang", "launch.arguments", "layout"},
    "launch.checked": BOTTOM | {"config", "runtime", "targets"},
    "launch.profile": BOTTOM | {"benchmark", "lang", "runtime"},
    "launch.extents": BOTTOM | {"lang", "launch.ranges", "runtime"},
    "launch.variants": {"compiler.source", "lang"},
    # Rooms that join the compiler, the runtime and the library for the user.
    "launch.contexts": {"compiler.source", "lang", "launch.context", "launch.host_call", "launch.variants"},
    "launch.context": ANYTHING,
    "launch.large": BOTTOM | {"runtime", "targets"},
    "launch.loaded": BOTTOM | {"foreign", "runtime"},
    "torch": ANYTHING,
    "tuning": ANYTHING,
    "launch.tiles": BOTTOM | {"foreign", "lang", "layout", "runtime"},
    "launch.host_call": ANYTHING,
    "launch.lent": {"compiler.frontend", "diagnostics", "lang"},
    "launch.ranges": ANYTHING,
    "__init__": ANYTHING,
    "__main__": ANYTHING,
    "interop": ANYTHING,
    "kernels": ANYTHING,
    "build": ANYTHING,
    "cli": ANYTHING,
    "compile": ANYTHING,
    "explorer": ANYTHING,
    "gpu.host": ANYTHING,
    "sys": ANYTHING,
    "tensor": ANYTHING,
}


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module, given as the parts of its name below the package."""
    if parts[:1] in (("compiler",), ("launch",)) or parts[:2] == ("gpu", "host"):
        return ".".join(parts[:2])
    return parts[0] if parts else "__init__"


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and absolute name of every module that is imported or named in a string.

    What type checkers alone import does not count.

    ``from weft.a import b`` counts as ``weft.a.b``: b may be a module, and its room is the same.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in node.orelse:
                yield from imports(other, package)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package[: len(package) - node.level + 1]
                base = ".".join(("weft", *above, *([base] if base else [])))
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant):
            if node.value in MODULES:
                yield node.lineno, str(node.value)  # for importlib, or to look into sys.modules
        else:
            yield from imports(node, package)


_NAMING = re.compile(r"([A-Z]\w*)[\[.]?|(\w+\.py)|\.(\w+)\.?|(weft\.[\w.]*\w)\.?")


def names_in_strings(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and word of each string by which code may know a class, a file or a folder of another room.

    That is a name with a capital, also before ``[`` or ``.``; the name of a file; or a module's with a dot
    before it. Texts for users have other words, or are put together.
    """
    texts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    texts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            found = [_NAMING.fullmatch(word) for word in node.value.split()]
            yield from ((node.lineno, m[m.lastindex or 0]) for m in found if m is not None and all(found))


def classes(path: Path) -> set[str]:
    """The classes that a file defines."""
    return {node.name for node in nodes_of(path) if isinstance(node, ast.ClassDef)}


ASKED = (
    ast.Attribute,
    ast.ClassDef,
    ast.Compare,
    ast.Constant,
    ast.Expr,
    ast.Import,
    ast.ImportFrom,
    ast.JoinedStr,
)
"""The nodes that tests look at, whatever stands around them."""


@functools.cache
def read(path: Path) -> tuple[list[tuple[int, str]], list[ast.AST]]:
    """The imports of a file, and its nodes of these kinds: parsed once for all tests."""
    module = module_of(path)
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    found = list(imports(tree, module if path.name == "__init__.py" else module[:-1]))
    return found, [node for node in ast.walk(tree) if isinstance(node, ASKED)]


def imports_of(path: Path) -> list[tuple[int, str]]:
    return read(path)[0]


def nodes_of(path: Path) -> list[ast.AST]:
    return read(path)[1]


MODULES = {".".join(("weft", *module_of(path))) for path in FILES} - {"weft"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_direction(path: Path) -> None:
    room = room_of(module_of(path))
    assert room in ROOMS, (
        f"{name_of(path)} is in no room of the design; add {room!r} to ROOMS with its imports"
    )
    allowed = ROOMS[room]
    if allowed is None:
        return
    wrong: list[str] = []
    for line, name in imports_of(path):
        top, *parts = name.split(".")
        if top == "weft":
            other = room_of(tuple(parts))
            # `from weft import math` and `import weft.math` name a room; `import weft` is the facade.
            if other != room and other not in allowed:
                wrong.append(f"{path}:{line}: {room} must not import {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("package", "owner"),
    [("llvmlite", "compiler/llvm/worker/backend.py"), ("cuda", "runtime/cuda/binding.py")],
    ids=str,
)
def test_one_importer(package: str, owner: str) -> None:
    importers = {name_of(p) for p in FILES for _, name in imports_of(p) if name.split(".")[0] == package}
    assert importers <= {owner}


def test_what_makes_code_of_ir_is_in_the_key_of_the_cache() -> None:
    rooms = {name.removesuffix(".py").replace("/", ".") for name in TOOLS}
    joining = {"compiler.pipeline", "compiler.cache"}  # these hand over what the others make
    assert joining | {"compiler.llvm", "compiler.passes"} <= rooms
    for room in rooms - joining:
        assert (ROOMS[room] or set()) <= rooms
    for room in (also := {name.removesuffix(".py").replace("/", ".") for name in SUPPORT}):
        assert (ROOMS[room] or set()) <= rooms | also


def test_only_config_reads_the_environment() -> None:
    readers: set[str] = set()
    for path in FILES:
        for node in nodes_of(path):
            match node:
                case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv"):
                    readers.add(name_of(path))
                case ast.ImportFrom(module="os", names=names):
                    if {alias.name for alias in names} & {"environ", "environb", "getenv"}:
                        readers.add(name_of(path))
                case _:
                    pass
    assert readers == {"config.py"}


CORE = {"lang", *(room for room in ROOMS if room.startswith("compiler"))}
OTHERS = {"compiler/frontend/names.py", "compiler/frontend/names_of_mojo.py"}
"""Tables of names that other systems have, of which weft has some too."""
ALSO_OF_OTHERS = {("lang/accept.py", "Tensor")}
"""Classes that other libraries have too, and are meant."""


def test_what_lies_below_knows_nothing_of_the_library_by_its_name() -> None:
    """What it has to know is a mark that a class, a function or a module carries."""
    rooms: dict[str, set[str]] = {}
    for path in FILES:
        parts = module_of(path)
        for name in (*classes(path), path.name, ".".join(("weft", *parts)), *parts[-1:]):
            rooms.setdefault(name, set()).add(room_of(parts))
    wrong: list[str] = []
    for path in FILES:
        room, allowed = room_of(module_of(path)), ROOMS[room_of(module_of(path))]
        if room not in {*CORE, *BOTTOM} or name_of(path) in OTHERS or allowed is None:
            continue
        own = classes(path).union(name.rpartition(".")[2] for _, name in all_imports(path))
        for line, word in names_in_strings(nodes_of(path)):
            others = rooms.get(word, set()) - {"__init__"}
            if others and others.isdisjoint({room, *allowed, *CORE}) and word not in own:
                if (name_of(path), word) not in ALSO_OF_OTHERS:
                    wrong.append(f"{path}:{line}: {room} knows {word} of {min(others)} by its name")
    assert not wrong, "\n".join(wrong)


VENDORS = {"NVVM", "nvidia"}


def test_the_core_asks_for_no_vendor() -> None:
    """A vendor is data in targets/ and branches in the library."""
    wrong: list[str] = []
    for path in FILES:
        if room_of(module_of(path)) in CORE:
            for node in nodes_of(path):
                if isinstance(node, ast.Attribute) and node.attr in VENDORS:
                    wrong.append(f"{path}:{node.lineno}: asks for {node.attr}")
    assert not wrong, "\n".join(wrong)


TAKEN_APART = {
    "__code__",
    "__closure__",
    "__defaults__",
    "co_argcount",
    "co_flags",
    "co_freevars",
    "co_varnames",
}
WATCHES_PYTHON = {
    "lang/captured.py",
    "lang/reads.py",
    "launch/native/objects.py",
    "runtime/cpu/native.py",
    "compiler/frontend/closures.py",
    "lang/operators.py",
}
"""What Python functions that run at compile time read, frames of weft's own (for tracebacks, and by which an
operator of parts is known), and the functions that staging itself has made of those in a function."""


MADE = {
    ("stage.py", "code.co_freevars"),
    ("containers.py", "thunk.__code__"),
    ("run.py", "code.co_argcount"),
    ("cells.py", "code.co_varnames"),
}
"""What is asked of code that weft has made."""


def test_one_room_takes_functions_apart_and_parses() -> None:
    """All behind it has a Definition, which another language's parser can make."""
    readers: set[str] = set()
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.Attribute) and node.attr in {"parse", *TAKEN_APART}:
                asked = ast.unparse(node)
                own = (path.name, asked) in MADE
                if (node.attr in TAKEN_APART and not own) or asked == "ast.parse":
                    readers.add(name_of(path))
    behind = {name for name in readers if not name.startswith("compiler/source/")}
    assert behind == WATCHES_PYTHON | {"diagnostics/wrote.py"}


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    long = {name: length for name, length in lengths.items() if length > 600}
    assert not long, "a file over 600 lines is a sign that a room is missing"


def test_the_walk_sees_what_it_should() -> None:
    source = """
if TYPE_CHECKING:
    import weft.compiler.pipeline
def f():
    from ..ir import types
from . import ops
from weft import math
import weft.gpu.host as host
g(("weft.launch", "call"))
"""
    found = [name for _, name in imports(ast.parse(source), ("compiler", "passes"))]
    assert found == [
        "weft.compiler.ir.types",
        "weft.compiler.passes.ops",
        "weft.math",
        "weft.gpu.host",
        "weft.launch",
    ]
    assert room_of(("gpu", "host", "context")) == "gpu.host"


def test_names_in_strings_are_seen() -> None:
    source = """
'Tile'
f"Tile{x}."
g(kind == "Tile", kind.startswith("Vector["), "Tile Matrix".split(), "Tile of numbers")
g("tile.py", ".linalg", "weft.linalg.", "gpu.barrier")
"""
    found = names_in_strings([*ast.walk(ast.parse(source))])
    assert sorted(word for _, word in found) == "Matrix Tile Tile Vector linalg tile.py weft.linalg".split()


DRIVERS = ("cuda", "cpu")


def all_imports(path: Path) -> Iterator[tuple[int, str]]:
    """The absolute imports of a file, those for type checkers too."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def asks_for_apis(nodes: Iterable[ast.AST]) -> list[int]:
    """The lines on which something is compared with the name of an API."""
    lines: list[int] = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            ends = [node.left, *node.comparators]
            for end in node.comparators:
                if isinstance(end, (ast.Tuple, ast.Set, ast.List)):
                    ends += end.elts
            lines += [node.lineno for end in ends if isinstance(end, ast.Constant) and end.value in DRIVERS]
    return lines


def test_a_driver_is_known_to_itself_alone() -> None:
    """Others ask the protocol in ``runtime/driver.py``; ``runtime/drivers.py`` is the list of them.

    The interpreter has the CPU's memory and streams; ``weft debug`` is a session with it, and so
    is what follows threads for the explorer.
    """
    wrong: list[str] = []
    for path in FILES:
        name = name_of(path)
        if name in ("runtime/drivers.py", "cli/debug.py", "explorer/ways.py"):
            continue
        others = {driver for driver in DRIVERS if not name.startswith(f"runtime/{driver}/")}
        if name.startswith("runtime/interpreter/"):
            others.discard("cpu")
        for line, name in all_imports(path):
            if name.startswith("weft.runtime.") and name.split(".")[2] in others:
                wrong.append(f"{path}:{line}: imports {name}")
        for line in asks_for_apis(nodes_of(path)):
            wrong.append(f"{path}:{line}: asks for an API by its name")
    assert not wrong, "\n".join(wrong)
    asking = ast.parse('x.api in ("cuda", "hip") or "cpu" == x or x == f("cuda")')
    assert asks_for_apis(ast.walk(asking)) == [1, 1]
