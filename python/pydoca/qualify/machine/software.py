"""Facts of the software that tests."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from pydoca.qualify.machine.facts import Absent, Late


def _version(package: str) -> Callable[[Path], str]:
    def read(root: Path) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            raise Absent(f"{package} is not installed") from None

    return read


def _commit(root: Path) -> str:
    """The commit of the repository that the run was started in, which has the user's limits and tests."""
    try:
        line = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
        found = subprocess.run(line, capture_output=True, text=True, timeout=10, check=False)
    except OSError as error:
        raise Absent(f"git: {error}") from None
    except subprocess.TimeoutExpired as error:
        raise Late(f"git did not answer within {error.timeout:g} s") from None
    if found.returncode:
        raise Absent("the current directory is not in a git repository")
    return found.stdout.strip()


SOFTWARE: dict[str, Callable[[Path], Any]] = {
    "python": lambda root: platform.python_version(),
    **{name: _version(name) for name in ("pydoca", "numpy", "scipy", "pytest", "pytest-xdist")},
    "git.commit": _commit,
}
