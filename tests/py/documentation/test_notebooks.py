"""Every notebook runs from top to bottom, with the solutions of its exercises and without, and leaves nothing."""

from pathlib import Path

import pytest

import kernel
import notebook_files

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
NOTEBOOKS = notebook_files.notebooks()
# Notebooks whose solutions need objects that the notebook has closed at its end.
IN_PLACE = {"01_devices_and_topology", "07_rdma"}


def named(path: Path) -> str:
    return path.stem


@pytest.fixture(params=NOTEBOOKS, ids=named)
def path(request) -> Path:
    return request.param


def run(notebook, commands, tmp_path):
    notebook_files.execute(notebook, tmp_path, commands.fabric)
    commands.require_no_process()
    assert kernel.files_left(tmp_path, commands.fabric) == []


def solved(path: Path, in_place: bool):
    notebook = notebook_files.read(path)
    solved = notebook_files.with_solutions(notebook, in_place)
    assert len(solved.cells) > len(notebook.cells), "a notebook has an exercise with a hidden solution"
    return solved


def test_a_notebook_runs_and_then_the_solutions_of_its_exercises(path, commands, tmp_path):
    """One kernel runs the notebook and then the solutions, so the notebook does not depend on them."""
    notebook = notebook_files.read(path) if path.stem in IN_PLACE else solved(path, in_place=False)
    run(notebook, commands, tmp_path)


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in IN_PLACE], ids=named)
def test_solutions_run_in_their_places(path, commands, tmp_path):
    run(solved(path, in_place=True), commands, tmp_path)


def test_a_notebook_is_committed_with_its_outputs(path):
    assert notebook_files.faults(notebook_files.read(path)) == []


def test_a_solution_is_the_code_that_a_cell_hides():
    text = "Do it.\n\n<details>\n<summary>Solution</summary>\n\nSo:\n\n```python\nx = 1\n```\n\n</details>\n"
    assert notebook_files.solutions_of(text) == ["x = 1\n"]
    assert notebook_files.solutions_of("```python\nx = 1\n```\n") == []
