"""The explorer's page from this machine, made again whenever a file is saved."""

from __future__ import annotations

import json
import linecache
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from weft.diagnostics import CompileError, WeftError
from weft.diagnostics.rendering import render_all
from weft.explorer.page import as_data, page
from weft.explorer.stages import Explored, with_machine_code

_LOOK = 0.02
"""Seconds between two looks at the file."""
_SETTLES = 0.005
"""Seconds in which a file that was saved does not change again."""


class _Watch:
    """What the page shows now, and who waits for the next."""

    def __init__(self, file: Path, make: Callable[[], Mapping[str, Explored]]) -> None:
        self.file, self.make = file, make
        self.changed = threading.Condition()
        self.number = 0
        self.found = {name: with_machine_code(kernel) for name, kernel in make().items()}
        self.data = ""
        self.stamp = self._stamp()

    def _stamp(self) -> tuple[int, int]:
        try:
            found = self.file.stat()
        except OSError:  # between an editor's two steps of saving
            return self.stamp
        return found.st_mtime_ns, found.st_size

    def look(self) -> None:
        """Compile anew where the file has changed."""
        stamp = self._stamp()
        if stamp == self.stamp:
            return
        while stamp != self.stamp:  # an editor may empty a file before it writes it
            self.stamp = stamp
            time.sleep(_SETTLES)
            stamp = self._stamp()
        linecache.checkcache()
        try:
            found = self.make()
            self._show({**as_data(found), "live": True}, found)
            found = {name: with_machine_code(kernel) for name, kernel in found.items()}
            self._show({**as_data(found), "live": True}, found)
        except WeftError as error:
            self._show({"error": render_all(error.diagnostics)})
        except Exception as error:  # of the user's file, as it stands
            self._show({"error": f"{self.file}: {type(error).__name__}: {error}"})

    def _show(self, data: dict[str, Any], found: Mapping[str, Explored] | None = None) -> None:
        with self.changed:
            self.number, self.data = self.number + 1, json.dumps(data)
            self.found = self.found if found is None else found
            self.changed.notify_all()

    def text(self) -> str:
        """The page, for who comes now."""
        return page(self.found, live=True)

    def after(self, seen: int) -> tuple[int, str]:
        """What is shown, as soon as its number is not ``seen``, or as it is after a second."""
        with self.changed:
            self.changed.wait_for(lambda: self.number != seen, timeout=1)
            return self.number, self.data


def serve(file: Path, make: Callable[[], Mapping[str, Explored]], port: int) -> int:
    """Serve the page on this machine alone until an interrupt; each save of the file changes it.

    Raises:
        CompileError: the kernels do not compile at first, or the port is taken.
    """
    watch = _Watch(file, make)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self._start("text/html; charset=utf-8")
                self.wfile.write(watch.text().encode())
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
    except OSError as error:
        message = f"cannot serve on port {port}: {error.strerror}"
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
