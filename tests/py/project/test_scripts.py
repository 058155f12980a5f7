"""Every program in script/ tells its use."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "script"


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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("notebooks nope.ipynb", "there is no notebook 'nope.ipynb'; there are: notebooks/"),
        ("bench nope", "no report is called 'nope'"),
        ("bench --against", "--against takes a revision"),
        ("format cpp", "script/format takes no arguments"),
        ("lint nope", "no check is called 'nope'"),
        ("docs nope", "script/docs knows --check, not 'nope'"),
        ("demo nope", "the size in MiB is a positive number, not 'nope'"),
        ("demo jupyter nope", "the size in MiB is a positive number, not 'nope'"),
        ("demo 1 jupyter", "script/demo takes one size in MiB, behind 'jupyter'"),
        ("test nope", "'nope'"),
        ("soak nope", "'nope'"),
        ("wheels nope", "no part is called 'nope'"),
    ],
)
def test_a_script_looks_at_its_arguments_first(line, says):
    name, *words = line.split()
    run = subprocess.run(
        [SCRIPTS / name, *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"},
    )
    assert run.returncode != 0
    assert says in run.stderr
    assert "==>" not in run.stdout + run.stderr, "it had begun its work"
