"""What the language asks of the rooms above it, which it cannot import; ``weft/__init__`` puts them here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from weft.compiler.source.definition import Definition
    from weft.lang.decorators import Func


class Above(Protocol):
    """The rooms above the language."""

    def call(self, func: Func[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run a @func that Python calls."""
        ...

    def cpu(self) -> Any:
        """The context in which functions run that Python calls."""
        ...

    def forget(self, definition: Definition) -> None:
        """Drop what was compiled of a function."""
        ...

    def pow(self, x: Any, y: Any) -> Any:
        """``x ** y`` of two floats of one type."""
        ...

    def exporter(self, name: str) -> str:
        """The module from which users import a name; empty for none."""
        ...

    def on_host(self, module: str) -> bool:
        """Whether what a module of weft's has belongs to the host."""
        ...


_provided: list[Above] = []


def provide(rooms: Above) -> None:
    """Say what the rooms above are."""
    _provided[:] = [rooms]


def above() -> Above:
    """The rooms above."""
    return _provided[0]
