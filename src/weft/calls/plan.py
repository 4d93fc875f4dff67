"""What calls of one key do: which arrays they make, and what they launch."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.calls.keys import ALIGNED, Given, address_of
from weft.calls.recording import Made, Recording
from weft.calls.spans import OVERLAPPING, Span, relation
from weft.launch.native.prepared import Patched, Prepared
from weft.launch.profile import is_profiled
from weft.layout import LayoutTensor
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.driver import Tiled
from weft.tensor import Tensor

if TYPE_CHECKING:
    from weft.calls.recording import Make
    from weft.gpu.host import DeviceContext
    from weft.launch.launched import Launched

_PIECE, _MOST_TILES = 256, 256
_MOST_KEPT = 1 << 20
"""Bytes of scratch that stay with a plan."""


class Unplanned(Exception):
    """Calls of this key have to be decided anew each time."""


class Overlapping(Exception):
    """Calls with arrays that overlap so have."""


class _Tiles(NamedTuple):
    """Tiles by hardware of memory that begins so many bytes behind an address."""

    tiles: Tiled
    source: int
    offset: int
    known: dict[int, tuple[int, Any]]
    """Where descriptors lie, and their buffers, by where the tiles' memory begins."""

    def descriptor(self, context: DeviceContext, addresses: Sequence[int]) -> int:
        """Where the descriptor lies of such tiles behind one of these addresses."""
        at = addresses[self.source] + self.offset
        found = self.known.get(at)
        if found is None:
            buffer = context.descriptor_of(self.tiles._replace(address=at))
            if len(self.known) >= _MOST_TILES:
                self.known.clear()
            found = self.known[at] = buffer.address, buffer
        return found[0]


