"""The explorer's page from this machine, made again whenever a file is saved."""

from __future__ import annotations

import importlib
import json
import linecache
import os
import sys
import sysconfig
import threading
import time
import urllib.parse
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from weft.diagnostics import CompileError, WeftError
from weft.diagnostics.location import is_internal
from weft.diagnostics.rendering import render_all
from weft.explorer.page import as_data, as_shown, page
from weft.explorer.stages import Explored, with_machine_code
from weft.explorer.ways import Ways, with_ways
from weft.record import replace
from weft.runtime.dim import index_of

Make = Callable[[], Mapping[str, Explored]]
"""Compiles the kernels that are asked for, by their names."""

_LOOK = 0.02
"""Seconds between two looks at the file."""
_SETTLES = 0.005
"""Seconds in which a file that was saved does not change again."""


class Imported:
    """The modules of the user's that were imported since this was made: read anew where one was saved.

    Those of weft, of Python and of installed packages are nobody's to edit, and stay.
    """

    def __init__(self) -> None:
        self._before = set(sys.modules)
        self._stamps: dict[str, tuple[int, int]] = {}

    @contextmanager
    def noted(self) -> Generator[None]:
        """Remember the files as they are before what is done here, and what it imports as that is then."""
        self._stamps = {file: _saved(file, stamp) for file, stamp in self._stamps.items()}
        try:
            yield
        finally:
            self._stamps = {file: stamp_of(file) for file in self._files().values()} | self._stamps

    def changed(self) -> bool:
        """Whether one of them is another than it was noted as."""
        return any(_saved(file, stamp) != stamp for file, stamp in self._stamps.items())

    def forget(self) -> None:
        """Have Python read all of them again: one may have taken something from another."""
        for name in self._files():
            del sys.modules[name]
        importlib.invalidate_caches()

    def _files(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, module in tuple(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name not in self._before and file is not None and not _installed(file):
                found[name] = file
        return found


def _installed(file: str) -> bool:
    return is_internal(file) or any(file.startswith(folder) for folder in _INSTALLED)


_INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})


def stamp_of(file: str | Path) -> tuple[int, int]:
    """When a file was changed, and its size; zeros where it is not there."""
    try:
        found = os.stat(file)
    except OSError:  # between an editor's two steps of saving
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _saved(file: str | Path, before: tuple[int, int]) -> tuple[int, int]:
    """Its stamp, ``before`` while it is empty: an editor may empty a file before it writes it."""
    found = stamp_of(file)
    return found if found[1] else before


class _Watch:
    """What the page shows now, and who waits for the next."""

    def __init__(self, file: Path, make: Make, follow: Callable[..., Ways] | None) -> None:
        self.file, self.make, self.follow = file, make, follow
        self.changed = threading.Condition()
        self.assembling = threading.Lock()
        self.number = 0
        self.imported = Imported()
        sys.dont_write_bytecode = True  # by whose seconds two versions of a file are the same
        self.stamp = stamp_of(file)
        with self.imported.noted():
            self.found = {name: with_machine_code(kernel) for name, kernel in make().items()}
        self.found = self._followed(self.found)
        self.data = ""

    def look(self) -> None:
        """Compile anew where the file has changed."""
        stamp = _saved(self.file, self.stamp)
        others = self.imported.changed()
        if stamp == self.stamp and not others:
            return
        while stamp != self.stamp:
            self.stamp = stamp
            time.sleep(_SETTLES)
            stamp = _saved(self.file, self.stamp)
        linecache.checkcache()
        if others:
            self.imported.forget()
        try:
            with self.imported.noted():
                found = self.make()
            number = self._show(as_data(found), found)
            threading.Thread(target=self._complete, args=(found, number), daemon=True).start()
        except WeftError as error:
            self._show({"error": render_all(error.diagnostics)})
        except Exception as error:  # of the user's file, as it stands
            self._show({"error": f"{self.file}: {type(error).__name__}: {error}"})

    def _complete(self, found: Mapping[str, Explored], number: int) -> None:
        """Show the same with machine code, then with ways of threads, unless the next is shown by then."""
        for more in (self._assembled,) if self.follow is None else (self._assembled, self._followed):
            with self.assembling:
                if self.number != number:
                    return
                found = more(found)
            with self.changed:
                if self.number == number:
                    number = self._show(as_data(found), found)

    @staticmethod
    def _assembled(found: Mapping[str, Explored]) -> dict[str, Explored]:
        return {name: with_machine_code(kernel) for name, kernel in found.items()}

    def _show(self, data: dict[str, Any], found: Mapping[str, Explored] | None = None) -> int:
        """Show it; its number."""
        with self.changed:
            live = {"live": True, "follows": self.follow is not None}
            self.number, self.data = self.number + 1, json.dumps({**data, **live})
            self.found = self.found if found is None else found
            self.changed.notify_all()
            return self.number

    def _followed(self, found: Mapping[str, Explored]) -> dict[str, Explored]:
        ways = {} if self.follow is None else self.follow()
        return {name: with_ways(kernel, ways) for name, kernel in found.items()}

    def way(self, words: Mapping[str, str]) -> dict[str, Any]:
        """The ways of the threads that the page asks for, or an error."""
        kernel = self.found.get(words.get("kernel", ""))
        try:
            where = [index_of(words[each]) if words.get(each) else None for each in ("block", "thread")]
        except ValueError as error:
            return {"error": str(error)}
        if kernel is None or self.follow is None:
            return {"error": "there is no such kernel now, or nothing was to be followed"}
        followed = with_ways(replace(kernel, ways=None), self.follow(*where))
        if followed.ways is None:
            return {"error": "the program has no such thread"}
        return as_shown(followed.ways, [*followed.sources])

    def text(self) -> str:
        """The page, for who comes now."""
        return page(self.found, live=True, follows=self.follow is not None)

    def after(self, seen: int) -> tuple[int, str]:
        """What is shown, as soon as its number is not ``seen``, or as it is after a second."""
        with self.changed:
            self.changed.wait_for(lambda: self.number != seen, timeout=1)
            return self.number, self.data


def serve(file: Path, make: Make, follow: Callable[..., Ways] | None, port: int) -> int:
    """Serve the page on this machine alone until an interrupt; each save of the file changes it.

    ``follow`` gives the ways of threads, of a block and a thread where the page asks for them.

    Raises:
        CompileError: the kernels do not compile at first, or the port is taken.
    """
    watch = _Watch(file, make, follow)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self._start("text/html; charset=utf-8")
                self.wfile.write(watch.text().encode())
            elif self.path.startswith("/way?"):
                self._start("application/json")
                words = dict(urllib.parse.parse_qsl(self.path.partition("?")[2]))
                self.wfile.write(json.dumps(watch.way(words)).encode())
            elif self.path == "/changes":
                self._start("text/event-stream")
                self._changes()
            else:
                self.send_error(404)

        def _start(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Cache-Control", "no-store")
            self.end_headers()

        def _changes(self) -> None:
            seen = watch.number
            while True:
                number, data = watch.after(seen)
                try:
                    self.wfile.write(f"data: {data}\n\n".encode() if number != seen else b": waits\n\n")
                    self.wfile.flush()
                except OSError:  # the page is closed
                    return
                seen = number

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the terminal is the user's."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        message = f"cannot serve on port {port}: {getattr(error, 'strerror', None) or error}"
        raise CompileError.at("option", message, None, hints=("leave --port out",)) from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}/ (until Ctrl-C)", flush=True)
    try:
        while True:
            watch.look()
            time.sleep(_LOOK)
    except KeyboardInterrupt:
        server.shutdown()
        return 0
