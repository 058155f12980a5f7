"""The command that installs what is missing, for the Python that runs: another one's pip would change nothing here."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator

_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_OWN = re.compile(r"pydoca\[([\w-]+)\]")


def command_for_extra(extra: str) -> str:
    """The command that installs the extra's packages; not pydoca itself, which may be a clone's and on no index."""
    return command_for(*(dict.fromkeys(_packages(extra)) or (f"pydoca[{extra}]",)))


def command_for(*packages: str) -> str:
    return shlex.join([sys.executable or "python3", "-m", "pip", "install", *packages])


def _packages(extra: str) -> Iterator[str]:
    """The requirements of the extra, and of those that it names: "numpy>=1.26"; none where no metadata is installed."""
    for line in _requirements():
        package, _, marker = line.partition(";")
        found = _EXTRA.search(marker)
        if found is None or found[1] != extra:
            continue
        if other := _OWN.match(package):
            yield from _packages(other[1])
        else:
            yield package.strip()


def _requirements() -> list[str]:
    from importlib import metadata  # takes longer to import than all of the command line

    try:
        return metadata.requires("pydoca") or []
    except metadata.PackageNotFoundError:
        return []
