"""The documentation's programs run as they are printed, and print what the pages show below them.

test_printed_commands.py runs the commands.
"""

import ast
import inspect
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from printed import DOCS, PAGES, Block, blocks_of
from public_names import RETURNED

# A block whose first line names a file is a part of the page's story.
PAIR = ("# host.py", "# dpu.py")
TEST = "# test_"
STORY_IN_CPP = DOCS / "how-to/use-from-cpp.md"

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
CODE = [block for block in BLOCKS if block.kind in ("python", "shown")]
PROGRAMS = [block for block in CODE if not block.text.startswith((*PAIR, TEST))]
PAIRS = [[block for block in CODE if block.page == page and block.text.startswith(PAIR)] for page in PAGES]
PAIRS = [pair for pair in PAIRS if pair]
TESTS = [block for block in CODE if block.text.startswith(TEST)]


def start(commands, directory: Path, block: Block):
    program = directory / f"{block.number}.py"
    program.write_text(block.text)
    return commands.start_program([sys.executable, "-P", str(program)], cwd=directory)


def check_output(block: Block, process) -> None:
    output, errors = process.communicate(timeout=150)
    assert (process.returncode, errors) == (0, ""), block.name
    if block.output is not None:
        assert output == block.output, block.name


def test_every_block_of_code_is_run_here():
    text = "".join(page.read_text() for page in PAGES)
    assert len(BLOCKS) == len(re.findall(r"^(?:```(?:python|console|cmake|cpp)|:::\{shown\})$", text, re.MULTILINE))
    assert {block.page for block in BLOCKS if block.kind == "file"} == {STORY_IN_CPP}  # test_engine_from_cpp.py
    assert all(len(pair) == 2 for pair in PAIRS)
    assert min(map(len, (PROGRAMS, PAIRS, TESTS))) > 0


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
    line = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-pno:hypothesispytest", "test_of_the_page.py"]
    process = commands.start_program(line, cwd=tmp_path)
    output, _ = process.communicate(timeout=150)
    assert process.returncode == 0, output
    assert " passed" in output


def test_every_page_of_the_python_reference_has_a_program():
    tree = ast.parse((DOCS / "extension/python_api.py").read_text())
    tables = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    pages = {page for name in ("TITLES", "MODULE_TITLES") for page in ast.literal_eval(tables[name])} | {"bench"}
    programs = {path.stem: blocks_of(path) for path in DOCS.glob("reference/*.md")}
    assert programs.keys() == pages
    assert [page for page, blocks in programs.items() if len(blocks) != 1 or blocks[0].output is None] == []


@pytest.fixture(scope="module")
def reference():
    """The module of the site's extension that knows which names the reference has; the other modules need Sphinx."""
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
    assert "Pair" in engines["pydoca.qualify.bench.rdma.pair"]
    found = {
        f"{module}.{name}": getattr(sys.modules[module], name) for module, names in engines.items() for name in names
    }
    for name, owner in list(found.items()):
        members = vars(owner).items() if inspect.isclass(owner) else ()
        found |= {f"{name}.{each}": value for each, value in members if inspect.isroutine(value) and each[0] != "_"}
    assert [name for name, value in found.items() if not value.__doc__] == []
