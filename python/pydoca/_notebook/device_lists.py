"""A cell that ends with a list of devices, such as `pydoca.devices()`, shows their picture and their table."""

from __future__ import annotations

from typing import Any

from pydoca._display.notebook import html_of
from pydoca._display.panels import has_panel


class DeviceLists:
    """IPython's formatter of lists, while the extension is loaded. Other lists are shown as before."""

    def __init__(self, ipython: Any) -> None:
        self._formatter = ipython.display_formatter.formatters["text/html"]
        self._before = self._formatter.for_type(list, self._html)

    def remove(self) -> None:
        self._formatter.pop(list, None)
        if self._before is not None:
            self._formatter.for_type(list, self._before)

    def _html(self, shown: list[Any]) -> str | None:
        """The HTML; None lets IPython show the text of the list."""
        if type(shown) is list and has_panel(shown):
            return html_of(shown)
        own = self._before or getattr(type(shown), "_repr_html_", None)
        html: str | None = own(shown) if own is not None else None
        return html
