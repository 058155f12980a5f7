"""What the run of a card is told, wherever it is: plain data, which a worker without the front end's files can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydoca.qualify.session.levels import LEVELS

_MOST = 4 << 20  # bytes of a file that goes to each worker
_SET_UP = 120.0  # seconds, beside those of the level


class OrderError(ValueError):
    """A file cannot be sent to the workers."""


@dataclass(frozen=True)
class SentFile:
    option: str  # "--pydoca-limits", or empty for a file of cases
    name: str
    text: str

    @classmethod
    def read(cls, option: str, path: str) -> SentFile:
        """Raises OrderError."""
        file = Path(path)
        try:
            if file.is_dir():
                raise OrderError(f"{path} is a directory: with --fleet, name the files of your cases one by one")
            if file.stat().st_size > _MOST:
                raise OrderError(f"{path} is larger than {_MOST >> 20} MiB, the most that goes to the workers")
            return cls(option, file.name, file.read_text(encoding="utf-8"))
        except OSError as error:
            raise OrderError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise OrderError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Order:
    words: tuple[str, ...]  # for pytest, without the device and without files
    level: str
    seed: int
    files: tuple[SentFile, ...] = ()
    selectors: tuple[str, ...] = ()  # names or patterns of devices; none: one device of each card
    backend: str | None = None
    seconds: float = 3600.0  # a run that has not ended by then is ended

    @property
    def waits(self) -> bool:
        """Whether runs wait for devices that other runs have."""
        return any(word.startswith("--pydoca-wait=") for word in self.words)

    @property
    def options(self) -> dict[str, Any]:
        """The options, as the record has them."""
        return {
            "words": list(self.words),
            "devices": list(self.selectors),
            "files": [file.name for file in self.files],
            "seconds": self.seconds,
        }


def seconds_of_a_run(level: str, repeat: int, duration: float | None) -> float:
    """Four times what it should take: a busy machine is slower, a device that hangs is not waited for."""
    known = LEVELS[level].seconds * repeat if level != "soak" or duration is None else 0.0
    return _SET_UP + 4 * known + 1.5 * (duration or 0.0)


def write_files(files: Sequence[SentFile], folder: Path) -> tuple[list[str], list[str]]:
    """The options and the paths of cases, relative to the folder; files of one name get folders of their own."""
    options, cases = [], []
    for number, file in enumerate(files):
        place = Path(f"file{number}") if any(file.name == other.name for other in files[:number]) else Path()
        (folder / place).mkdir(exist_ok=True)
        (folder / place / file.name).write_text(file.text, encoding="utf-8")
        if file.option:
            options.append(f"{file.option}={place / file.name}")
        else:
            cases.append(str(place / file.name))
    return options, cases
