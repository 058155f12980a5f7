"""What every page that the qualification writes must be. `script/reports_check.py` looks at them in a browser, too."""

from __future__ import annotations

import html_page


class Page(html_page.Page):
    """Checks also that ids are unique, that nothing is loaded, and that each table scrolls where it finds no room."""

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
        if tag == "table":  # also for those who scroll by the keyboard, and those who hear what it is
            around = dict(self._last)
            assert (around["class"], around["tabindex"], bool(around["aria-label"])) == ("pq-scroll", "0", True)
        self._last = attributes
        super().handle_starttag(tag, attributes)
