"""The page of ready kernels' sources: what each file says of itself, its code, and the figures measured.

``mkdocs.yml`` names this file as a hook. A line ``weft.kernels.scans, weft.algorithm.lookback`` of that page
becomes what these modules say and contain; ``<!-- figures -->`` the table of the page of performance.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

__all__ = ["MODULES", "on_page_markdown", "shown"]

MODULES = re.compile(r"^weft\.[\w.]+(?:, weft\.[\w.]+)*$", re.MULTILINE)
"""A line of modules, which are to be shown."""
_FIGURES = re.compile(r"^## Ready kernels\n.*?(^```text\n.*?^```$)", re.MULTILINE | re.DOTALL)


def shown(name: str) -> str:
    """What a module says of itself, and its source behind a click, in Markdown."""
    found = importlib.util.find_spec(name)
    assert found is not None, f"the gallery names {name}, which is no module"
    assert found.origin is not None, f"{name} is a folder"
    source = Path(found.origin).read_text(encoding="utf-8")
    first = ast.parse(source).body[0]
    said = ast.get_docstring(ast.parse(source)) or ""
    code = "\n".join(source.splitlines()[first.end_lineno :]).strip("\n")
    count = len(code.splitlines())
    behind = f'<details markdown="1"><summary>Source, {count} lines</summary>'
    return f"**`{name}`** {said.replace('``', '`')}\n\n{behind}\n\n````python\n{code}\n````\n\n</details>\n"


def _all(found: re.Match[str]) -> str:
    return "\n".join(shown(name) for name in found[0].split(", "))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """mkdocs calls this with the text of each page: modules take the place of their names."""
    if page.file.src_uri != "guide/gallery.md":
        return markdown
    text = Path(config.docs_dir, "performance.md").read_text(encoding="utf-8")
    figures = _FIGURES.search(text)
    assert figures is not None, "performance.md has no table of ready kernels"
    filled = markdown.replace("<!-- figures -->", figures[1])
    return MODULES.sub(_all, filled)
