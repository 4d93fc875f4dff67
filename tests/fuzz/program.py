"""A program: its text, arguments and launch; how weft is given it, and how the model is.

The text is Python in which a few calls are marks. ``_Int32(x)`` says that the literals in ``x`` are ``Int32``
there, by the language's rules: weft is given ``x``, the model converts. ``_times(x, y)`` is a product that a
GPU must not fuse with a sum, ``_power(x, n)``, ``_product(v)`` and ``_apart(lambda: ...)`` likewise.
``_variable("K", Int32, Integer)`` is a type variable: the model takes the type. ``v = _part(v, i, "", x)``
is ``v[i] = x`` of a value, with ``"+"`` it is ``v[i] += x``.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from tests.fuzz.kinds import KINDS
from tests.fuzz.records import leaves

__all__ = ["Argument", "Program", "model_text", "weft_text"]


@dataclass
class Argument:
    """What a kernel is given: a ``pointer``, ``tensor``, ``soa``, ``scalar``, ``struct`` or ``comptime``."""

    name: str
    form: str
    kind: str = ""
    bits: list[int] = field(default_factory=list[int])
    """The elements, as bits; of records those of each number in them, one after the other."""
    shape: list[int] = field(default_factory=list[int])
    stride: list[int] = field(default_factory=list[int])
    value: Any = None
    """What a compile-time parameter is."""
    record: Any = None
    """What the elements are made of, where they are no numbers; see ``records``."""
    host: bool = False
    """Whether the kernel is given an array of NumPy's in place of a buffer."""
    close: int = 0
    """By how many units of the last place its numbers may differ from the model's, as no way from another."""

    @property
    def memory(self) -> bool:
        return self.form in ("pointer", "tensor", "soa")

    def parts(self) -> list[tuple[str, tuple[Any, ...], str, list[int]]]:
        """The numbers in the elements: a name, where they are, their kind and bits."""
        if self.record is None:
            return [(self.name, (), self.kind, self.bits)]
        found = leaves(self.record)
        count = len(self.bits) // max(len(found), 1)
        return [
            (".".join(map(str, (self.name, *path))), path, kind, self.bits[n * count : (n + 1) * count])
            for n, (path, kind) in enumerate(found)
        ]


@dataclass
class Program:
    """A text with a kernel ``program``, its arguments in order, and how it is launched.

    A kernel ``again`` is launched after it in the same way. Where the launch has ``host``, ``program`` is a
    function that is given the context.
    """

    text: str
    arguments: list[Argument]
    launch: dict[str, Any]
    seed: int = 0

    @property
    def brackets(self) -> bool:
        """Whether type variables are written as Python 3.12 lets one."""
        return sys.version_info >= (3, 12) and self.seed % 2 == 1

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        made: dict[str, Any] = json.loads(text)
        made["arguments"] = [Argument(**argument) for argument in made["arguments"]]
        return Program(**made)


HEAD = """from __future__ import annotations
import copy, dataclasses, enum
from typing import Generic, NamedTuple, TypeVar
import numpy as np
from weft import *
from weft import bit, math, random
from weft.algorithm import elementwise, map, map_reduce, parallelize, reduce, scan, sort, tile, vectorize
from weft.atomic import Atomic
from weft.complex import ComplexFloat16, ComplexFloat32, ComplexFloat64
from weft.gpu import barrier, block, block_dim, block_idx, global_idx, grid_dim, thread_idx, warp
from weft.gpu import block_id_in_cluster, block_rank_in_cluster, cluster_arrive, cluster_dim, cluster_idx
from weft.gpu import cluster_sync, cluster_wait, grid_sync, map_shared_rank
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.lang import no_contraction
from weft.layout import Layout, LayoutTensor
from weft.linalg import Matrix, Quaternion, Vector, cross, determinant, dot, inverse, norm, trace, transpose
from weft.memory import AddressSpace, SoA, dynamic_shared_memory, stack_allocation

"""
APART = """
def _times(x, y):
    with no_contraction():
        return x * y

def _apart(f):
    with no_contraction():
        return f()

def _power(x, n):
    with no_contraction():
        return x ** n

def _product(v):
    with no_contraction():
        return v.reduce_mul()

"""


class _ForWeft(ast.NodeTransformer):
    """Marks become what they mark."""

    def __init__(self, apart: bool) -> None:
        self.apart = apart

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        found = node.value
        if not (isinstance(found, ast.Call) and ast.unparse(found.func) == "_part"):
            return node
        whole, index, op, value = found.args
        return ast.parse(
            f"{ast.unparse(whole)}[{ast.unparse(index)}] {ast.literal_eval(op)}= {ast.unparse(value)}"
        ).body[0]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "_variable":
            bound = ast.keyword("bound", node.args[2])
            return ast.Call(ast.Name("TypeVar", ast.Load()), node.args[:1], [bound])
        if name[:1] == "_" and (name[1:] in KINDS or name in ("_TI", "_TF")):
            return node.args[0]
        if self.apart:
            return node
        if name == "_apart":
            return cast("ast.Lambda", node.args[0]).body
        if name == "_times":
            return ast.BinOp(node.args[0], ast.Mult(), node.args[1])
        if name == "_power":
            return ast.BinOp(node.args[0], ast.Pow(), node.args[1])
        if name == "_product":
            return ast.Call(ast.Attribute(node.args[0], "reduce_mul", ast.Load()), [], [])
        return node


