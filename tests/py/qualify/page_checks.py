"""What every page that the qualification writes must be."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "br", "wbr", "img", "hr"}


class Page(HTMLParser):
    """Checks that elements are nested, ids are unique, and nothing is loaded; keeps what a reader sees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))
        assert not {"script", "link", "iframe", "object", "img"} & set(self.tags)
        assert "url(http" not in html
        assert "@import" not in html
        missing = [link for link in self.links if link.startswith("#") and link[1:] not in self.ids]
        assert missing == []
        assert not [link for link in self.links if "//" in link or link.startswith(("javascript:", "data:"))]

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), name
            self.ids += [value] if name == "id" else []
            self.links += [value] if name in {"href", "src", "xlink:href"} else []

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
