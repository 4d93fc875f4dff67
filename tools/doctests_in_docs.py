"""The examples in docstrings, as code on the pages of the reference.

Markdown takes ``>>>`` for a quotation in a quotation in a quotation. ``mkdocs.yml`` names this file as
a hook, which puts a fence around each example before Markdown sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

__all__ = ["Fences", "fenced", "on_config", "on_page_content"]


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines of Markdown with a fence around each example: from ``>>>`` to an empty line."""
    out: list[str] = []
    code, example = False, ""
    for line in [*lines, ""]:
        text = line.strip()
        if text.startswith("```") and not example:
            code = not code
        elif text.startswith(">>> ") and not code and not example:
            example = line[: len(line) - len(line.lstrip())] + "```"
            out.append(example + "pycon")
        elif not text and example:
            out.append(example)
            example = ""
        out.append(line)
    return out[:-1]


class _Examples(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return fenced(lines)


class Fences(Extension):
    """``fenced`` as an extension of Markdown; it runs before fences are read."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(_Examples(md), "doctests", 100)


def on_page_content(html: str, page: Page, **_: object) -> str:
    """mkdocs calls this for each page: a fence that is shown as text is a mistake."""
    if "```" in html:
        raise PluginError(f"{page.file.src_uri}: a fence is part of the text, in an indented example, say")
    return html


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """mkdocs calls this before it builds."""
    cast("list[object]", config.markdown_extensions).append(Fences())
    return config
