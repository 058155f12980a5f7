"""The known word that a wrong one may be meant for; the engine compares them, as it does in its own messages."""

from __future__ import annotations

from collections.abc import Iterable

from pydoca import _core


def nearest(text: str, known: Iterable[str]) -> str:
    """The most similar of the known words, whose upper and lower case are the same; empty where none is similar."""
    by_key = {_key(word): word for word in known}
    return by_key.get(_core.nearest_to(_key(text), list(by_key)), "")


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """ "; did you mean 'GB/s'?", or nothing where no word is similar."""
    found = nearest(text, known)
    return f"; did you mean {found!r}?" if found else ""


def beside(text: str, known: Iterable[str]) -> str:
    """ "; the nearest one is 'dma.bw.64'": for a name that may be right, too."""
    found = nearest(text, known)
    return f"; the nearest one is {found!r}" if found else ""


def _key(word: str) -> str:
    """Bytes of a command line that are not UTF-8 are surrogates, which the engine does not take."""
    return word.lower().encode(errors="replace").decode()
