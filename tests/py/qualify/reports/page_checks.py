"""Checks of every page that the qualification writes; `script/reports_check.py` looks at them in a browser."""

from __future__ import annotations

import html_page


class Page(html_page.Page):
    """A page with unique ids, without loaded files, whose tables scroll if they lack room."""

    def __init__(self, html: str) -> None:
        self._last: list[tuple[str, str | None]] = []
        super().__init__(html)
        assert ".pq-scroll{overflow-x:auto}" in html
        assert len(self.ids) == len(set(self.ids))
        assert not {"script", "link", "iframe", "object", "img"} & set(self.tags)
        assert "url(http" not in html
        assert "@import" not in html
        missing = [link for link in self.links if link.startswith("#") and link[1:] not in self.ids]
        assert missing == []
        assert not [link for link in self.links if "//" in link or link.startswith(("javascript:", "data:"))]

    def handle_starttag(self, tag, attributes):
        if tag == "table":  # keyboard users can scroll the table, and a screen reader names it
            around = dict(self._last)
            assert (around["class"], around["tabindex"], bool(around["aria-label"])) == ("pq-scroll", "0", True)
        self._last = attributes
        super().handle_starttag(tag, attributes)
