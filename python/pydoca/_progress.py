"""Bars for long work: `progress=True`, a class like tqdm's, or a function of the number done and the total."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pydoca._callbacks import require_plain_function

Progress: TypeAlias = "bool | type[Any] | Callable[[int, int], object] | None"


def require_progress(progress: Progress) -> None:
    """Raises TypeError for what shows nothing."""
    if isinstance(progress, type) or progress is True:
        return
    if callable(progress):
        require_plain_function("progress", progress)
    elif progress:
        raise TypeError(f"progress is True, a class like tqdm.auto.tqdm or a function (done, total), not {progress!r}")


class Meter:
    """Counts completions, and reports them to the bar or function that the caller has named."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._total, self._done = total, 0
        self._tell: Callable[[int, int], object] | None = None
        self._bar: Any = None
        self._failure: BaseException | None = None
        require_progress(progress)
        if isinstance(progress, type) or progress is True:
            self._bar = (_tqdm() if progress is True else progress)(total=total, unit="task")
        elif callable(progress):
            self._tell = progress

    def advance(self, _: object = None) -> None:
        """Counts one more. An error of the bar or function ends the display, and require_no_failure() raises it."""
        self._done += 1
        if self._failure is not None:
            return
        try:
            if self._bar is not None:
                self._bar.update(1)
            if self._tell is not None:
                self._tell(self._done, self._total)
        except Exception as error:
            self._failure = error

    def require_no_failure(self) -> None:
        """Raises what the bar or the function has raised."""
        if self._failure is not None:
            try:
                raise self._failure
            finally:
                self._failure = None  # the error refers to this object

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"progress=True shows a bar by {error.name}, which is not installed: pip install 'pydoca[jupyter]', or "
            "pass a function (done, total)",
            name=error.name,
        ) from None
    return tqdm
