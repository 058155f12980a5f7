"""The output of processes in the background, where a notebook is executed as a whole.

nbconvert and `jupyter execute` take what a cell shows only while that cell runs, and drop what its process writes
later. They do take a display that another cell shows anew. So each process has a display in its own cell, and the end
of every cell shows there what the process has written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from IPython.display import DisplayHandle

from pydoca._spawn.process import Process


def is_executed_as_a_whole(ipython: Any) -> bool:
    """A front end that takes no input has no reader; one with a reader shows late output where it belongs."""
    kernel = getattr(ipython, "kernel", None)
    return kernel is not None and not kernel._allow_stdin


@dataclass
class _Shown:
    process: Process
    display: Any  # IPython has no types
    text: str = ""


class LateOutput:
    def __init__(self) -> None:
        self._shown: list[_Shown] = []

    def add(self, process: Process) -> None:
        """Makes the display, in the cell that runs."""
        display = cast(Any, DisplayHandle)()
        display.display({"text/plain": ""}, raw=True)
        self._shown.append(_Shown(process, display))

    def show(self, *_: object) -> None:
        """Called at the end of each cell."""
        self._shown = [shown for shown in self._shown if self._update(shown)]

    @staticmethod
    def _update(shown: _Shown) -> bool:
        """Whether the process may write more."""
        runs = shown.process.returncode is None  # read before the text: an ended process has written all of it
        text = shown.process._labelled_output()
        if text != shown.text:
            shown.display.update({"text/plain": text}, raw=True)
            shown.text = text
        return runs
