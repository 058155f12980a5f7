"""Notebooks: executes them, writes their outputs, and finds their exercises' solutions.

usage: notebook_files.py [--check] [NOTEBOOK]...      (default: all of notebooks/)

Executes each notebook in a kernel and a fabric of its own, and writes it with its outputs. --check writes nothing: it
fails where a notebook is not in the form in which this program would write it.
"""

import argparse
import copy
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from kernel import Kernel

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"

SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>(.*?)</details>", re.DOTALL)
HINT = ": still waiting for a server of this name"
CODE = re.compile(r"^```(?:python|ipython)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class CellError(Exception):
    """A cell has failed."""


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def execute(notebook: Any, directory: Path, fabric: str) -> None:
    """Executes the cells, and gives them their outputs. Raises CellError for the first that fails."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    with Kernel(directory, fabric, FOLDER) as kernel:
        cells = []
        for count, cell in enumerate(code, start=1):
            cells.append(kernel.run(cell.source))
            if cells[-1].error:
                raise CellError(f"{cell.source}\n{cells[-1].text}\n{cells[-1].traceback}")
            cell.execution_count = count
        kernel.run("")  # the output of the other processes has come before the kernel's answer
    for cell, ran in zip(code, cells, strict=True):
        cell.outputs = [output for output in ran.outputs if not is_hint_of_slow_start(output)]


def is_hint_of_slow_start(output: Any) -> bool:
    """Tells whether the output is only the hint of a slow start, which names a directory of this machine."""
    return output.output_type == "stream" and all(HINT in line for line in output.text.splitlines())


def solutions_of(markdown: str) -> list[str]:
    """The code of the solutions that a cell of text hides."""
    return [code for hidden in SOLUTION.findall(markdown) for code in CODE.findall(hidden)]


def with_solutions(notebook: Any, in_place: bool) -> Any:
    """A copy with each solution as a cell: either after the text that hides it, or after the last cell.

    The last place is that of a reader who turns back to the exercises.
    """
    solved = copy.deepcopy(notebook)
    if in_place:
        solved.cells = [each for cell in solved.cells for each in (cell, *solution_cells(cell))]
    else:
        solved.cells += [solution for cell in notebook.cells for solution in solution_cells(cell)]
    return solved


def solution_cells(cell: Any) -> Iterator[Any]:
    if cell.cell_type == "markdown":
        yield from (nbformat.v4.new_code_cell(code) for code in solutions_of(cell.source))


def normalise(notebook: Any) -> None:
    """Leaves nothing that another machine or another day would change: times, versions, identifiers of cells."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02}"
        cell.metadata = nbformat.from_dict({})


def faults(notebook: Any) -> list[str]:
    """The faults of a committed notebook: forbidden and missing parts."""
    found = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        found.append("its cells were not executed once each, from top to bottom")
    for cell in code:
        text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
        if any(output.output_type == "error" for output in cell.outputs):
            found.append(f"{cell.id} shows an error")
        found += [f"{cell.id} names {word!r} of the machine that ran it" for word in words_of_machine() if word in text]
    formed = copy.deepcopy(notebook)
    normalise(formed)
    if formed != notebook:
        found.append("its form is not that of script/notebooks")
    return found


def words_of_machine() -> list[str]:
    words = [str(FOLDER.parent), f"{Path.home()}/", f"{tempfile.gettempdir()}/"]
    host = socket.gethostname()
    own_name = [host] if len(host) > 7 and host != "localhost" else []  # other words than "host" and "dpu"
    return [word for word in words if len(word) > 3] + own_name


def refresh(path: Path) -> None:
    notebook = read(path)
    with tempfile.TemporaryDirectory(prefix="pydoca-") as directory:
        execute(notebook, Path(directory), fabric=f"notebook-{os.getpid()}")
    normalise(notebook)
    nbformat.write(notebook, path)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="script/notebooks", description="Executes notebooks and writes them with their outputs."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the form is another")
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", type=Path, help="default: all of notebooks/")
    arguments = parser.parse_args()
    code = 0
    for path in arguments.notebooks or notebooks():
        print(path.name, flush=True)
        if not arguments.check:
            refresh(path)
        for fault in faults(read(path)):
            print(f"{path.name}: {fault}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
