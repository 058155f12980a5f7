"""The programs in README run as they are printed."""

import ast
import asyncio
import inspect
import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[3] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)

CELL = "# a cell of a notebook"
PROGRAM = "async def copy("


def block(word: str) -> str:
    (found,) = [text for text in BLOCKS if word in text]
    return found


def start(commands, directory: Path, name: str, text: str):
    program = directory / f"{name}.py"
    program.write_text(text)
    return commands.start_program([sys.executable, "-P", str(program)], cwd=directory)


def test_every_program_of_readme_is_run_here():
    assert len(BLOCKS) == len([CELL, PROGRAM])


def test_the_program_copies(commands, tmp_path):
    process = start(commands, tmp_path, "program", block(PROGRAM))
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, "Hello from the source buffer\n", "")


def test_the_cell_runs_again_and_again_in_a_running_loop(capsys):
    code = compile(block(CELL), "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def run_twice() -> None:
        names = {}
        for _ in range(2):
            running = eval(code, names)
            assert inspect.iscoroutine(running)
            await running

    asyncio.run(run_twice())
    assert capsys.readouterr().out == "Hello, notebook!\n" * 2


def test_readme_leads_to_files_that_are_there():
    text = README.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    paths = re.findall(r"`((?:docs|script|cpp|examples|notebooks)/[\w./-]+)`", text)
    assert len(links) > 10
    assert [path for path in [*links, *paths] if not (README.parent / path).exists()] == []
