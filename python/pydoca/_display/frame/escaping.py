"""Text of any origin, made harmless."""

from __future__ import annotations

import re
from html import escape

# Characters that XML does not allow, or that would steer a terminal: control characters, halves of surrogates.
_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """The text with a sign in the place of each character that cannot be shown."""
    return _FORBIDDEN.sub("\ufffd", text)


def escaped(text: str) -> str:
    """The text for HTML and SVG, in an element and in an attribute's quotation marks."""
    return escape(printable(text))
