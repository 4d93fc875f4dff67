"""Links of the built site: what the hook of its build finds broken."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = '<a href="{}">there</a><h2 id="here">Here</h2><img src="picture.png">'


@pytest.mark.parametrize(
    ("link", "is_right"),
    [
        ("other/", True),
        ("other/index.html#here", True),
        ("other/#%68ere", True),
        ("#here", True),
        ("picture.png", True),
        ("https://example.org/nowhere#at-all", True),
        ("other/#there", False),
        ("#there", False),
        ("another/", False),
        ("other/page.html", False),
    ],
)
def test_links(link: str, is_right: bool, tmp_path: Path) -> None:
    from site_links import broken_links

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text('<h2 id="here">Here</h2>', encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "index.html").write_text(PAGE.format(link), encoding="utf-8")
    assert broken_links(tmp_path) == ([] if is_right else [f"index.html: {link}"])
