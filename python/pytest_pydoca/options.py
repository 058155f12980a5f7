"""The options `--pydoca-...`, as one table. `pydoca qualify` has the same ones without the prefix.

The command line imports this file, so it does without pytest; pytest imports it at every start, so pydoca is imported
for a value that is given.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

LEVELS = ("smoke", "quick", "full", "soak")
BACKENDS = ("sim", "verbs")
MOST_REPEATS = 1_000_000
_LONGEST_DAYS = 365  # clocks and time-outs of the system end some hundred years later
_SHOWN = 40  # characters of a wrong value


def one_of(what: str, choices: Iterable[str]) -> Callable[[str], str]:
    """The type of an argument with these choices: unlike argparse's, its message says which one may be meant."""
    known = tuple(choices)

    def check(text: str) -> str:
        if text not in known:
            with _import_told():
                from pydoca._text.nearest import did_you_mean
            raise argparse.ArgumentTypeError(f"{text!r} is not a {what}{did_you_mean(text, known)}: {', '.join(known)}")
        return text

    return check


def count(text: str) -> int:
    return _whole(text, "count", 1, MOST_REPEATS, f"from 1 to {MOST_REPEATS}")


def seed(text: str) -> int:
    return _whole(text, "seed", 0, (1 << 64) - 1, "from 0 on, below 2**64")


def _whole(text: str, what: str, least: int, most: int, bounds: str) -> int:
    with _import_told():
        from pydoca._text.quantities import to_whole
    number = to_whole(text, least, most)
    if number is None:
        raise argparse.ArgumentTypeError(f"{_shown(text)} is not a {what}: write a whole number {bounds}")
    return number


def ids(text: str) -> str:
    if not all(part.strip() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of ids: write DMA-1, DMA-1,SHA-1 or 'DMA-*'")
    return utf8(text)


def duration(text: str) -> float:
    """Seconds: "90", "90s", "10min", "8h"."""
    with _import_told():
        from pydoca._text.quantities import TIMES, to_seconds
    seconds = to_seconds(text)
    if seconds is None:
        raise argparse.ArgumentTypeError(
            f"{_shown(text)} is not a duration: write seconds, or a number with s, min, h or d"
        )
    if not 0 < seconds <= _LONGEST_DAYS * TIMES["d"]:
        raise argparse.ArgumentTypeError(
            f"{_shown(text)} is out of range: write more than 0, and at most {_LONGEST_DAYS}d, as in 90s, 10min or 8h"
        )
    return seconds


@contextlib.contextmanager
def _import_told() -> Iterator[None]:
    """argparse hides a ValueError, as pydoca's import raises for a wrong environment."""
    try:
        yield
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def utf8(text: str) -> str:
    """Records and reports are UTF-8; other bytes of a command line arrive as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8, as all reports are: give it in UTF-8") from None
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


@dataclass(frozen=True)
class Option:
    """One option; `name` is that of the front end, and pytest's has the prefix `--pydoca-`."""

    name: str
    help: str
    metavar: str | None = None
    type: Callable[[str], Any] | None = None
    repeatable: bool = False

    @property
    def flag(self) -> str:
        return f"--pydoca-{self.name}"

    @property
    def dest(self) -> str:
        return f"pydoca_{self.name.replace('-', '_')}"

    def keywords(self) -> dict[str, Any]:
        """The keywords of add_argument()."""
        if self.metavar is None:
            return {"action": "store_true", "default": False, "help": self.help}
        words: dict[str, Any] = {"metavar": self.metavar, "help": self.help, "type": self.type or utf8}
        if self.repeatable:
            words |= {"action": "append", "default": []}
        return words


OPTIONS = (
    Option(
        "device",
        "the device under test: PCI address, name, interface, ibdev name or serial, also as sim:p0, dpu:mlx5_0 or "
        "sim:0; may be repeated, then each case runs on each device",
        "DEVICE",
        repeatable=True,
    ),
    Option("backend", "devices of this backend only: sim or verbs", "BACKEND", one_of("backend", BACKENDS)),
    Option("rep", "the representor by which a DPU reaches its host", "REP"),
    Option("peer", "the device at the other end: the host's for a DPU, the DPU's for a host", "DEVICE"),
    Option(
        "level",
        "which cases, and how long: smoke (10 s), quick (2 min, the default), full (15 min), soak (see the duration)",
        "LEVEL",
        one_of("level", LEVELS),
    ),
    Option(
        "select",
        "only the cases with this id, such as DMA-1; also a pattern ('DMA-*'), or several with commas; may be repeated",
        "ID",
        ids,
        repeatable=True,
    ),
    Option("limits", "a file of limits; may be repeated, a later one wins", "FILE", repeatable=True),
    Option("limits-force", "apply limits also to a device that the file's [match] excludes"),
    Option(
        "allow-unmet",
        "a limit or an expectation, by its name or a pattern ('dma.*'), that may judge nothing, such as one of another "
        "level; may be repeated",
        "NAME",
        repeatable=True,
    ),
    Option("baseline", "golden values, as `pydoca qualify train` writes them", "FILE"),
    Option("out", "the directory in which each run makes its own (default: runs)", "DIR"),
    Option("repeat", "run all cases so many times", "N", count),
    Option("duration", "run all cases again and again for so long, such as 90s, 10min or 8h", "TIME", duration),
    Option("seed", "of all random choices (default: a new one, which the report names)", "N", seed),
    Option("resume", "go on with an interrupted run, in its directory", "DIR"),
    Option("plan", "say what would run, how long it takes and what is skipped; touch no device"),
    Option("fail-early", "stop after the first case that fails"),
    Option("strict-skips", "a skipped case fails the run"),
    Option("strict-marginal", "a marginal measurement fails the run"),
    Option("force", "also use a device that another run uses"),
    Option(
        "wait",
        "wait so long for a device that another run uses: seconds, or a time such as 10min (default: do not wait); "
        "Ctrl-C ends that",
        "SECONDS",
        duration,
    ),
    Option("no-plots", "a report without plots"),
    Option("title", "the title of the report, instead of the device's name", "TEXT"),
    Option("customer", "for whom the report is", "TEXT"),
    Option("operator", "by whom the run was made", "TEXT"),
    Option("note", "a note, which the report shows", "TEXT"),
)

OF_REPORTS = ("title", "customer", "operator", "note")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("pydoca", "qualification of devices (pydoca)")
    for option in OPTIONS:
        group.addoption(option.flag, **option.keywords())


def is_used(config: pytest.Config) -> bool:
    """Whether the command line has one of these options."""
    return any(config.getoption(option.dest) not in (None, False, []) for option in OPTIONS)
