"""Diagnostics as text: the source line, a caret under the place, notes and help below."""

from __future__ import annotations

import linecache
import unicodedata
from collections.abc import Generator, Iterable, Iterator

from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location

_TAB = 4
_SPAN_LIMIT = 4
"""A label over more lines than this underlines its first line only."""
_CHAIN_LIMIT = 8
"""A longer chain of calls is cut in the middle of the message, as recursion makes them endless."""

_RED, _BLUE, _CYAN, _BOLD = "1;31", "1;34", "1;36", "1"


def render(diagnostic: Diagnostic, *, colour: bool = False, kind: str = "error") -> str:
    """The diagnostic as several lines of text, without a newline at the end."""
    return "\n".join(_Renderer(diagnostic, colour, kind).lines())


def render_all(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """All diagnostics, an empty line between them, and their number where there are several."""
    each = list(diagnostics)
    parts = [render(diagnostic, colour=colour) for diagnostic in each]
    if len(parts) > 1:
        parts.append(f"{sum(diagnostic.count for diagnostic in each)} errors")
    return "\n\n".join(parts)


class _Renderer:
    def __init__(self, diagnostic: Diagnostic, colour: bool, kind: str) -> None:
        self.diagnostic = diagnostic
        self.colour = colour
        self.kind = kind
        lines = [number for label in diagnostic.labels for number, _, _ in _rows(label.location)]
        self.gutter = len(str(max(lines, default=0)))

    def paint(self, text: str, style: str) -> str:
        return f"\033[{style}m{text}\033[0m" if self.colour and text else text

    def margin(self, number: int | None, rest: str = "") -> str:
        head = f"{'' if number is None else number:>{self.gutter}} |"
        return self.paint(head, _BLUE) + (" " + rest if rest else "")

    def lines(self) -> Iterator[str]:
        diagnostic = self.diagnostic
        first, *more = diagnostic.message.splitlines() or [""]
        yield self.paint(f"{self.kind}[{diagnostic.code}]", _RED) + self.paint(f": {first}", _BOLD)
        yield from more
        shown = False
        for index, labels in enumerate(_by_file(diagnostic.labels)):
            shown = (yield from self.file(labels, primary=index == 0)) or shown
        trailer = list(self.trailer())
        if trailer and shown:
            yield self.margin(None)
        yield from trailer

    def file(self, labels: list[Label], *, primary: bool) -> Generator[str, None, bool]:
        """The labels of one file, in the order of its lines; returns whether source was shown."""
        arrow = self.paint("-->" if primary else ":::", _BLUE)
        yield f"{' ' * self.gutter}{arrow} {labels[0].location}"
        marks: dict[int, list[tuple[int, int | None, str, bool]]] = {}
        without_source: list[str] = []
        for label in labels:
            rows = _rows(label.location)
            main = label is self.diagnostic.labels[0]
            if not any(_source(label.location.file, number) is not None for number, _, _ in rows):
                if label.text:
                    where = "" if main else f"line {label.location.line}: "
                    without_source.append(f"{' ' * self.gutter} = {where}{label.text}")
                continue
            for position, (number, start, end) in enumerate(rows):
                text = label.text if position == len(rows) - 1 else ""
                marks.setdefault(number, []).append((start, end, text, main))
        if marks:
            yield self.margin(None)
        previous: int | None = None
        for number in sorted(marks):
            if previous is not None and number == previous + 2:
                yield self.margin(number - 1, _expand(_source(labels[0].location.file, number - 1) or ""))
            elif previous is not None and number > previous + 1:
                yield self.paint("...", _BLUE)
            source = _source(labels[0].location.file, number) or ""
            yield self.margin(number, _expand(source))
            for start, end, text, main in sorted(marks[number], key=lambda mark: (not mark[3], mark[0])):
                yield self.margin(None, self.underline(source, start, end, text, main))
            previous = number
        yield from without_source
        return bool(marks)

    def underline(self, source: str, start: int, end: int | None, text: str, main: bool) -> str:
        if end is None:
            end = len(source.rstrip())
        before = _width(_expand(source[:start])) + max(0, start - len(source))
        under = max(1, _width(_expand(source[:end])) - before)
        mark = ("^" if main else "-") * under + (f" {text}" if text else "")
        return " " * before + self.paint(mark, _RED if main else _BLUE)

    def trailer(self) -> Iterator[str]:
        diagnostic = self.diagnostic
        for call in _chain(diagnostic.location):
            yield self.remark("note", call)
        for note in diagnostic.notes:
            yield self.remark("note", note)
        for hint in diagnostic.hints:
            yield self.remark("help", hint)

    def remark(self, kind: str, text: str) -> str:
        first, *more = text.splitlines() or [""]
        indent = " " * (self.gutter + len(" = : ") + len(kind))
        head = f"{' ' * self.gutter} {self.paint('=', _BLUE)} {self.paint(kind, _CYAN)}: {first}"
        return "\n".join([head, *(indent + line for line in more)])


def _by_file(labels: tuple[Label, ...]) -> list[list[Label]]:
    files: dict[str, list[Label]] = {}
    for label in labels:
        files.setdefault(label.location.file, []).append(label)
    return list(files.values())


def _chain(location: Location | None) -> list[str]:
    calls: list[str] = []
    caller = location.inlined_at if location else None
    while caller is not None:
        calls.append(f"called from {caller.file}:{caller.line}")
        caller = caller.inlined_at
    if len(calls) > _CHAIN_LIMIT:
        half = _CHAIN_LIMIT // 2
        calls[half:-half] = [f"... {len(calls) - 2 * half} more calls ..."]
    return calls


def _rows(location: Location) -> list[tuple[int, int, int | None]]:
    """The lines to underline: number, first column, end column (none: the end of the line)."""
    last = location.line if location.end_line is None else location.end_line
    if last <= location.line:
        if location.end_column is not None:
            return [(location.line, location.column, location.end_column)]
        if location.column:
            return [(location.line, location.column, location.column + 1)]
        return [(location.line, _indent(location.file, location.line), None)]
    if last - location.line >= _SPAN_LIMIT:
        return [(location.line, location.column, None)]
    middle = [
        (number, _indent(location.file, number), None)
        for number in range(location.line + 1, last)
        if (_source(location.file, number) or "").strip()
    ]
    end = (last, _indent(location.file, last), location.end_column)
    return [(location.line, location.column, None), *middle, end]


def _source(file: str, line: int) -> str | None:
    text = linecache.getline(file, line)
    return text.rstrip("\r\n") if text else None


def _indent(file: str, line: int) -> int:
    text = _source(file, line) or ""
    return len(text) - len(text.lstrip())


def _expand(text: str) -> str:
    """The text as a terminal shows it: tabs as blanks, control characters as one mark."""
    shown: list[str] = []
    column = 0
    for character in text:
        if character == "\t":
            piece = " " * (_TAB - column % _TAB)
        elif unicodedata.category(character) == "Cc":
            piece = "\N{REPLACEMENT CHARACTER}"
        else:
            piece = character
        shown.append(piece)
        column += _width(piece)
    return "".join(shown)


def _width(text: str) -> int:
    """Terminal columns of the text: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(character) or unicodedata.category(character) == "Cf"
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )
