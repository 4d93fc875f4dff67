"""The codes of messages on the documentation's site: a page each, and the list of all on the page of errors.

``mkdocs.yml`` names this file as a hook. What is shown is what ``weft explain`` prints.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from weft.diagnostics.explain import GROUPS, pages

__all__ = ["listed", "on_files", "on_page_markdown"]

MARK = "<!-- codes -->"


def listed() -> str:
    """All codes by group, in Markdown."""
    parts: list[str] = []
    for group, (name, when) in GROUPS.items():
        rows = [f"| [`{p.code}`](codes/{p.code}.md) | {p.title} |" for p in pages(group)]
        parts.append("\n".join([f"## {name}\n\n{when}\n", "| code | when |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """mkdocs calls this when it has found the files: the page of each code joins them."""
    for group in GROUPS:
        for found in pages(group):
            text = f"# {found.code}\n\n**{found.title}.**\n{found.body}"
            made = File.generated(config, f"codes/{found.code}.md", content=text)
            made.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(made)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """mkdocs calls this with the text of each page: the list of codes takes the place of its mark."""
    return markdown.replace(MARK, listed()) if page.file.src_uri == "errors.md" else markdown
