"""What an editor asks of pyright's language server: hovers, completions, jumps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class LanguageServer:
    """A server for a folder, with one file of it open."""

    def __init__(self, path: Path) -> None:
        self.path, self.text, self.asked = path, path.read_text(encoding="utf-8"), 0
        command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        markdown = {"hover": {"contentFormat": ["markdown"]}}
        root = {"uri": path.parent.as_uri(), "name": "programs"}
        self.ask(
            "initialize", processId=None, workspaceFolders=[root], capabilities={"textDocument": markdown}
        )
        self.tell("initialized")
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": self.text}
        self.tell("textDocument/didOpen", textDocument=document)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def tell(self, method: str, **params: Any) -> None:
        self._send(method=method, params=params)

    def ask(self, method: str, **params: Any) -> Any:
        self.asked += 1
        self._send(id=self.asked, method=method, params=params)
        while True:
            said = self._read()
            if "method" not in said and said["id"] == self.asked:
                return said.get("result")
            if "method" in said and "id" in said:  # the server asks too
                self._send(id=said["id"], result=None)

    def hover(self, within: str) -> tuple[str, str]:
        """The signature and what stands below it, of the last name in a piece of the file's text."""
        found = self.ask("textDocument/hover", **self._at(within))
        shown = "" if found is None else str(found["contents"]["value"])
        signature, _, text = shown.removeprefix("```python\n").partition("\n```")
        return signature, text.removeprefix("\n---\n")

    def jumps(self, within: str) -> list[tuple[Path, str]]:
        """Files and lines that define the last name in a piece of the file's text."""
        found: list[Any] = self.ask("textDocument/definition", **self._at(within)) or []
        jumps: list[tuple[Path, str]] = []
        for one in found:
            path = Path(unquote(urlsplit(str(one["uri"])).path))
            line = int(one["range"]["start"]["line"])
            jumps.append((path, path.read_text(encoding="utf-8").splitlines()[line]))
        return jumps

    def completions(self, behind: str) -> list[str]:
        """The names without an underscore that are offered behind a piece of the file's text."""
        found = self.ask("textDocument/completion", **self._at(behind, behind=True))
        return sorted(one["label"] for one in found["items"] if not one["label"].startswith("_"))

    def _at(self, within: str, *, behind: bool = False) -> dict[str, Any]:
        end = self.text.index(within) + len(within if behind else within.rstrip("\n"))
        before = self.text[: end if behind else end - 1].split("\n")
        place = {"line": len(before) - 1, "character": len(before[-1])}
        return {"textDocument": {"uri": self.path.as_uri()}, "position": place}

    def _send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self.process.stdin.flush()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        size = 0
        while header := self.process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        return json.loads(self.process.stdout.read(size))
