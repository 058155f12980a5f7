"""Every notebook runs from top to bottom, with the solutions of its exercises and without, and leaves nothing."""

from pathlib import Path

import pytest

import kernel
import notebook_files

pytestmark = pytest.mark.timeout(120)
NOTEBOOKS = notebook_files.notebooks()


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


def run(notebook, commands, tmp_path):
    notebook_files.execute(notebook, tmp_path, commands.fabric)
    commands.require_no_process()
    assert kernel.files_left(tmp_path, commands.fabric) == []


def test_a_notebook_runs(path, commands, tmp_path):
    run(notebook_files.read(path), commands, tmp_path)


def test_the_solutions_of_its_exercises_run(path, commands, tmp_path):
    notebook = notebook_files.read(path)
    solved = notebook_files.with_solutions(notebook)
    assert len(solved.cells) > len(notebook.cells), "a notebook has an exercise with a hidden solution"
    run(solved, commands, tmp_path)


def test_a_notebook_is_committed_with_its_outputs(path):
    assert notebook_files.faults(notebook_files.read(path)) == []


def test_a_solution_is_the_code_that_a_cell_hides():
    text = "Do it.\n\n<details>\n<summary>Solution</summary>\n\nSo:\n\n```python\nx = 1\n```\n\n</details>\n"
    assert notebook_files.solutions_of(text) == ["x = 1\n"]
    assert notebook_files.solutions_of("```python\nx = 1\n```\n") == []
