"""Structs of arrays: memory of structs in which each field has an array of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import AddressSpace
from weft.diagnostics import STORED, a_, refuse
from weft.dtype import DType, as_dtype
from weft.lang.accept import Accepted, Adopt, Mismatch, accept_as
from weft.lang.elements import ElementType
from weft.lang.generic import describe_annotation, has_variables, written
from weft.lang.number import NumberLike, number_class
from weft.lang.places import Place, known_index
from weft.lang.pointer import Pointer
from weft.lang.products import remade
from weft.lang.spec import Leaf, PartsSpec, PointerSpec, Spec, StaticSpec
from weft.record import record

if TYPE_CHECKING:
    import numpy.typing as npt

T = TypeVar("T")


def _arrays(dtype: DType, path: str = "") -> Iterator[tuple[str, DType]]:
    """The fields that have an array: of structs in structs theirs."""
    fields: Mapping[str, tuple[int, DType]] = dtype.laid.fields if isinstance(dtype, ElementType) else {}
    if not fields:
        yield path, dtype
    for name, (_, part) in fields.items():
        yield from _arrays(part, f"{path}.{name}" if path else name)


def _columns(dtype: DType) -> Spec:
    laid = dtype.laid if isinstance(dtype, ElementType) else None
    if laid is None or not laid.fields:
        return PointerSpec(dtype, AddressSpace.GLOBAL)
    parts = tuple([_columns(part) for _, part in laid.fields.values()])
    return PartsSpec(parts, cast("PartsSpec", laid.spec).cls)


@record
class SoASpec:
    """A struct of arrays: its element type. A pointer to each array completes it."""

    dtype: DType

    @property
    def cls(self) -> type[Any]:
        """What the value is."""
        return SoA

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return self.columns().leaves()

    def columns(self) -> Spec:
        """The struct, with a pointer to an array in place of what has one."""
        return _columns(self.dtype)

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        parts = zip(_arrays(self.dtype), leaves, strict=True)
        return _made(self.dtype, {p: PointerSpec(d, AddressSpace.GLOBAL).build([at]) for (p, d), at in parts})

    def describe(self) -> str:
        """How a message names it."""
        return f"SoA[{self.dtype}]"


class _Spread(Place):
    """An element of a struct of arrays, or a struct in it: its fields lie apart."""

    __slots__ = ("at", "of", "path")

    def __init__(self, of: SoA[Any], at: NumberLike, dtype: DType, path: str) -> None:
        self.of, self.at, self.dtype, self.path = of, at, dtype, path

    def _part(self, name: str) -> Place:
        _, dtype = cast("ElementType", self.dtype).field(name)
        path = f"{self.path}{name}"
        array = self.of.arrays.get(path)
        return (
            _Spread(self.of, self.at, dtype, path + ".") if array is None else array.__weft_place__(self.at)
        )

    def attribute(self, name: str) -> Any:
        """The place of a field; of another attribute, such as a method, what the value here has."""
        known = name in cast("ElementType", self.dtype).laid.fields
        return self._part(name) if known else getattr(self.load(), name)

    def field(self, name: str) -> Place:
        """The place of a field that is to be written."""
        return self._part(name)

    def item(self, index: Any) -> Any:
        """What the value here has at an index: of a vector the place of one of its numbers."""
        of: Any = cast("Any", self.dtype).annotation
        even = of.__weft_even__(index) if hasattr(of, "__weft_even__") else None
        if even is None or known_index(even[2]) is None:
            return self.load()[index]
        return self._part(of.names[known_index(even[2])])

    def load(self) -> Any:
        """The struct, put together."""
        laid = cast("ElementType", self.dtype).laid
        return remade(cast("PartsSpec", laid.spec).cls, [self._part(name).load() for name in laid.fields])

    def store(self, value: Any) -> None:
        """Write each field to its array."""
        laid = cast("ElementType", self.dtype).laid
        if type(value) is not cast("PartsSpec", laid.spec).cls:
            found = a_(type(value).__name__)
            message = f"{a_(self.dtype.name)} is stored here, not {found}"
            refuse("element", message, hint=f"store {a_(self.dtype.name)}", part=STORED)
        for name in laid.fields:
            self._part(name).store(getattr(value, name))

    def pointer(self) -> Pointer[Any]:
        """Refused."""
        refuse(
            "address",
            f"the fields of {a_(self.dtype.name)} lie apart here",
            hint="take the address of one: Pointer(to=p[i].x)",
        )


class SoA(Generic[T]):
    """Memory of ``T``, a struct, in which each field has an array of its own.

    As a kernel's parameter, ``p: SoA[Particle]`` is used as ``p: Pointer[Particle]`` is: ``p[i].x``,
    ``p[i].x += 1``, ``p[i] = Particle(...)``, ``q = p[i]``, ``Pointer(to=p[i].x)``. Neighbouring threads that
    read one field then read neighbouring memory. Structs in structs are taken apart too; an ``InlineArray``
    stays whole. A launch takes a mapping of arrays as well, by the names of their fields: ``{"position": x,
    "speed": v}``.

    Args:
        context: where the arrays are made: a DeviceContext.
        dtype: the struct.
        size: how many elements.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, kernel, struct
        >>> from weft.gpu import global_idx
        >>> from weft.gpu.host import DeviceContext
        >>> @struct
        ... class Particle:
        ...     position: Float32
        ...     speed: Float32
        >>> @kernel
        ... def move(p: SoA[Particle], seconds: Float32):
        ...     i = global_idx.x
        ...     p[i].position += p[i].speed * seconds
        >>> ctx = DeviceContext(api="cpu")
        >>> particles = SoA(ctx, Particle, 3)
        >>> particles.field("position").enqueue_fill(1.0)
        >>> ctx.enqueue_copy(dst=particles.field("speed"), src=np.arange(3, dtype=np.float32))
        >>> ctx.enqueue_function(move, particles, 0.5, grid_dim=1, block_dim=3)
        >>> particles.numpy()["position"]
        array([1. , 1.5, 2. ], dtype=float32)
    """

    __slots__ = ("arrays", "context", "dtype", "size")
    __iter__ = None  # else Python would try p[0], p[1], ... without end

    def __init__(self, context: Any, dtype: type[T], size: int) -> None:
        kind = as_dtype(cast("Any", dtype))
        if not isinstance(kind, ElementType) or not kind.laid.fields:
            refuse("element", f"SoA takes a @struct, and {kind} has no fields", hint="make a buffer of it")
        self.context: Any = context
        self.dtype: DType = kind
        self.size: int = size
        self.arrays: Mapping[str, Any] = {
            path: context.enqueue_create_buffer(part, size) for path, part in _arrays(kind)
        }
        """The arrays by the names of their fields: buffers, in a kernel pointers."""

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<SoA of {self.size} {self.dtype}: {', '.join(self.arrays)}>"

    def field(self, name: str) -> Any:
        """The buffer of a field: ``"speed"``, ``"position.x"``.

        Raises:
            CompileError: no field of that name has an array.
        """
        if name not in self.arrays:
            known = ", ".join(self.arrays)
            message = f"{self.dtype} has no array for `{name}`"
            refuse("unknown-attribute", message, notes=(f"it has {known}",), hint="name one of these")
        return self.arrays[name]

    def numpy(self) -> npt.NDArray[Any]:
        """All elements as records, copied, once the work on them has ended."""
        import numpy as np

        made = np.zeros(self.size, self.dtype.numpy)
        for path, buffer in self.arrays.items():
            with buffer.map_to_host() as host:
                _inside(made, path)[...] = host.numpy()
        return made

    def copy_from(self, records: npt.NDArray[Any]) -> None:
        """Take the elements from as many records of ``np.dtype(T)``.

        Raises:
            CompileError: they differ from the struct.
        """
        import numpy as np

        if not isinstance(given := cast("object", records), np.ndarray):
            message = f"copy_from takes an array of NumPy's records, not {a_(type(given).__name__)}"
            refuse("element", message, hint=f"write np.array([(...), ...], np.dtype({self.dtype}))")
        count, why, hint = cast("ElementType", self.dtype).counted(records.dtype, records.shape)
        if why or count != self.size or records.dtype.names is None:
            found = why or f"{count} records for {self.size} elements"
            refuse("element", f"the records do not fit {self!r}: {found}", hint=hint)
        for path, buffer in self.arrays.items():
            self.context.enqueue_copy(dst=buffer, src=np.ascontiguousarray(_inside(records, path)))

    def __weft_spec__(self) -> Spec:
        known = all(isinstance(array, Pointer) for array in self.arrays.values())
        return SoASpec(self.dtype) if known else StaticSpec(self)

    def __weft_leaves__(self) -> list[Value]:
        return [array.value for array in self.arrays.values() if isinstance(array, Pointer)]

    @classmethod
    def __weft_accept__(cls, args: tuple[Any, ...], value: Any, adopt: Adopt) -> Accepted:
        if isinstance(value, SoA) and (not args or has_variables(args[0])):
            args = (written(cast("SoA[Any]", value).dtype),)
        spec = cast("SoASpec", cls.__weft_spec_of_annotation__(args, None))
        if isinstance(value, SoA) and cast("SoA[Any]", value).dtype is spec.dtype:
            return spec, list(cast("SoA[Any]", value).arrays.values())
        if isinstance(value, SoA) or not hasattr(value, "keys"):
            hint = f"make one, SoA(ctx, {spec.dtype}, n), or pass a dict of arrays"
            raise Mismatch(a_(type(cast("Any", value)).__name__), f"a {spec.describe()}", hint)
        return spec, _taken(spec, value, adopt)

    __weft_accepts_parts__ = True

    @classmethod
    def __weft_spec_of_annotation__(cls, args: tuple[Any, ...], given: Any) -> Spec:
        if not args or has_variables(args[0]):
            shown = "without element type" if not args else f"of {describe_annotation(args[0])}"
            raise Mismatch(f"an SoA {shown}", "SoA[T]", "write SoA[Particle], say, or pass an SoA")
        return SoASpec(as_dtype(args[0]))

    def __weft_place__(self, index: NumberLike) -> Place:
        return _Spread(self, index, self.dtype, "")

    def __getitem__(self, index: NumberLike) -> T:
        return self.__weft_place__(index).load()

    def __setitem__(self, index: NumberLike, value: T) -> None:
        self.__weft_place__(index).store(value)


def _made(dtype: DType, arrays: Mapping[str, Any]) -> SoA[Any]:
    made = cast("SoA[Any]", object.__new__(SoA))
    made.dtype, made.arrays, made.size, made.context = dtype, arrays, 0, None
    return made


def _taken(spec: SoASpec, value: Any, adopt: Adopt) -> list[Any]:
    """The arrays of a mapping, each as a pointer to what its field holds."""
    wanted, found, sizes = dict(_arrays(spec.dtype)), list[Any](), dict[str, int]()
    given = [str(name) for name in value.keys()]  # noqa: SIM118
    if sorted(given) != sorted(wanted):
        raise Mismatch(
            f"arrays of {', '.join(given) or 'nothing'}",
            f"a {spec.describe()}",
            f"give one for each of {', '.join(wanted)}",
        )
    for path, part in wanted.items():
        of: Any = part.annotation if isinstance(part, ElementType) else number_class(part)
        try:
            found += accept_as(Pointer[of], value[path], adopt)[1]
        except Mismatch as wrong:
            raise Mismatch(f"{wrong.found} in its field .{path}", wrong.allowed, wrong.hint) from None
        if part.is_number:
            sizes[path] = len(value[path])
    if len({*sizes.values()}) > 1:
        shown = ", ".join(f"{size} of {path}" for path, size in sizes.items())
        raise Mismatch(f"arrays of different lengths ({shown})", f"a {spec.describe()}")
    return found


def _inside(records: Any, path: str) -> Any:
    for name in path.split("."):
        records = records[name]
    return records
