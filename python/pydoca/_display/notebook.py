"""What a notebook asks objects for, and what `pydoca.display` writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pydoca._display.cards import card_of, has_card
from pydoca._display.frame.card import Card
from pydoca._display.frame.markup import card_html, card_page, picture_svg
from pydoca._display.frame.text import card_text
from pydoca._errors import InvalidValueError, NotSupportedError


def html_of(shown: object) -> str:
    return card_html(card_of(shown))


def svg_of(shown: object) -> str:
    """Of an object that is a picture."""
    picture = card_of(shown).picture
    return picture_svg(picture) if picture else ""


def bundle_of(shown: object) -> dict[str, str]:
    """Every form that an object has, by MIME type."""
    return _bundle(card_of(shown))


def _bundle(card: Card) -> dict[str, str]:
    forms = {"text/plain": card_text(card), "text/html": card_html(card)}
    return {**forms, "image/svg+xml": picture_svg(card.picture)} if card.picture else forms


def show(shown: object, file: str | os.PathLike[str] | None) -> None:
    """What `pydoca.display` does."""
    if not has_card(shown):
        raise NotSupportedError(
            f"display: pydoca has no display for an object of type {type(shown).__name__}; give one of pydoca's "
            "objects, or a list of DeviceInfo"
        )
    card = card_of(shown)
    if file is not None:
        _write(card, Path(file))
    elif (publish := _notebook()) is not None:
        publish(_bundle(card), raw=True)
    else:
        print(card_text(card))


def _write(card: Card, path: Path) -> None:
    kind = path.suffix.lower()
    if kind not in {".html", ".htm", ".svg"}:
        raise InvalidValueError(f"display: {path} is neither .html nor .svg; give the file one of these endings")
    if kind == ".svg" and card.picture is None:
        raise InvalidValueError(f"display: {card.kind} is not a picture; write it as .html")
    text = picture_svg(card.picture) + "\n" if kind == ".svg" and card.picture else card_page(card)
    path.write_text(text, encoding="utf-8")


def _notebook() -> Any:
    """IPython's display, in a program whose front end shows more than text; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display
