"""The project's C++ files, and what they include."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / name for name in ("cpp", "tests/c", "tests/cpp", "benchmarks", "examples")]
INCLUDE_PATH = [ROOT / name for name in ("cpp/include", "cpp/src", "cpp/bindings", "tests/c", "tests/cpp")]
INCLUDE_PATH += [ROOT / "cpp/capi" / name for name in ("include", "src")]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


@cache
def included_by(path: Path) -> frozenset[Path]:
    """Returns the project's headers that path itself includes."""
    places = [path.parent, *INCLUDE_PATH]
    candidates = (place / name for name in INCLUDE.findall(path.read_text()) for place in places)
    return frozenset(candidate.resolve() for candidate in candidates if candidate.is_file())


def included_files(path: Path) -> set[Path]:
    """Returns path and every header of the project that it includes, directly or not."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting += included_by(current)
    return seen
