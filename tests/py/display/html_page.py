"""A page, as the tests read it."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"br", "hr", "img", "meta", "wbr"}


class Page(HTMLParser):
    """Checks the nesting, and keeps what a reader sees and what a browser would load or run."""

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