class Plan:
    """What calls of one key do.

    Args:
        recording: what such a call has done.
        given: what it was given.
        spans: the memory of the arrays among that.
        result: what it has returned.
        functions: whether it was given functions.

    Raises:
        Unplanned: it did what another call may have to do otherwise.
    """

    def __init__(
        self,
        recording: Recording,
        given: Given,
        spans: Sequence[Span],
        result: Any,
        *,
        functions: bool,
    ) -> None:
        context, launched = _one_place(recording)
        self._context = weakref.ref(context)
        shares, foreign = context.info.shares_host, any(each.guest for _, each in recording.launches)
        self._guest = None
        if foreign and not shares and launched.stream.native is not None:
            self._guest = launched.stream.native.number, launched.stream
        self._holds, self._waits = foreign and shares, recording.waits
        self._several = isinstance(result, tuple)
        several: tuple[Any, ...] = result if self._several else () if result is None else (result,)
        returned = {*map(id, several)}
        made = [each for each in recording.results if id(each.array) in returned]
        scratch = recording.scratch + [each for each in recording.results if id(each.array) not in returned]
        self._makers = [(each.make, address_of(each.array)) for each in made]
        arrays = [*given.arrays, *(each.array for each in made)]
        self._result = [_place(arrays, one) for one in several]
        sizes = [span.end - span.begin for span in spans]
        self.pairs: list[tuple[int, int, int, int, int]] = [
            (i, sizes[i], j, sizes[j], relation(spans[i].begin, sizes[i], spans[j].begin, sizes[j]))
            for j in range(len(spans))
            for i in range(j)
        ]
        """Which arrays were given, with their sizes, and how they lie to each other."""
        self.reads = [each.reads for _, each in recording.launches] if functions else []
        """What the code of functions has read of the program."""
        self._fixed = dict(enumerate(given.numbers))
        """The numbers that have to be what they were."""
        self.always: bool = not (self.pairs or self.reads or self._fixed)
        """Whether it fits arrays wherever they lie, and whatever the program has rebound."""
        self._room, pieces = _joined(scratch)
        self._room_address = address_of(scratch[0].array) if scratch else int
        own = bool(scratch) and isinstance(scratch[0].array, (DeviceBuffer, LayoutTensor, Tensor))
        self._spare: list[Any] | None = [] if own and sum(pieces) <= _MOST_KEPT else None
        places = _Places(spans, made, list(zip(scratch, pieces, strict=True)), recording.tiles)
        self._stream, self._numbers = launched.stream, given.numbers
        self._steps = [places.patched(each) for _, each in recording.launches]
        self._tiles = places.tiles
        self._sources = places.count + len(self._tiles)
        written = places.written.union(self._result)
        if any(kind == OVERLAPPING and not written.isdisjoint((i, j)) for i, _, j, _, kind in self.pairs):
            raise Overlapping
        self._prepare()

    def _prepare(self) -> None:
        self._launch = Prepared(self._stream, self._steps, self._sources + len(self._numbers)).run

    def follows(self, earlier: Plan) -> bool:
        """Whether an earlier plan differs in numbers alone, and this one does for that what these say.

        Where one word of a launch, and one number, went from the same to the same, the word is that number.
        """
        found = numbers_in(self._steps, self._numbers, earlier._steps, earlier._numbers, self._sources)
        if found is None or self._sources != earlier._sources or self.pairs != earlier.pairs:
            return False
        self._steps = found
        patched = {source - self._sources for step in found for _, source, _ in step.patches}
        self._fixed = {k: word for k, word in self._fixed.items() if k not in patched}
        self._prepare()
        return True

    @property
    def ended(self) -> bool:
        """Whether its context is no more."""
        return self._context() is None

    def fits(self, given: Given) -> bool:
        """Whether arrays lie as the recorded call's did, its numbers are the same, and its code is right."""
        addresses, numbers = given.addresses, given.numbers
        for i, size, j, other, kind in self.pairs:
            if relation(addresses[i], size, addresses[j], other) != kind:
                return False
        for k, word in self._fixed.items():
            if numbers[k] != word:
                return False
        return all(reads.hold() for reads in self.reads)

    def run(self, given: Given) -> tuple[Any] | None:
        """Do it with these arrays; what the call returns, or None where it has to be decided anew."""
        arrays, addresses = given.arrays, given.addresses
        context = self._context()
        if context is None or context.closed or context.recording is not None or is_profiled():
            return None
        room = None
        for make, address in self._makers:
            arrays.append(made := make(context))
            addresses.append(address(made))
        if self._room is not None:
            room = self._spare.pop() if self._spare else self._room(context)
            addresses.append(self._room_address(room))
        for tiles in self._tiles:
            addresses.append(tiles.descriptor(context, addresses))
        addresses += given.numbers
        holds = self._holds
        try:
            self._launch(addresses)
            if self._waits:
                context.synchronize()
                holds = False
        finally:
            if holds:
                for array in (*arrays, room):
                    context.keep(array)
                context.queued()
        if self._guest is not None:
            context.note_guest(*self._guest)
        if self._spare is not None and room is not None:
            self._spare.append(room)  # what comes next on the stream comes after this
        found = [arrays[n] for n in self._result]
        return (tuple(found) if self._several else found[0] if found else None,)


def _one_place(recording: Recording) -> tuple[DeviceContext, Launched]:
    """Where all launches went, and the first."""
    if not recording.launches:
        raise Unplanned
    context, first = recording.launches[0]
    for where, launched in recording.launches:
        if not (where is context and launched.stream is first.stream and launched.repeatable):
            raise Unplanned
    if any(made.address & ALIGNED for made in (*recording.results, *recording.scratch)):
        raise Unplanned
    return context, first


def _place(arrays: Sequence[Any], result: Any) -> int:
    for n, array in enumerate(arrays):
        if array is result:
            return n
    raise Unplanned


