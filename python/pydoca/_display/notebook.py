"""What a notebook asks objects for, and what `pydoca.display` writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pydoca._display.frame.markup import document, panel_html, panel_page, picture_svg
from pydoca._display.frame.panel import Panel
from pydoca._display.frame.text import panel_text
from pydoca._display.panels import has_panel, panel_of
from pydoca._errors import InvalidValueError, NotSupportedError
from pydoca._trace import Trace


def html_of(shown: object) -> str:
    return panel_html(panel_of(shown))


def svg_of(shown: object) -> str:
    """Of an object that is a picture."""
    picture = panel_of(shown).picture
    return picture_svg(picture) if picture else ""


def bundle_of(shown: object) -> dict[str, str]:
    """Every form that an object has, by MIME type."""
    return _bundle(panel_of(shown))


def _bundle(panel: Panel) -> dict[str, str]:
    forms = {"text/plain": panel_text(panel), "text/html": panel_html(panel)}
    return {**forms, "image/svg+xml": picture_svg(panel.picture)} if panel.picture else forms


def show(shown: object, file: str | os.PathLike[str] | None) -> None:
    """What `pydoca.display` does."""
    if isinstance(shown, Trace):
        _show_trace(shown, file)
        return
    if not has_panel(shown):
        raise NotSupportedError(
            f"display: pydoca has no display for an object of type {type(shown).__name__}; give one of pydoca's "
            "objects, or a list of DeviceInfo"
        )
    panel = panel_of(shown)
    if file is not None:
        _write(panel, Path(file))
    elif (publish := _notebook()) is not None:
        publish(_bundle(panel), raw=True)
    else:
        print(panel_text(panel))


def _show_trace(trace: Trace, file: str | os.PathLike[str] | None) -> None:
    """A trace is a picture of its own, without a panel."""
    picture = trace._repr_svg_()
    if picture is None:
        raise InvalidValueError(f"display: {trace!r} has no picture yet; display it after the end of its with block")
    if file is not None:
        path = Path(file)
        text = picture + "\n" if _kind_of(path) == ".svg" else document(picture, repr(trace))
        path.write_text(text, encoding="utf-8")
    elif (publish := _notebook()) is not None:
        publish({"text/plain": repr(trace), "image/svg+xml": picture}, raw=True)
    else:
        print(repr(trace))


def _kind_of(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in {".html", ".htm", ".svg"}:
        raise InvalidValueError(f"display: {path} is neither .html nor .svg; give the file one of these endings")
    return kind


def _write(panel: Panel, path: Path) -> None:
    kind = _kind_of(path)
    if kind == ".svg" and panel.picture is None:
        raise InvalidValueError(f"display: {panel.kind} is not a picture; write it as .html")
    text = picture_svg(panel.picture) + "\n" if kind == ".svg" and panel.picture else panel_page(panel)
    path.write_text(text, encoding="utf-8")


def _notebook() -> Any:
    """IPython's display, in a program whose front end shows more than text; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display
