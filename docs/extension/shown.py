"""The directive `shown`: a program, and below it what its calls of `pydoca.display` show, as in a notebook."""

from __future__ import annotations

from typing import Any, ClassVar
from unittest import mock

from docutils import nodes
from docutils.parsers.rst import Directive, directives

import pydoca
from pydoca._display.notebook import _named_forms


class Shown(Directive):
    """The program is run when the site is built. The option `only` leaves the program itself out."""

    has_content = True
    option_spec: ClassVar = {"only": directives.flag}

    def run(self) -> list[nodes.Node]:
        program = "\n".join(self.content)
        block = nodes.literal_block(program, program, language="python")
        pictures = [nodes.raw("", f'<div class="drawing">{each}</div>', format="html") for each in displays(program)]
        if not pictures:
            raise self.error("the program shows nothing: it does not call pydoca.display()")
        return pictures if "only" in self.options else [block, *pictures]


def displays(program: str) -> list[str]:
    """The displays that the program shows."""
    found: list[str] = []

    def display(shown: object) -> None:
        _, forms = _named_forms(shown)
        found.append(forms.get("text/html") or forms["image/svg+xml"])

    code = compile(program, "program", "exec")
    with mock.patch.object(pydoca, "display", display):
        exec(code, {"__name__": "__main__"})
    return found


def setup(app: Any) -> None:
    app.add_directive("shown", Shown)
