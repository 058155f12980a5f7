"""The forms that a notebook asks objects for, and the output of `pydoca.display`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pydoca._display.file_name import to_path
from pydoca._display.frame.markup import document, panel_html, picture_svg
from pydoca._display.frame.panel import Panel
from pydoca._display.frame.text import panel_text
from pydoca._display.panels import has_panel, panel_of
from pydoca._errors import InvalidValueError, NotSupportedError

_HTML, _SVG = "text/html", "image/svg+xml"


def html_of(shown: object) -> str:
    return panel_html(panel_of(shown))


def svg_of(shown: object) -> str:
    """The SVG of an object that is a picture."""
    picture = panel_of(shown).picture
    return picture_svg(picture) if picture else ""


def bundle_of(shown: object) -> dict[str, str]:
    """Every form that an object has, by MIME type."""
    return _bundle(panel_of(shown))


def _bundle(panel: Panel) -> dict[str, str]:
    forms = {"text/plain": panel_text(panel), _HTML: panel_html(panel)}
    return {**forms, _SVG: picture_svg(panel.picture)} if panel.picture else forms


def show(shown: object, file: str | os.PathLike[str] | None) -> None:
    """Shows the object in a notebook, or writes it to a file or standard output, for `pydoca.display`."""
    path = None if file is None else to_path("display", file, "object.html")
    title, forms = _named_forms(shown)
    if path is not None:
        _write(shown, title, forms, path)
    elif (publish := _notebook()) is not None:
        publish(forms, raw=True)
    else:
        print(_printable(forms["text/plain"]))


def _printable(text: str) -> str:
    """The text with a question mark for what standard output cannot encode: a picture may have any sign."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _named_forms(shown: object) -> tuple[str, dict[str, str]]:
    """A title, and the forms of a panel; or those of an object with a picture of its own, such as a trace."""
    if (own := getattr(type(shown), "_own_forms", None)) is not None:
        return repr(shown), own(shown)
    if not has_panel(shown):
        raise NotSupportedError(
            f"display: pydoca has no display for an object of type {type(shown).__name__}; give one of pydoca's "
            "objects, or a list of DeviceInfo"
        )
    panel = panel_of(shown)
    return f"{panel.kind} {panel.name}".strip(), _bundle(panel)


def _write(shown: object, title: str, forms: dict[str, str], path: Path) -> None:
    kind = path.suffix.lower()
    if kind not in {".html", ".htm", ".svg"}:
        raise InvalidValueError(f"display: {path} is neither .html nor .svg; give the file one of these endings")
    if kind != ".svg":
        text = document(forms.get(_HTML) or forms[_SVG], title)
    elif _SVG in forms:
        text = forms[_SVG] + "\n"
    else:
        raise InvalidValueError(f"display: {type(shown).__name__} is not a picture; write it as .html")
    path.write_text(text, encoding="utf-8")


def _notebook() -> Any:
    """IPython's display, in a program whose front end shows more than text; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display
