"""The programs of the page "Build and run a C program", built with the SDK that `pydoca sdk` writes, on both sides."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from printed import DOCS, README, ROOT, blocks_of
from pydoca import _sdk

PAGE = DOCS / "how-to/c-program.md"
STANDARDS = ("c99", "c11", "c17")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _sdk.headers(), reason="this pydoca was built without the C API"),
    pytest.mark.skipif(not all(map(shutil.which, ("cc", "pkg-config"))), reason="no C compiler, or no pkg-config"),
]


def files_of(page: Path) -> dict[str, str]:
    """The files that the page prints, whose first line is their name."""
    return {name: text for text, name in re.findall(r"^```c\n(// (\S+)\n.*?)^```", page.read_text(), re.M | re.S)}


def shown(text: str, output: str) -> bool:
    pattern = re.escape(text).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, output, re.DOTALL) is not None


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in files_of(PAGE).items():
        (tmp_path / name).write_text(text)
    return tmp_path


class Shell:
    """Runs commands in a directory. What one of them exports, later ones have."""

    def __init__(self, commands, place: Path) -> None:
        self._commands, self._place = commands, place
        self._exports: list[str] = []

    def run(self, command: str, **env: str) -> subprocess.CompletedProcess[str]:
        script = "\n".join([*self._exports, command])
        path = f"{Path(self._commands.script()).parent}:{self._commands.env['PATH']}"
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=self._place,
            env={**self._commands.env, "PATH": path, **env},
            capture_output=True,
            text=True,
        )
        if command.startswith("export "):
            self._exports.append(command)
        return done


@pytest.fixture
def shell(commands, place: Path) -> Shell:
    return Shell(commands, place)


@pytest.mark.parametrize(("page", "count"), [(PAGE, 8), (README, 3)], ids=lambda value: getattr(value, "stem", ""))
def test_the_pages_print_what_happens(shell, place, page, count):
    shutil.copytree(ROOT / "examples/c", place / "examples/c")
    printed = [step for block in blocks_of(page) if block.kind == "console" for step in block.commands()]
    steps = [step for step in printed if step[0].startswith(("pydoca sdk ", "export PKG_CONFIG_PATH=", "cc ", "./"))]
    assert len(steps) == count
    for command, text in steps:
        done = shell.run(command)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert not text or shown(text, done.stdout), (command, done.stdout)


def built(shell: Shell, side: str, source: Path | str, packages: str, flags: str = "") -> None:
    """Builds the program `program` for a side."""
    assert shell.run(f'pydoca sdk --prefix "$PWD/{side}" --side {side}').returncode == 0
    flags = f"{flags} -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror"
    line = f'cc {flags} "{source}" $(PKG_CONFIG_PATH="$PWD/{side}/lib/pkgconfig" pkg-config --cflags --libs {packages})'
    done = shell.run(f"{line} -o program")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("standard", STANDARDS)
def test_the_program_of_the_page_is_of_every_standard(shell, standard):
    built(shell, "host", "devices.c", "doca-common", f"-std={standard}")
    assert shell.run("./program").stdout.splitlines()[0] == "0000:0b:00.0"


@pytest.mark.parametrize(("side", "other"), [("host", "dpu"), ("dpu", "host")])
def test_a_program_of_one_side_is_refused_in_the_environment_of_the_other(shell, side, other):
    built(shell, side, "devices.c", "doca-common")
    agreed = shell.run("./program", PYDOCA_SIDE=side)
    assert (agreed.returncode, agreed.stderr) == (0, "")
    done = shell.run("./program", PYDOCA_SIDE=other)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        rf'.*PYDOCA_SIDE is "{other}", and this program was built for the side "{side}".*\n.*\n', done.stderr
    )


def test_a_side_that_does_not_exist_is_named(shell):
    built(shell, "host", "devices.c", "doca-common")
    done = shell.run("./program", PYDOCA_SIDE="x")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r'PYDOCA_SIDE is "x", which is not a side; there are host and dpu', done.stderr)


def test_a_moved_sdk_still_builds(shell, place):
    assert shell.run('pydoca sdk --prefix "$PWD/first" --side host').returncode == 0
    (place / "first").rename(place / "a moved prefix")
    shell.run('export PKG_CONFIG_PATH="$PWD/a moved prefix/lib/pkgconfig"')
    flags = shell.run("pkg-config --cflags --libs doca-common").stdout.strip()
    done = shell.run(f"cc devices.c {flags} -o program")
    assert (done.returncode, done.stderr) == (0, "")
    assert shell.run("./program").stdout.splitlines()[0] == "0000:0b:00.0"


@pytest.mark.skipif(not all(map(shutil.which, ("cmake", "ninja"))), reason="CMake or Ninja is not installed")
def test_cmake_finds_the_library(shell, place):
    (place / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\nfind_package(pydoca REQUIRED)\n"
        "add_executable(app devices.c)\ntarget_link_libraries(app PRIVATE pydoca::doca_common)\n"
    )
    assert shell.run('pydoca sdk --prefix "$PWD/dpu" --side dpu').returncode == 0
    done = shell.run('cmake -G Ninja -B build -DCMAKE_PREFIX_PATH="$PWD/dpu" && cmake --build build')
    assert done.returncode == 0, done.stdout + done.stderr
    assert shell.run("build/app").stdout.splitlines()[0] == "0000:03:00.0"


@pytest.mark.skipif(not shutil.which("meson"), reason="meson is not installed")
def test_meson_finds_the_library(shell, place):
    (place / "meson.build").write_text(
        "project('app', 'c')\nexecutable('app', 'devices.c', dependencies: dependency('doca-common'))\n"
    )
    assert shell.run('pydoca sdk --prefix "$PWD/dpu" --side dpu').returncode == 0
    shell.run('export PKG_CONFIG_PATH="$PWD/dpu/lib/pkgconfig"')
    done = shell.run("meson setup build && meson compile -C build")
    assert done.returncode == 0, done.stdout + done.stderr
    assert shell.run("build/app").stdout.splitlines()[0] == "0000:03:00.0"
