"""Memory of threads that several values share in turn: each needs it from its first write to its last use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import Type
from weft.compiler.passes.pieces import Piece, within


def in_turn(
    pieces: Sequence[Piece],
    made: Mapping[Piece, Sequence[Value]],
    used_in: Mapping[Value, set[Piece]],
    array: Callable[[Type], Value],
    free: dict[Type, list[Value]],
) -> Iterator[tuple[Value, Value]]:
    """Each value with its array: one of the ``free`` ones, or a new one. At the end all are free."""
    places = {each: n for n, piece in enumerate(pieces) for each in within(piece)}
    ends: list[list[tuple[Type, Value]]] = [[] for _ in range(len(pieces) + 1)]

    def let_go(n: int) -> None:
        for kind, one in ends[n]:
            free.setdefault(kind, []).append(one)

    for n, piece in enumerate(pieces):
        for part in piece.parts:
            yield from in_turn(part, made, used_in, array, free)
        for v in made.get(piece, ()):
            others = free.get(v.type)
            one = others.pop() if others else array(v.type)
            yield v, one
            ends[max(n, *[places.get(user, len(pieces)) for user in used_in[v]])].append((v.type, one))
        let_go(n)  # what comes behind may have them
    let_go(len(pieces))
