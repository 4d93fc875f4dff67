"""A hook of MkDocs: every link within the built site leads to a page, and to a place in it that is there.

MkDocs checks what Markdown says. Pages that hooks and mkdocstrings make have links of their own.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page names, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = {""}
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.names.add(value or "")
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """The links of a built site that lead nowhere, each with the page that has it."""
    root = site.resolve()
    pages = {file: _Page(file.read_text(encoding="utf-8")) for file in sorted(root.rglob("*.html"))}
    broken: list[str] = []
    for file, page in pages.items():
        if file.name == "404.html":  # whose links begin at the server's root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            named = pages[target].names if target in pages else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in named:
                broken.append(f"{file.relative_to(root)}: {link}")
    return broken


def on_post_build(config: Any, **_: Any) -> None:
    """Fail the build where a link leads nowhere."""
    broken = broken_links(Path(config["site_dir"]))
    if broken:
        from mkdocs.exceptions import PluginError

        raise PluginError("links that lead nowhere:\n" + "\n".join(broken))