def _joined(scratch: Sequence[Made]) -> tuple[Make | None, list[int]]:
    """What makes one piece of memory for all scratch, and how many bytes of it each has."""
    sizes = [max(1, -(-each.nbytes // _PIECE)) * _PIECE for each in scratch]  # empty ones have a place too
    return scratch[0].room((sum(sizes),)) if sizes else None, sizes


def numbers_in(
    steps: Sequence[Patched],
    numbers: Sequence[int],
    earlier: Sequence[Patched],
    before: Sequence[int],
    first: int,
) -> list[Patched] | None:
    """Launches with the numbers in their arguments, known by an earlier call with others; None if unknown.

    Args:
        steps: the launches of this call.
        numbers: its numbers.
        earlier: the launches of the earlier call.
        before: the earlier call's numbers.
        first: which source the first number is.
    """
    found, seen = list[Patched](), set[int]()
    if len(steps) != len(earlier):
        return None
    for now, then in zip(steps, earlier, strict=True):
        launch, other = now.launch, then.launch
        words, old = (memoryview(each.arguments).cast("q") for each in (launch, other))
        if launch._replace(arguments=b"") != other._replace(arguments=b"") or len(words) != len(old):
            return None
        known = {slot: source for slot, source, _ in then.patches if source >= first}
        held = {slot for slot, *_ in now.patches}
        if held != {slot for slot, *_ in then.patches} - known.keys():
            return None
        for slot in range(len(words)):
            if slot in held or slot in known or words[slot] == old[slot]:
                continue
            moved = [k for k in range(len(numbers)) if (before[k], numbers[k]) == (old[slot], words[slot])]
            if len(moved) != 1:
                return None
            known[slot] = first + moved[0]
        seen.update(source - first for source in known.values())
        patches = [*now.patches, *((slot, source, 0) for slot, source in known.items())]
        found.append(Patched(launch, patches))
    changed = {k for k in range(len(numbers)) if numbers[k] != before[k]}
    return found if changed and changed <= seen else None


class _Places:
    """Which arguments of launches are addresses of what.

    The addresses have numbers: of the arrays that were given, of the results, of the scratch if there is any,
    and of the descriptors of tiles.
    """

    def __init__(
        self,
        spans: Sequence[Span],
        made: Sequence[Made],
        scratch: Sequence[tuple[Made, int]],
        asked: Mapping[int, tuple[Tiled, Any]],
    ) -> None:
        self._spans, self._asked = spans, asked
        self._fresh = [(n, 0, each) for n, each in enumerate(made, len(spans))]
        self.count, begin = len(spans) + len(made), 0
        for each, size in scratch:
            self._fresh.append((self.count, begin, each))
            begin += size
        self.count += begin > 0
        self.tiles: list[_Tiles] = []
        self.written: set[int] = set()
        """The numbers of arrays that are written to."""

    def patched(self, launched: Launched) -> Patched:
        """A launch and its addresses."""
        launch, patches = launched.launch, list[tuple[int, int, int]]()
        words = memoryview(launch.arguments).cast("Q")
        for slot, (p, word) in enumerate(
            zip(launch.function.kernel.signature.parameters, words, strict=True)
        ):
            if word in self._asked:
                patches.append((slot, self._tiled(self._asked[word][0]), 0))
                continue
            place = self._find(word)
            if p.pointer and place is not None:
                patches.append((slot, *place))
                if p.written:
                    self.written.add(place[0])
            elif place is not None or (p.pointer and word):
                raise Unplanned  # a number that is an address, or a pointer to nobody knows what
        return Patched(launch, patches)

    def _find(self, address: int) -> tuple[int, int] | None:
        """The number of an address and the bytes behind it."""
        for number, offset, made in self._fresh:
            if made.address <= address < made.address + max(1, made.nbytes) and address:
                return number, offset + address - made.address
        for number, span in enumerate(self._spans):
            if address == span.begin and address:
                return number, 0
        within = [n for n, span in enumerate(self._spans) if span.begin < address < span.end]
        if len(within) > 1:
            raise Unplanned
        return (within[0], address - self._spans[within[0]].begin) if within else None

    def _tiled(self, tiles: Tiled) -> int:
        place = self._find(tiles.address)
        if place is None:
            raise Unplanned
        for n, known in enumerate(self.tiles):
            if (known.tiles, known.source, known.offset) == (tiles, *place):
                return self.count + n
        self.tiles.append(_Tiles(tiles, *place, {}))
        return self.count + len(self.tiles) - 1
