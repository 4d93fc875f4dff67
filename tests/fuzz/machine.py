"""The model's machine: the threads of a launch, one after the other, in steps from barrier to barrier."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from tests.fuzz import algorithms
from tests.fuzz.algebra import ALGEBRA
from tests.fuzz.algorithms import ALGORITHMS
from tests.fuzz.chances import CHANCES
from tests.fuzz.kinds import BOOL, INT, KINDS, Kind, meet, of_bits, to_storage
from tests.fuzz.lanes import SIMD, Vector, VectorType, iota
from tests.fuzz.mathematics import BIT, MATH
from tests.fuzz.meetings import WARP, Meeting
from tests.fuzz.memories import Array, Atomic, Layout, Place, Pointer, Records, RowType, Table, Tensor, put
from tests.fuzz.program import Argument, Program, model_text
from tests.fuzz.records import built, flattened
from tests.fuzz.scalars import Number, ScalarType, as_kind, number_of
from tests.fuzz.turns import copied, run_together

__all__ = ["Outcome", "run_model"]


@dataclass
class Outcome:
    """What a launch leaves: its arrays by name, what it printed, and whether an assertion failed."""

    arrays: dict[str, npt.NDArray[Any]]
    printed: list[str] = field(default_factory=list[str])
    failed: bool = False


class Range:
    """``range``: numbers of the type of the bounds, Int where narrow; ``unroll`` takes Python's."""

    def __init__(self, *bounds: Any) -> None:
        kind: Kind = INT
        typed = [b for b in bounds if isinstance(b, Number)]
        for n, bound in enumerate(typed):
            found = bound.kind if n == 0 else meet(kind, bound.kind)
            assert found is not None
            kind = found
        self.kind = kind if kind.bits >= 32 else INT
        self.plain = range(*(int(b) for b in bounds))

    def __iter__(self) -> Iterator[Number]:
        return (Number(self.kind, n) for n in self.plain)

    def __reversed__(self) -> Iterator[Number]:
        return (Number(self.kind, n) for n in reversed(self.plain))

    def __contains__(self, x: Any) -> bool:
        return int(x) in self.plain

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice):
            return Number(self.kind, self.plain[int(at)])
        ends: list[Any] = [at.start, at.stop, at.step]  # pyright: ignore[reportUnknownMemberType]
        part = self.plain[slice(*(None if n is None else int(n) for n in ends))]
        return Range(part.start, part.stop, part.step)


def length(items: Any) -> Any:
    """``len``, which of a range is a number of the device."""
    return Number(INT, len(items.plain)) if isinstance(items, Range) else len(items)


def numbered(items: Any, start: int = 0) -> Iterator[tuple[Number, Any]]:
    """``enumerate`` in a loop of the device, where the numbers are Int."""
    return ((Number(INT, start + n), item) for n, item in enumerate(items))


def unroll(items: Any) -> Any:
    return items.plain if isinstance(items, Range) else items


def coerced(value: Any, annotation: Any, scope: dict[str, Any]) -> Any:
    """A parameter or result as its annotation says."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except (NameError, TypeError):
            return value
    if isinstance(annotation, ScalarType):
        return as_kind(value, annotation.kind)
    return annotation(value) if isinstance(annotation, (VectorType, RowType)) else value


def _power(x: Any, n: Any) -> Any:
    return x**n


def _apart(f: Callable[[], Any]) -> Any:
    return f()


def _part(whole: Any, index: Any, op: str, value: Any) -> Any:
    """A vector, or an array, of which an item is another."""
    if op:
        value = {"+": operator.add, "-": operator.sub}[op](whole[index], value)
    return whole.insert(index, value) if isinstance(whole, Vector) else whole.replaced_at(index, value)


def variable(name: str, kind: ScalarType, bound: Any) -> ScalarType:
    """A type variable of kernels: the type that it stands for."""
    return kind


def kernel(function: Any) -> Any:
    """``@kernel``."""
    return function


def mark(kind: Kind) -> Callable[[Any], Any]:
    """``_Int32``: literals are of this type."""

    def as_marked(x: Any) -> Any:
        return VectorType(kind, len(x))(x) if isinstance(x, Vector) else as_kind(x, kind)

    return as_marked


def knowing(function: Any, kind: Kind) -> Any:
    """The function in whose text ``TI`` or ``TF`` is a type."""
    name = "TF" if kind.is_float else "TI"
    scope = {**function.__globals__, name: ScalarType(kind), "_" + name: mark(kind)}
    made = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    return made


class Generic:
    """A function over a type, which brackets or the first argument say."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __getitem__(self, kind: ScalarType) -> Any:
        return func(knowing(self.function, kind.kind))

    def __call__(self, *args: Any) -> Any:
        return self[ScalarType(next(arg.kind for arg in args if hasattr(arg, "kind")))](*args)


