"""The directive `details`: text that a reader opens when it is wanted."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


class Details(Directive):
    """Hidden text; the argument is the line that is always seen."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        inside = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside)
        summary = f"<details><summary>{escape(self.arguments[0])}</summary>"
        return [nodes.raw("", summary, format="html"), inside, nodes.raw("", "</details>", format="html")]


def setup(app: Any) -> None:
    app.add_directive("details", Details)
