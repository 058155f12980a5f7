"""The contents of a display, before it is HTML, SVG or text: a panel with facts, tables, notes and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["good", "busy", "quiet", "bad"]

# Each state has a mark and a word: colours only repeat what they say.
MARKS: dict[Tone, str] = {"good": "\u25cf", "busy": "\u25d0", "quiet": "\u25cb", "bad": "\u2715"}


@dataclass(frozen=True)
class State:
    """A word with a tone, as a badge or in a cell."""

    word: str
    tone: Tone = "quiet"

    def __str__(self) -> str:
        return f"{MARKS[self.tone]} {self.word}"


class Code(str):
    """Addresses, names and other text in the type of programs."""

    __slots__ = ()


Value = str | int | State  # an int is shown with separators, and aligned to the right
Fact = tuple[str, Value]


@dataclass
class Table:
    """Rows below a head. A head that begins with ">" is over numbers or addresses, which are aligned to the right."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Value]]
    more: int = 0
    what: str = "rows"


@dataclass
class Blocks:
    """Small lists side by side: pairs of label and value under a heading each."""

    title: str
    blocks: list[tuple[str, list[Fact]]]


@dataclass
class Names:
    """Short names in columns, each with the same mark."""

    title: str
    names: Sequence[str]
    tone: Tone = "good"


@dataclass
class Note:
    """A sentence with a label: a cause, a remedy, a hint."""

    label: str
    text: str
    tone: Tone = "quiet"


@dataclass
class Picture:
    """Shapes in a box of that size. draw(prefix) gives them; ids that they define begin with prefix."""

    title: str
    width: float
    height: float
    draw: Callable[[str], Iterable[str]]
    lines: Sequence[str] = ()  # the same as text, for terminals
    least: float = 300  # pixels: a narrower place scrolls the picture, as its text would be too small


Part = Table | Blocks | Names | Note | Picture


@dataclass
class Panel:
    """The display of one object."""

    kind: str
    name: str
    state: State | None = None
    facts: list[Fact] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @property
    def picture(self) -> Picture | None:
        """The picture, of an object that is one."""
        return next((part for part in self.parts if isinstance(part, Picture)), None)
