"""Every Python block of the README and of the documentation runs.

The blocks of a page share one namespace and stand in one real file at the lines that they have on
the page, so that source can be found and an error names the page's line. A block marked ``output``
is what the page has printed since the one before it. ``console`` and ``text`` blocks are not run. A
picture that a page saves is the one of that name that the page shows.
"""

from __future__ import annotations

import io
import re
import sys
import types
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from doctests_in_docs import fenced
from pages import PAGES, ROOT, blocks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    found = blocks(text)
    name = "page_" + re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
    file = tmp_path / f"{name}.py"
    lines = [""] * len(text.splitlines())
    for start, language, body in found:
        if language == "python":
            lines[start : start + len(body)] = body
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    module = types.ModuleType(name)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    for start, language, body in found:
        if language == "python":
            code = compile("\n" * start + "\n".join(body) + "\n", str(file), "exec", dont_inherit=True)
            with redirect_stdout(printed):
                exec(code, module.__dict__)
        elif language == "output":
            assert printed.getvalue().splitlines() == body, f"{page}:{start}"
            printed = io.StringIO()
    for made in tmp_path.glob("*.png"):
        with Image.open(made) as new, Image.open(ROOT / "docs" / "assets" / made.name) as shown:
            difference = np.abs(np.asarray(new, np.int16) - np.asarray(shown.convert("L"), np.int16))
        assert difference.mean() < 4, "the page shows another picture"  # stored with few colours


def test_examples_of_docstrings_are_code() -> None:
    fence = "`" * 3
    text = f"What it does.\n\n    >>> f(1)\n    2\n\n{fence}\n>>> no\n{fence}\n>>> g()"
    first = f"    {fence}pycon\n    >>> f(1)\n    2\n    {fence}\n"
    told = f"What it does.\n\n{first}\n{fence}\n>>> no\n{fence}\n{fence}pycon\n>>> g()\n{fence}"
    assert fenced(text.split("\n")) == told.split("\n")


def test_blocks_are_found() -> None:
    text = "a\n```python\nx\n```\n    ```console\n    $ y\n    ```\n````text\n```python\n````\n"
    assert blocks(text) == [(2, "python", ["x"]), (5, "console", ["$ y"]), (8, "text", ["```python"])]
