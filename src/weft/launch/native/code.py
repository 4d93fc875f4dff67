"""The native code of launches, loaded into this process: compiled once on a machine, beside its launches."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

from weft.compiler.cache import kept_object
from weft.diagnostics import CompileError
from weft.lang.decorators import Func


class Native(NamedTuple):
    """The addresses of the stub and of the reader of array interfaces, and what keeps them there."""

    stub: int
    interface: int
    keep: object


_made: list[Native] = []
_under_way: list[threading.Thread] = []


def _functions() -> Sequence[Func[..., Any]]:
    from weft.launch.native.arrays import weft_read_interface
    from weft.launch.native.stub import weft_enqueue

    return weft_enqueue, weft_read_interface


@overload
def native_code(*, wait: Literal[True] = True) -> Native: ...
@overload
def native_code(*, wait: bool) -> Native | None: ...
def native_code(*, wait: bool = True) -> Native | None:
    """The code, compiled first if need be; without ``wait`` there is None until that has ended."""
    if not _made and (wait or not _under_way):
        code = kept_object(_functions, compile=wait)
        if code is not None:
            _load(code)
        else:  # no daemon: a short program that ends before it leaves the code to the next one
            _under_way.append(threading.Thread(target=_compile, name="weft's launches"))
            _under_way[0].start()
    return _made[0] if _made else None


def _compile() -> None:
    with contextlib.suppress(CompileError):  # launches go on through Python
        _load(kept_object(_functions) or b"")


def _load(code: bytes) -> None:
    from weft.compiler.llvm.emit import load_object

    loaded = load_object(code, ["weft_enqueue", "weft_read_interface"], {})
    stub, interface = loaded.addresses
    _made.append(Native(stub, interface, loaded))
