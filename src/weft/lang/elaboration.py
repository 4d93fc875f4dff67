"""The elaboration under way: where its code goes, and what the language may ask of it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from weft.compiler.ir.builder import Builder
from weft.diagnostics import CompileError, caller_location, elaborating
from weft.dtype import DType
from weft.lang.members import Members

if TYPE_CHECKING:
    from weft.abi.artifact import AssertSite, Piece, PrintSite
    from weft.compiler.ir.core import Global, Op, Value
    from weft.diagnostics import Diagnostic
    from weft.lang.decorators import Func
    from weft.lang.number import Number
    from weft.lang.scalars import Int
    from weft.lang.spec import Spec
    from weft.targets import Target


class Elaborator(Protocol):
    """Who elaborates a kernel and what it calls."""

    formatted: list[tuple[Number | str, str]]
    """The numbers, and texts with marks, that texts under way hold, each with how it is written."""
    threads: int
    """Of a block of the kernel at hand, where that says it; else 0."""
    tables: dict[tuple[bytes, int], Global]
    """The module's tables, by what they hold and how they are aligned."""

    @property
    def changed_by_value(self) -> set[type[Any]]:
        """Classes of structs of which the code at hand, or what it calls, sets parts of copies."""
        ...

    def call(
        self,
        func: Func[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        untyped: DType = DType.float32,
        /,
    ) -> Any:
        """Call a function from the code at hand; float literals that nothing types are ``untyped``."""
        ...

    def callback(self, func: Func[..., Any], order: list[tuple[str, Spec]], /) -> tuple[Value, Spec]:
        """The address of a function as C calls it, and what it returns."""
        ...

    def apart(
        self, func: Func[..., Any], order: list[tuple[str, Spec]], known: Mapping[str, Any], /
    ) -> Value:
        """The address of a function that is compiled once, and put into none of those that call it."""
        ...

    def refer(self, op: Op, what: Global | PrintSite | AssertSite, /) -> Op:
        """Note what an operation names."""
        ...

    def assert_site(self, pieces: tuple[Piece, ...], /) -> AssertSite:
        """An assertion at the line at hand."""
        ...

    def note_use(self, name: str, /) -> None:
        """The code at hand uses something that a launch must know of."""
        ...

    def note_dynamic_shared(self, nbytes: int, /) -> None:
        """The code at hand takes so much of the shared memory that its launch gives."""
        ...

    def describe_tiles(
        self,
        memory: Value,
        extents: tuple[int, ...],
        strides: tuple[int, ...],
        box: tuple[int, ...],
        swizzle: int,
        /,
    ) -> Value | None:
        """Where the launch describes tiles of an argument; None where it cannot."""
        ...

    def note_bounds(self, threads: int, blocks: int, /) -> None:
        """A block that runs the code at hand has at most so many threads, and so many of them fit at once."""
        ...

    def note_thread(self) -> None:
        """The code at hand asks which thread runs it."""
        ...

    def doubt(self, diagnostic: Diagnostic, value: Value | None = None, /) -> None:
        """Warn of the code at hand, if ``value`` proves to be what the diagnostic says."""
        ...

    def postpone(self, error: CompileError, /) -> None:
        """Refuse the code at hand, unless a type that this pass assumes proves to be another."""
        ...

    def is_for_several_types(self) -> bool:
        """Whether the code at hand may be elaborated for other types too, as its text stands."""
        ...

    def take_shared_memory(
        self, what: str, size: int, hint: str | Sequence[str] = "", /, *notes: str
    ) -> None:
        """The code at hand takes ``size`` bytes of what a block shares."""
        ...


FAST_MATH = "reassoc,nsz,arcp,contract"
"""What ``fast_math`` allows with floats, in MLIR's words."""


class Elaboration(Builder):
    """A builder that knows what it builds for."""

    exact = False
    """Whether what is computed is noted, to be checked."""
    tells_overflow = False
    """Whether integers that do not hold what is computed are told of."""

    def __init__(self, target: Target, elaborator: Elaborator) -> None:
        super().__init__()
        self.target = target
        self.elaborator = elaborator
        self.fastmath = "contract" if target.contract else "none"
        """What may be done with the floats of the code at hand, in MLIR's words."""
        self.element: tuple[Int, Int, Int] | None = None
        """The element's index, in the body of a launch over a range."""
        self.marks: int = 0
        self.met: dict[object, DType] = {}
        """By the mark of a number whose type is not settled, the type that it has met."""
        self.stored: dict[object, DType] = {}
        """Likewise, the type of what is stored into its variable."""
        self.begun: list[tuple[object, set[int]]] = []
        """Of each group of products that runs beside the code, the region in which it was begun, and what it
        reads."""
        self.reduced: list[tuple[object, Any]] = []
        """What reductions gave, and the region of each."""
        self.changes_items = False
        """Whether the function assigns elements of what its own variables hold."""
        self.by_value: set[object] = set()
        """The structs that are no objects, by which of those they are that the function makes."""
        self._made: dict[object, int] = {}
        self.moment: int = 0
        """Counts what changes objects, or what is known of them."""
        self.looking = False
        """Whether values are only looked at, and what is made of them is no copy that stays."""
        self.members: Members = Members()
        self.entering = False
        """Whether the parameters of a function are made."""
        self.literals: list[object] = []
        """The marks of those among them that are given literals."""
        self.learnt: int = 0
        """How often the pass took one of them for another type: then there is going to be another pass."""
        self.handed_on: int = 0
        """How often by then, when one was last handed on as what it is, and nothing else was wrong."""

    def computed(self, what: str, source: DType, d: DType, *values: Value) -> None:
        """An operator, or a function of the library, was applied to all but the last of ``values``.

        That is the result, of the format ``d``.
        """

    def new_object(self, value: Any) -> object:
        """Which of the structs that the function makes this one is."""
        place = self.loc[:2]
        self._made[place] = count = self._made.get(place, 0) + 1
        return place, count

    def change(self, held: Any, made: Any, names: Sequence[str] | None = None) -> bool:
        """Give a struct the fields of another, where it is one object for all its names; else say no.

        They are those that differ, unless ``names`` says which.
        """
        raise NotImplementedError

    def part_of(self, value: Any, name: str) -> Any:
        """A field of what is one of several objects."""
        raise NotImplementedError

    def truth(self, value: Any) -> Any:
        """``bool(value)``, of a run-time value a Bool."""
        raise NotImplementedError

    def new_mark(self) -> int:
        """A mark for a number whose type is not settled yet."""
        self.marks += 1
        return self.marks


_state = threading.local()


def current() -> Elaboration:
    """The elaboration under way in this thread.

    Raises:
        CompileError: nothing is being compiled here.
    """
    found = maybe_current()
    if found is None:
        raise CompileError.at(
            "outside-kernel",
            "this has a meaning only in a kernel or @func, while that is being compiled",
            caller_location(),
            hints=("move it into a function decorated with @kernel or @func",),
        )
    return found


def maybe_current() -> Elaboration | None:
    """The elaboration under way in this thread, or None on the host."""
    return getattr(_state, "elaboration", None)


@contextmanager
def building(elaboration: Elaboration | None) -> Generator[Elaboration | None]:
    """Make ``elaboration`` the current one (None: leave compilation, as a callback on the host does)."""
    before = maybe_current()
    _state.elaboration, elaborating.now = elaboration, elaboration is not None
    try:
        yield elaboration
    finally:
        _state.elaboration, elaborating.now = before, before is not None


def note_result(name: str, numbers: Sequence[Number], made: Number) -> None:
    """Note what a function of the library has made of numbers, where that is to be checked."""
    b = maybe_current()
    if b is not None and b.exact:
        from weft.lang.number import value_of

        values = [value_of(number, b) for number in (*numbers, made)]
        b.computed(name, numbers[0].dtype, made.dtype, *values)


def note_index(index: Any, extent: Any, lanes: int = 1) -> None:
    """Note which of how many something is taken, where that is to be checked; both are integers.

    Of several ``lanes`` from an index on it is the last.
    """
    b = maybe_current()
    if b is not None and b.exact:
        from weft.lang.number import number_class

        numbers = [number_class(DType.int64)(number) for number in (index, extent)]
        if lanes > 1:
            numbers[0] = numbers[0] + (lanes - 1)
        note_result("index", numbers, numbers[0])
