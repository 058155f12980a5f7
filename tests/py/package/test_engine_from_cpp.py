"""The commands and files that README and "Use the engine from C++" print build, install and use the engine.

script/test engine runs this file alone; script/test machines does so on other systems.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from printed import DOCS, README, ROOT, Block, blocks_of

PAGE = DOCS / "how-to/use-from-cpp.md"
NEEDED = ["cmake", "ninja"]
# The machine installs these beforehand, so the page does not show it.
INSTALLS = "apt-get install "

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="CMake or Ninja is not installed"),
]


def story_of(page: Path) -> list[Block]:
    """The blocks of a page that are files with a name, or consoles with a command of CMake."""
    return [
        block for block in blocks_of(page) if (block.kind == "console" and "$ cmake " in block.text) or _is_file(block)
    ]


def _is_file(block: Block) -> bool:
    """Tells whether the first line is the name of the file; others are parts of a program."""
    return block.kind == "file" and block.text.startswith(("# app/", "// app/"))


def find_clang() -> str | None:
    names = ["clang++", *(f"clang++-{version}" for version in range(25, 14, -1))]
    for name in filter(shutil.which, names):
        line = [name, "-E", "-P", "-x", "c++", "-"]
        found = subprocess.run(line, input="__clang_major__", capture_output=True, text=True)
        if int(found.stdout.strip() or 0) >= 15:
            return name
    return None


COMPILERS = {"gcc": shutil.which("g++") and "g++", "clang": find_clang()}


class Reader:
    """A clone, a home and a compiler, with which the commands of a page are run."""

    def __init__(self, place: Path, compiler: str) -> None:
        self.clone = place / "clone"
        copied = ("README.md", "LICENSE", "licenses", "cpp", "benchmarks", "examples", "tests/c", "tests/cpp")
        for name in copied:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, self.clone / name)
        home = place / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE_PREFIX", "PYDOCA_"))}
        self.env = kept | {"HOME": str(home), "CXX": compiler, "XDG_RUNTIME_DIR": str(home)}

    def run(self, command: str, **options: str) -> str:
        line = ["bash", "-ec", command]
        done = subprocess.run(line, cwd=self.clone, env=self.env | options, capture_output=True, text=True)
        assert done.returncode == 0, f"$ {command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout + done.stderr

    def follow(self, block: Block) -> None:
        if block.kind == "file":
            path = self.clone / block.file_name
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text)
            return
        for command, shown in block.commands():
            printed = self.run(command)
            assert not re.search(r"warning:|CMake Warning", printed), printed
            assert not shown or printed == shown


def test_both_pages_print_the_same_commands_and_files():
    assert [block.text for block in story_of(README)] == [block.text for block in story_of(PAGE)]
    assert [block.kind for block in story_of(README)] == ["console", "file", "file", "console"]


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not COMPILERS[name], reason=f"{name} is not installed")


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in COMPILERS])
def test_the_engine_is_built_installed_and_used_as_printed(tmp_path, name):
    reader = Reader(tmp_path, COMPILERS[name])
    for block in story_of(README):
        reader.follow(block)
    # The installed engine serves programs of every compiler.
    (consumer, build, run) = story_of(README)[-1].commands()
    for other in set(filter(None, COMPILERS.values())) - {COMPILERS[name]}:
        shutil.rmtree(reader.clone / "app/build")
        for command, shown in (consumer, build, run):
            assert reader.run(command, CXX=other).endswith(shown)


def test_the_packages_are_those_that_the_scripts_install():
    listed = re.search(r"^build_packages=\((.*)\)$", (ROOT / "script/common.sh").read_text(), re.MULTILINE)[1].split()
    engine = [package for package in listed if not package.startswith("python3")]
    (command,) = [
        command
        for block in blocks_of(PAGE)
        if block.kind == "console"
        for command, _ in block.commands()
        if command.startswith(INSTALLS)
    ]
    assert command.removeprefix(INSTALLS).split() == engine
    assert all(package in README.read_text() for package in engine)