def weft_text(text: str, apart: bool = False, brackets: bool = False) -> str:
    """What weft is given; ``apart`` where the device fuses products and sums.

    With ``brackets``, type variables are written as from Python 3.12 on: ``def f[T: Integer](x: T)``.
    """
    body = ast.unparse(ast.fix_missing_locations(_ForWeft(apart).visit(ast.parse(text))))
    return HEAD + (APART if apart else "") + (_bracketed(body) if brackets else body) + "\n"


_VARIABLE = re.compile(r"^(\w+) = TypeVar\('\w+', bound=(\w+)\)\n", re.MULTILINE)


def _bracketed(text: str) -> str:
    bounds = dict(_VARIABLE.findall(text))

    def head(found: re.Match[str]) -> str:
        used = [f"{name}: {bound}" for name, bound in bounds.items() if re.search(rf"\b{name}\b", found[2])]
        rest = "" if found[1].startswith("class") else found[2]
        return f"{found[1]}[{', '.join(used)}]{rest}:" if used else found[0]

    return re.sub(
        r"^((?:def|class) \w+)(\(.*\)(?: -> .*)?):$", head, _VARIABLE.sub("", text), flags=re.MULTILINE
    )


_MEETINGS = {
    "barrier": "",
    "cluster_sync": "all",
    "cluster_wait": "all",
    "grid_sync": "all",
    "named_barrier": "named",
    "named_barrier_arrive": "named",
}
"""Where threads wait, or say that they are there: the room, none for a block's own barrier."""


def _waits(tree: ast.AST, waiting: set[str]) -> bool:
    """Whether threads wait there: at a barrier, in a function that does, for their warp or block."""
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return any((isinstance(f, ast.Name) and f.id in {*_MEETINGS, *waiting}) or _room(f) for f in calls)


def _room(called: ast.expr) -> str:
    """``warp`` or ``block``, where threads meet for what is called."""
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return ""
    alone = called.attr in ("lane_id", "warp_id")
    return called.value.id if called.value.id in ("warp", "block") and not alone else ""


class _ForModel(ast.NodeTransformer):
    """Structs change by value; where threads wait, a generator yields."""

    def __init__(self, waiting: set[str]) -> None:
        self.waiting = waiting

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        if len(node.targets) != 1:
            return node
        root, path = _steps(node.targets[0])
        if not path:
            return node
        if isinstance(root, ast.Name):
            return _changed(cast("ast.Attribute", node.targets[0]), node.value)
        return ast.Expr(_call("_put", [node.value, _place(root, path)]))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        root, path = _steps(node.target)
        if not path:
            return node
        now: ast.expr = ast.parse(ast.unparse(node.target), mode="eval").body
        if isinstance(root, ast.Name):
            return _changed(cast("ast.Attribute", node.target), ast.BinOp(now, node.op, node.value))
        found = ast.BinOp(_call("_at.get", []), node.op, node.value)
        return [
            ast.Assign([ast.Name("_at", ast.Store())], _place(root, path), lineno=0),
            ast.Expr(_call("_at.set", [found])),
        ]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        self.generic_visit(node)
        if node.name == "__post_init__":
            node.body.append(ast.Return(ast.Name("self", ast.Load())))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if room := _room(node.func):
            names = [ast.Constant(room), ast.Constant(cast("ast.Attribute", node.func).attr)]
            return ast.Yield(ast.Call(ast.Name("_Meeting", ast.Load()), [*names, *node.args], node.keywords))
        if isinstance(node.func, ast.Name):
            if room := _MEETINGS.get(node.func.id):
                names = [ast.Constant(room), ast.Constant(node.func.id)]
                return ast.Yield(_call("_Meeting", [*names, *node.args]))
            if node.func.id == "barrier":
                return ast.Yield(None)
            if node.func.id in self.waiting:
                return ast.YieldFrom(node)
        return node


def _steps(target: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """``p[i].x.w[k]`` as ``p[i]`` and the way from there: names of fields, and places in arrays."""
    path: list[ast.expr] = []
    while isinstance(target, ast.Attribute) or (
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute)
    ):
        path.insert(0, ast.Constant(target.attr) if isinstance(target, ast.Attribute) else target.slice)
        target = target.value
    return target, path


def _place(root: ast.expr, path: list[ast.expr]) -> ast.expr:
    assert isinstance(root, ast.Subscript)
    return _call("_place", [root.value, root.slice, *path])


def _call(name: str, args: list[ast.expr]) -> ast.expr:
    return ast.Call(ast.parse(name, mode="eval").body, args, [])


def _changed(target: ast.Attribute, value: ast.expr) -> ast.stmt:
    """``p.q.x = v`` as ``p = p.replaced(q=p.q.replaced(x=v))``."""
    where: ast.expr = target
    while isinstance(where, ast.Attribute):
        owner = ast.parse(ast.unparse(where.value), mode="eval").body
        value = ast.Call(ast.Attribute(owner, "replaced", ast.Load()), [], [ast.keyword(where.attr, value)])
        where = where.value
    assert isinstance(where, ast.Name)
    return ast.Assign([ast.Name(where.id, ast.Store())], value, lineno=0)


def model_text(text: str) -> str:
    """What the model runs; its kernel is a generator where threads wait for each other."""
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    waiting: set[str] = set()
    for function in functions:  # those that call one come after it
        if _waits(function, waiting):
            waiting.add(function.name)
    made = ast.fix_missing_locations(_ForModel(waiting).visit(tree))
    return "from __future__ import annotations\n" + ast.unparse(made) + "\n"
