"""The known word that a wrong one may be meant for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(text: str, known: Iterable[str]) -> str:
    """ "; did you mean 'GB/s'?", or nothing where no word is close."""
    words = list(known)
    by_lower = {word.lower(): word for word in words}
    found = difflib.get_close_matches(text.lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""
