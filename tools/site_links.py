"""A hook of MkDocs: every link within the built site leads to a page, and to a place in it that is there.

MkDocs checks what Markdown says. Pages that hooks and mkdocstrings make have links of their own.
"""

from __future__ import annotations

import functools
import html
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

# ``html.parser`` takes 6 s of CPU for the site's half a million tags, most of which colour code.
_UNREAD = re.compile(r"<!--.*?-->|(<(script|style)\b[^>]*>).*?</\2>", re.DOTALL)
_TAG = re.compile(r"""<(?!span class="\w*">)(\w+)((?:[^>"']|"[^"]*"|'[^']*')+)>""")
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")


class _Page:
    """What a page names, and where its links lead."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = {""}
        self.links: list[str] = []
        for tag, attributes in _TAG.findall(_UNREAD.sub(r"\1", text)):
            for name, *values in _ATTRIBUTE.findall(attributes):
                if name == "id" or (name == "name" and tag == "a"):
                    self.names.add(html.unescape("".join(values)))
                elif name in ("href", "src"):
                    self.links.append(html.unescape("".join(values)))


def broken_links(site: Path) -> list[str]:
    """The links of a built site that lead nowhere, each with the page that has it."""
    root = site.resolve()
    pages = {file: _Page(file.read_text(encoding="utf-8")) for file in sorted(root.rglob("*.html"))}

    @functools.cache
    def led_to(folder: Path, path: str) -> tuple[Path, bool]:
        target = Path(os.path.normpath(folder / unquote(path)))  # as browsers do it
        page = next((page for page in (target / "index.html", target) if page in pages), None)
        return page or target, page is not None or target.is_file()

    broken: list[str] = []
    for file, page in pages.items():
        if file.name == "404.html":  # whose links begin at the server's root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target, is_there = led_to(file.parent, parts.path) if parts.path else (file, True)
            named = pages[target].names if target in pages else {unquote(parts.fragment)}
            if not is_there or unquote(parts.fragment) not in named:
                broken.append(f"{file.relative_to(root)}: {link}")
    return broken


def on_post_build(config: Any, **_: Any) -> None:
    """Fail the build where a link leads nowhere."""
    broken = broken_links(Path(config["site_dir"]))
    if broken:
        from mkdocs.exceptions import PluginError

        raise PluginError("links that lead nowhere:\n" + "\n".join(broken))
