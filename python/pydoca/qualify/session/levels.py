"""How long a level may take, and how much of that one case gets."""

from __future__ import annotations

from dataclasses import dataclass

from pydoca.qualify.figures import duration

DEFAULT = "quick"
SOAK_SECONDS = 8 * 3600.0
_SET_UP = 0.05  # seconds that a case takes beside its measurements
_REST = 0.05  # the part of a soak's duration that may be left at its end
_FOR_MEASURING = 0.7  # the part of the level's time; the rest is for set-up, and for data that is verified


@dataclass(frozen=True)
class Level:
    name: str
    seconds: float  # the time of the whole run
    longest: float  # the time of one case


LEVELS = {
    level.name: level
    for level in (
        Level("smoke", 10.0, 0.3),
        Level("quick", 120.0, 2.0),
        Level("full", 900.0, 15.0),
        Level("soak", SOAK_SECONDS, SOAK_SECONDS),
    )
}


def seconds_of_a_case(level: str, cases: int, duration: float | None) -> float:
    """The time of a case that names none, when so many share the level's time."""
    known = LEVELS[level]
    total = duration if level == "soak" and duration is not None else known.seconds
    return min(known.longest, total * _FOR_MEASURING / max(cases, 1))


def least_of_a_pass(level: str, cases: int, duration: float) -> float:
    """The seconds that are worth another pass; the last few of a soak would give each case too little."""
    if level != "soak":
        return 0.0
    return max(_REST * duration, LEVELS["smoke"].longest * cases / _FOR_MEASURING)


def estimate(measuring: float) -> float:
    """Seconds of a case with its set-up."""
    return measuring + _SET_UP


def overrun(level: str, seconds: float) -> str:
    """The sentence about a run that took so long; empty when it is within its level."""
    allowed = LEVELS[level].seconds * 1.5
    if level == "soak" or seconds <= allowed:
        return ""
    return (
        f"the level {level} took {duration(seconds)}; {duration(allowed)} would be an overrun of half of its time "
        "already"
    )
