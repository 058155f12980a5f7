"""The known word that a wrong one may mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(text: str, known: Iterable[str]) -> str:
    """The text "; did you mean 'GB/s'?", or nothing where no word is close."""
    found = _closest(text, known)
    return f"; did you mean {found!r}?" if found else ""


def beside(text: str, known: Iterable[str]) -> str:
    """The text "; the nearest one is 'dma.bw.64'", for a name that may also be right."""
    found = _closest(text, known)
    return f"; the nearest one is {found!r}" if found else ""


def _closest(text: str, known: Iterable[str]) -> str:
    by_lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(text.lower(), by_lower, n=1, cutoff=0.5)
    return by_lower[found[0]] if found else ""
