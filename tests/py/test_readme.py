"""The programs in README run as they are printed."""

import ast
import asyncio
import inspect
import re
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)

# By a word of the block: what it prints, and the block that runs beside it.
ALONE = {
    "async def copy(": "Hello from the source buffer\n",
    "multiprocessing": "the DPU has answered\n",
    "pydoca.Graph(": ("  0 Dma      COMPLETED    -> 2\n  1 Dma      COMPLETED    -> 2\n  2 compare  COMPLETED\n"),
    "pydoca.Rdma(": "Hello over RDMA\n",
    "pydoca.log.Sink": "1\n",
    "pydoca.display(": "BufInventory  0 of 64 out  \u25cf started\n  elements  64\n  out       0\n  free      64\n",
    "pydoca.sim.Config(": "2.5us\n",
    "pydoca.sim.virtual_time(": "['host', 'DPU'] 3600\n",
    "FaultRule(": "0 wrong bits\n1 wrong bits\n0 wrong bits\n0 wrong bits\n1 delayed\n",
    "pydoca.trace()": "[('submit', 'memcpy'), ('complete', 'memcpy')]\n",
}
CELL = "# a cell of a notebook"
CASE = "pydoca_measure"
PAIR = {"# host.py": "The DPU has read it\n", "# dpu.py": "Hello from the host\n"}


def block(word: str) -> str:
    (found,) = [text for text in BLOCKS if word in text]
    return found


def start(commands, directory: Path, name: str, text: str):
    program = directory / f"{name}.py"
    program.write_text(text)
    return commands.start_program([sys.executable, "-P", str(program)], cwd=directory)


def test_every_program_of_readme_is_run_here():
    assert len(BLOCKS) == len(ALONE) + len(PAIR) + len([CELL, CASE])


@pytest.mark.parametrize("word", ALONE)
def test_a_program_prints_what_readme_says(commands, tmp_path, word):
    process = start(commands, tmp_path, "program", block(word))
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, ALONE[word], "")


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


def test_the_case_qualifies_a_device(commands, tmp_path):
    (tmp_path / "test_mine.py").write_text(block(CASE))
    run = commands.run("qualify", "sim:p0", "--level", "smoke", "--tests", "test_mine.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "PASS     MY-PAGE" in run.stdout
    assert list(tmp_path.glob("runs/*/report.html"))


@pytest.mark.parametrize("first", PAIR)
def test_the_host_and_the_dpu_meet_in_either_order(commands, tmp_path, first):
    order = sorted(PAIR, key=lambda word: word != first)
    processes = {word: start(commands, tmp_path, word[2:-3], block(word)) for word in order}
    for word, process in processes.items():
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, output, errors) == (0, PAIR[word], "")
