"""The programs and commands of the documentation run as they are printed, and print what stands below them."""

import fnmatch
import inspect
import re
import shlex
import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from public_names import RETURNED

DOCS = Path(__file__).resolve().parents[2] / "docs"
# The table of names is made, and test_from_c.py checks it; docs/made is not committed.
PAGES = [
    path for path in sorted(DOCS.rglob("*.md")) if not path.is_relative_to(DOCS / "made") and path.stem != "from-c"
]
BLOCK = re.compile(
    r"^```python\n(?P<python>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?"
    r"|^:::\{shown\}\n(?P<shown>.*?)^:::"
    r"|^```console\n(?P<console>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
# A block whose first line names a file is a part of the page's story.
PAIR = ("# host.py", "# dpu.py")
TEST = "# test_"
# What installs things, or needs a limits file of the reader, a container, a virtual machine or another process.
NOT_RUN = (
    *("pip install", "pytest --pyargs", "pydoca qualify", "pydoca rdma-lab", "pytest examples", "dask "),
    *("mkdir ", "docker ", "export ", "unshare ", "pydoca sync-event", "pydoca copy --transport"),
)


@dataclass(frozen=True)
class Block:
    page: Path
    number: int
    kind: str
    text: str
    output: str | None

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(DOCS).with_suffix('')}-{self.number}"


def blocks_of(page: Path) -> list[Block]:
    found = []
    for number, match in enumerate(BLOCK.finditer(page.read_text())):
        kind = next(kind for kind in ("python", "shown", "console") if match[kind] is not None)
        found.append(Block(page, number, kind, match[kind], match["output"]))
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PROGRAMS = [block for block in BLOCKS if block.kind != "console" and not block.text.startswith((*PAIR, TEST))]
PAIRS = [[block for block in BLOCKS if block.page == page and block.text.startswith(PAIR)] for page in PAGES]
PAIRS = [pair for pair in PAIRS if pair]
TESTS = [block for block in BLOCKS if block.kind == "python" and block.text.startswith(TEST)]
CONSOLES = [block for block in BLOCKS if block.kind == "console"]


def start(commands, directory: Path, block: Block):
    program = directory / f"{block.number}.py"
    program.write_text(block.text)
    return commands.start_program([sys.executable, "-P", str(program)], cwd=directory)


def check_output(block: Block, process) -> None:
    output, errors = process.communicate(timeout=50)
    assert (process.returncode, errors) == (0, ""), block.name
    if block.output is not None:
        assert output == block.output, block.name


def test_every_block_of_code_is_run_here():
    text = "".join(page.read_text() for page in PAGES)
    assert len(BLOCKS) == len(re.findall(r"^(?:```(?:python|console)|:::\{shown\})$", text, re.MULTILINE))
    assert all(len(pair) == 2 for pair in PAIRS)
    assert min(map(len, (PROGRAMS, PAIRS, TESTS, CONSOLES))) > 0


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.name)
def test_a_program_prints_what_the_page_says(commands, tmp_path, block):
    check_output(block, start(commands, tmp_path, block))


@pytest.mark.parametrize("first", [0, 1], ids=["first", "last"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].name)
def test_a_host_and_a_dpu_meet_in_either_order(commands, tmp_path, pair, first):
    order = [pair[first], pair[1 - first]]
    for block, process in [(block, start(commands, tmp_path, block)) for block in order]:
        check_output(block, process)


@pytest.mark.parametrize("block", TESTS, ids=lambda block: block.name)
def test_a_test_of_the_page_passes(commands, tmp_path, block):
    (tmp_path / "test_of_the_page.py").write_text(block.text)
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_of_the_page.py"]
    process = commands.start_program(line, cwd=tmp_path)
    output, _ = process.communicate(timeout=50)
    assert process.returncode == 0, output
    assert " passed" in output


def lines_run(block: Block) -> list[tuple[str, str]]:
    """Each command with what the page shows of its output."""
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    return [(command, output) for command, output in zip(parts[1::2], parts[2::2], strict=True) if command]


def test_what_is_not_run_is_on_a_page():
    written = [command for block in CONSOLES for command, _ in lines_run(block)]
    assert [start for start in NOT_RUN if not any(command.startswith(start) for command in written)] == []
    assert any(not command.startswith(NOT_RUN) for command in written)


@pytest.mark.parametrize("block", CONSOLES, ids=lambda block: block.name)
def test_a_command_prints_what_the_page_says(commands, block):
    for command, shown in lines_run(block):
        if command.startswith(NOT_RUN):
            continue
        words = shlex.split(command, comments=True)
        assert words[0] == "pydoca", f"{block.name}: {command} is neither run nor in NOT_RUN"
        run = commands.run(*words[1:])
        assert run.returncode == 0, run.stderr
        printed = run.stdout.splitlines()
        # "..." stands for the lines that the page leaves out.
        for line in shown.splitlines():
            assert line == "..." or any(fnmatch.fnmatchcase(each, line.replace("[", "[[]")) for each in printed), line


@pytest.fixture(scope="module")
def reference():
    """The module of the site's extension that knows which names the reference has; the others need Sphinx."""
    spec = spec_from_file_location("python_names", DOCS / "extension/python_names.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_the_classes_that_only_calls_return(reference):
    assert set(reference.RETURNED) == set(RETURNED)
    assert all(reference.returned_by(owner) for owner in RETURNED)
    assert reference.returned_by(RETURNED[-1]) == ["Rdma.receives"]


def test_the_reference_has_the_engines_of_the_qualification(reference):
    engines = reference.bench()
    assert {"latency", "bandwidth", "Copies"} <= set(engines["pydoca.qualify.bench.dma"])
    assert "DeviceFault" in engines["pydoca.qualify.bench.waiting"]
    found = {
        f"{module}.{name}": getattr(sys.modules[module], name) for module, names in engines.items() for name in names
    }
    for name, owner in list(found.items()):
        members = vars(owner).items() if inspect.isclass(owner) else ()
        found |= {f"{name}.{each}": value for each, value in members if inspect.isroutine(value) and each[0] != "_"}
    assert [name for name, value in found.items() if not value.__doc__] == []
