"""The limit that a case brings itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnLimit:
    """A limit in the measurement's unit; a file's limit of that name replaces it."""

    min: float | None = None
    max: float | None = None
    n_min: int = 1
    marginal: float | None = None  # None: the default of the run
