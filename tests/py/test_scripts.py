"""Every program in script/ tells its use."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "script"


def is_program(path: Path) -> bool:
    """A script, or a module of Python with a main part; others are there to be imported."""
    if path.suffix == ".py":
        return '__name__ == "__main__"' in path.read_text()
    return path.is_file() and bool(path.stat().st_mode & 0o111)


PROGRAMS = sorted(filter(is_program, SCRIPTS.iterdir()))


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_script_tells_its_use(path, flag):
    line = [sys.executable, path] if path.suffix == ".py" else [path]
    run = subprocess.run([*line, flag], capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stderr) == (0, "")
    assert "usage: " in run.stdout
    assert path.name in run.stdout
