"""Records are what frozen dataclasses with slots are."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from weft.record import field, record, replace


@record
class Point:
    """A place."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list[int], compare=False, repr=False)

    def moved(self, by: int) -> Point:
        """Another place."""
        return replace(self, x=self.x + by)


@dataclasses.dataclass(frozen=True, slots=True)
class Expected:
    """The same as a dataclass."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 2
    seen: list[int] = dataclasses.field(default_factory=list[int], compare=False, repr=False)


@record(frozen=False)
class Open:
    """Its fields can be assigned."""

    n: int


@record(eq=False)
class Alone:
    """Each is only itself."""

    n: int = 0


@pytest.mark.parametrize("args", [(1,), (1, 3), (1, 3, [4])])
def test_as_a_dataclass(args: tuple[Any, ...]) -> None:
    mine, other = Point(*args), Expected(*args)
    assert repr(mine) == repr(other).replace("Expected", "Point")
    assert (mine.x, mine.y, mine.seen, Point.kind) == (other.x, other.y, other.seen, Expected.kind)
    assert dataclasses.asdict(mine) == dataclasses.asdict(other)
    names = [(f.name, f.compare, f.repr) for f in dataclasses.fields(Point)]
    assert names == [(f.name, f.compare, f.repr) for f in dataclasses.fields(Expected)]
    assert Point.__match_args__ == Expected.__match_args__
    assert not hasattr(Point(1), "__dict__")
    assert (Point.__doc__, Point.__qualname__) == ("A place.", "Point")


def test_equality_and_hash() -> None:
    assert Point(1, 2, [3]) == Point(1, y=2)
    assert hash(Point(1, 2, [3])) == hash(Point(1))
    assert Point(1) != Point(2)
    assert Point(1) != Expected(1)
    assert Point(1).seen is not Point(1).seen
    assert Open(1) == Open(1)
    assert Alone(1) != Alone(1)
    assert len({Alone(1), Alone(1)}) == 2
    with pytest.raises(TypeError, match="unhashable type: 'Open'"):
        hash(Open(1))


def test_frozen() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        object.__setattr__(point, "z", 1)
    other = Open(1)
    other.n = 2
    assert other == Open(2)


def test_wrong_arguments() -> None:
    for _ in range(2):  # the first instance compiles __init__
        with pytest.raises(
            TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"
        ):
            Point()  # pyright: ignore[reportCallIssue]


def test_copies() -> None:
    point = Point(1, 3, [4])
    assert point.moved(2) == Point(3, 3)
    assert point.moved(2).seen is point.seen
    assert dataclasses.replace(point, y=5) == Point(1, 5)
    for twin in (pickle.loads(pickle.dumps(point)), copy.deepcopy(point), copy.copy(point)):
        assert (twin, twin.seen) == (point, [4])
    assert copy.deepcopy(point).seen is not point.seen