def func(function: Any) -> Any:
    """``@func``: what is annotated is converted, and by the first argument another may be called."""
    notes, scope, signature = function.__annotations__, function.__globals__, inspect.signature(function)
    if inspect.isgeneratorfunction(function):
        return function
    variable: Any = notes.get("x")
    if variable in ("TI", "TF") and "_" + variable not in scope:
        return Generic(function)
    others: list[tuple[str, Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        for name, other in others:
            kind: Kind = args[0].kind
            if name in (kind.name, "Floating" if kind.is_float else "Integer"):
                return other(*args)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {name: coerced(v, notes.get(name), scope) for name, v in bound.arguments.items()}
        return coerced(function(**given), notes.get("return"), scope)

    def register(other: Any) -> None:
        others.append((other.__annotations__["x"], func(other)))

    vars(call)["register"] = register
    return call


def _equal(a: Any, c: Any) -> bool:
    found = a == c
    return bool(found.all() if isinstance(found, Vector) else found)


class Struct:
    """What ``@struct`` makes of a class: a value of named fields."""

    fields: dict[str, Any]

    def __init__(self, *args: Any) -> None:
        for n, (name, annotation) in enumerate(self.fields.items()):
            value = args[n] if n < len(args) else getattr(type(self), name)
            setattr(self, name, coerced(value, annotation, self.scope))
        if hasattr(type(self), "__post_init__"):
            made: Any = getattr(self, "__post_init__")()  # noqa: B009
            self.__dict__.update(made.__dict__)

    scope: dict[str, Any]

    def replaced(self, **changed: Any) -> Any:
        made = object.__new__(type(self))
        for name, annotation in self.fields.items():
            value = changed.get(name, getattr(self, name))
            setattr(made, name, coerced(value, annotation, self.scope))
        return made

    def __eq__(self, other: Any) -> Any:
        return Number(BOOL, all(_equal(getattr(self, n), getattr(other, n)) for n in self.fields))

    def __ne__(self, other: Any) -> Any:
        return ~(self == other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _as_python(method: Any, kind: type) -> Any:
    """A method that Python asks for a number of its own."""

    def told(self: Any) -> Any:
        return kind(method(self))

    return told


def is_instance(x: Any, kind: Any) -> bool:
    """``isinstance`` of a number: an integer is an ``int``, a float a ``float``."""
    if isinstance(kind, tuple):
        return any(is_instance(x, one) for one in kind)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(kind, ScalarType):
        return x.kind is kind.kind
    return x.kind.is_float if kind is float else x.kind.is_integer


def structs(scope: dict[str, Any]) -> Any:
    """``@struct``; brackets behind the class make one in which ``TI`` or ``TF`` is known."""

    def struct(cls: Any = None, **_: Any) -> Any:
        if cls is None:
            return struct
        told = {"__bool__": bool, "__len__": int}
        asked = {name: _as_python(vars(cls)[name], kind) for name, kind in told.items() if name in vars(cls)}
        made = type(cls.__name__, (cls, Struct), {"__init__": Struct.__init__, **asked})
        made.fields, made.scope = cls.__annotations__, scope

        @functools.cache
        def of_type(kind: ScalarType) -> Any:
            own: list[tuple[str, Any]] = [
                (n, f) for n, f in cls.__dict__.items() if isinstance(f, FunctionType)
            ]
            known: Any = type(cls.__name__, (made,), {n: knowing(f, kind.kind) for n, f in own})
            known.scope = {**scope, "TI": kind, "TF": kind}
            return known

        setattr(made, "__class_getitem__", of_type)  # noqa: B010
        return made

    return struct


class Machine:
    """Where a thread is, and the memory of its block."""

    def __init__(self) -> None:
        self.ids = {
            n: SimpleNamespace()
            for n in "thread_idx block_idx block_dim grid_dim global_idx cluster_idx block_id_in_cluster "
            "cluster_dim".split()
        }
        self.shared: dict[Any, Array] = {}
        """Of the running thread's block."""
        self.shares: dict[tuple[int, int, int], dict[Any, Array]] = {}
        """Of all blocks that run at once."""
        self.cluster = 1
        self.printed: list[str] = []

    def place(self, name: str, x: int, y: int, z: int) -> None:
        at = self.ids[name]
        at.x, at.y, at.z = Number(INT, x), Number(INT, y), Number(INT, z)

    def enter(self, block: tuple[int, int, int]) -> None:
        """Be in a block."""
        self.place("block_idx", *block)
        self.place("cluster_idx", block[0] // self.cluster, block[1], block[2])
        self.place("block_id_in_cluster", block[0] % self.cluster, 0, 0)
        self.shared = self.shares.setdefault(block, {})

    def rank(self) -> Number:
        return self.ids["block_id_in_cluster"].x

    def mapped(self, memory: Any, rank: Any) -> Any:
        """The same shared memory of another block of the cluster."""
        own = memory.ptr if isinstance(memory, Tensor) else memory
        key = next(key for key, array in self.shared.items() if array is own.array)
        at = self.ids["block_idx"]
        other = int(at.x) // self.cluster * self.cluster + int(rank), int(at.y), int(at.z)
        found = Pointer(self.shares[other][key], own.at)
        return Tensor(found, memory.modes) if isinstance(memory, Tensor) else found

    def _number(self) -> int:
        """The thread's in its block."""
        at, size = self.ids["thread_idx"], self.ids["block_dim"]
        return int(at.x + size.x * (at.y + size.y * at.z))

    def lane_id(self) -> Number:
        return Number(INT, self._number() % WARP)

    def warp_id(self) -> Number:
        return Number(INT, self._number() // WARP)

    def memory(self, dtype: Any, shape: Any, *, address_space: Any = None, alignment: int = 0) -> Any:
        size = shape.size() if isinstance(shape, Layout) else int(shape)
        numbers = isinstance(dtype, ScalarType)
        fresh = Array(dtype.kind, [None] * size) if numbers else Records(INT, [None] * size)
        if address_space == "shared":
            fresh = self.shared.setdefault(sys._getframe(1).f_lineno, fresh)  # pyright: ignore[reportPrivateUsage]
        return Tensor.over(Pointer(fresh), shape) if isinstance(shape, Layout) else Pointer(fresh)

    def dynamic(self, dtype: Any, size: Any = None) -> Pointer:
        return Pointer(self.shared.setdefault("dynamic", Array(dtype.kind, [None] * 4096)))

    def show(self, *values: Any) -> None:
        self.printed.append(" ".join(str(number_of(v)) if isinstance(v, Number) else str(v) for v in values))

    def scope(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            **self.ids,
            **{name: ScalarType(kind) for name, kind in KINDS.items()},
            **{f"_{name}": mark(kind) for name, kind in KINDS.items()},
            "kernel": kernel,
            "func": func,
            "unroll": unroll,
            "range": Range,
            "len": length,
            "isinstance": is_instance,
            "random": CHANCES,
            "enumerate": numbered,
            "SIMD": SIMD,
            "Layout": Layout,
            "Atomic": Atomic,
            "print": self.show,
            "stack_allocation": self.memory,
            "dynamic_shared_memory": self.dynamic,
            "block_rank_in_cluster": self.rank,
            "map_shared_rank": self.mapped,
            "cluster_arrive": lambda: None,
            "AddressSpace": SimpleNamespace(SHARED="shared", LOCAL="local"),
            "_times": operator.mul,
            "_power": _power,
            "_variable": variable,
            "_apart": _apart,
            "_part": _part,
            **ALGEBRA,
            **ALGORITHMS,
            "_product": operator.methodcaller("reduce_mul"),
            "InlineArray": RowType,
            "np": SimpleNamespace(array=Table, **{k.name.lower(): k for k in KINDS.values()}),
            "warp": SimpleNamespace(lane_id=self.lane_id, warp_id=self.warp_id),
            "_Meeting": Meeting,
            "_place": Place,
            "_put": put,
            "NamedTuple": NamedTuple,
            "Generic": collections.defaultdict(lambda: object),
            "TypeVar": TypeVar,
            "Integer": None,
            "Floating": None,
            "copy": SimpleNamespace(copy=copied, deepcopy=copied),
            "dataclasses": dataclasses,
            "enum": enum,
            "iota": iota,
            "math": MATH,
            "bit": BIT,
        }
        out["Int"], out["UInt"] = out["Int64"], out["UInt64"]
        out["struct"] = structs(out)
        return out


def _argument(argument: Argument, scope: dict[str, Any], arrays: dict[str, Array]) -> Any:
    if argument.form == "comptime":
        return argument.value
    found = [[of_bits(KINDS[k], n) for n in bits] for _, _, k, bits in argument.parts()]
    if argument.record is None:
        kind = KINDS[argument.kind]
        if argument.form == "scalar":
            return Number(kind, found[0][0])
        made = Array(kind, found[0])
    else:
        kinds = [KINDS[k] for _, _, k, _ in argument.parts()]
        rows = [map(Number, kinds, row) for row in zip(*found, strict=True)]
        values = [built(argument.record, scope, numbers) for numbers in rows]
        if argument.form == "struct":
            return values[0]
        made = Records(INT, values)
    arrays[argument.name] = made
    layout = Layout(tuple(argument.shape), tuple(argument.stride))
    return Tensor.over(Pointer(made), layout) if argument.form == "tensor" else Pointer(made)


def _left(argument: Argument, array: Array) -> dict[str, npt.NDArray[Any]]:
    """What an argument's memory holds, by the names of its parts."""
    parts = argument.parts()
    if argument.record is None:
        columns: Any = [array.values]
    else:
        columns = zip(*(flattened(argument.record, v, lambda x: x.value) for v in array.values), strict=True)
    return {
        name: to_storage(KINDS[k], list(values))
        for (name, _, k, _), values in zip(parts, columns, strict=True)
    }


def _extents(given: Any) -> tuple[int, int, int]:
    x, y, z = [*given, 1, 1][:3]
    return x, y, z


def _blocks(machine: Machine, launch: dict[str, Any]) -> Iterator[list[Callable[[], None]]]:
    """For every block, what makes each of its threads the running one."""
    if "over" in launch:
        (x, y, z), block = _extents(launch["over"][::-1]), (1, 1, 1)
    else:
        (x, y, z), block = _extents(launch["grid_dim"]), _extents(launch["block_dim"])
    machine.place("block_dim", *block)
    machine.place("grid_dim", x, y, z)
    machine.cluster = _extents(launch.get("cluster_dim", [1]))[0]
    machine.place("cluster_dim", machine.cluster, 1, 1)

    def placed(b: tuple[int, int, int], t: tuple[int, int, int]) -> Callable[[], None]:
        def place() -> None:
            machine.enter(b)
            machine.place("thread_idx", *t)
            machine.place("global_idx", *(n * size + m for n, size, m in zip(b, block, t, strict=True)))

        return place

    for bz, by, bx in itertools.product(range(z), range(y), range(x)):
        inner = itertools.product(*map(range, reversed(block)))
        yield [placed((bx, by, bz), (tx, ty, tz)) for tz, ty, tx in inner]


def run_model(program: Program) -> Outcome:
    """What the program has to give."""
    machine = Machine()
    scope = machine.scope()
    exec(compile(model_text(program.text), "<model>", "exec", dont_inherit=True), scope)
    arrays: dict[str, Array] = {}
    failed = False
    with np.errstate(all="ignore"):
        args = {a.name: _argument(a, scope, arrays) for a in program.arguments}
        names = [] if "host" in program.launch else [n for n in ("program", "again") if n in scope]
        if not names:
            algorithms.begin()
            try:
                scope["program"](None, **args)
                algorithms.wait()
            except AssertionError:
                failed = True
        for kernel in map(scope.__getitem__, names):
            if failed:
                break
            blocks = list(_blocks(machine, program.launch))
            size = len(blocks) if program.launch.get("cooperative") else machine.cluster
            for n in range(0, len(blocks), size):
                machine.shares.clear()
                failed |= run_together(kernel, args, blocks[n : n + size])
    found = [_left(a, arrays[a.name]) for a in program.arguments if a.memory]
    return Outcome(
        {name: array for part in found for name, array in part.items()}, sorted(machine.printed), failed
    )
