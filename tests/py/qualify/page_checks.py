"""What every page that the qualification writes must be."""

from __future__ import annotations

import html_page


class Page(html_page.Page):
    """Checks also that ids are unique, and that nothing is loaded."""

    def __init__(self, html: str) -> None:
        super().__init__(html)
        assert len(self.ids) == len(set(self.ids))
        assert not {"script", "link", "iframe", "object", "img"} & set(self.tags)
        assert "url(http" not in html
        assert "@import" not in html
        missing = [link for link in self.links if link.startswith("#") and link[1:] not in self.ids]
        assert missing == []
        assert not [link for link in self.links if "//" in link or link.startswith(("javascript:", "data:"))]
