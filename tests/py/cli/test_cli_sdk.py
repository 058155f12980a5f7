"""`pydoca sdk`: the files that it writes for each side, and the directories that it refuses."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import pydoca
from pydoca import _sdk

pytestmark = pytest.mark.skipif(not _sdk.headers(), reason="this pydoca was built without the C API")
SIDES = ("host", "dpu")


def write(commands, prefix: Path, side: str, *more: str) -> subprocess.CompletedProcess[str]:
    return commands.run("sdk", "--prefix", prefix, "--side", side, *more)


def files_below(prefix: Path) -> set[str]:
    return {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if not path.is_dir()}


def library(prefix: Path) -> Path:
    (found,) = prefix.glob("lib/libpydoca.so.*")
    return found


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    (tmp_path / "sdk").mkdir()
    return tmp_path / "sdk"


@pytest.mark.parametrize("side", SIDES)
def test_the_files_are_those_of_the_side(commands, prefix, side):
    run = write(commands, prefix, side)
    assert (run.returncode, run.stderr) == (0, "")
    config = (prefix / "include/doca_build_config.h").read_text()
    assert re.findall(r"^#define DOCA_ARCH_(\w+)$", config, re.MULTILINE) == [side.upper()]
    assert (prefix / "lib/libpydoca.so").readlink() == Path(library(prefix).name)
    assert re.findall(rb"C programs of the side=(\w+) ?\0", library(prefix).read_bytes()) == [side.encode()]
    assert f"the {side}'s SDK: {len(_sdk.headers())} headers, " in run.stdout
    assert f"export PKG_CONFIG_PATH={prefix}/lib/pkgconfig" in run.stdout


def test_json_names_the_files_and_their_size(commands, prefix):
    document = json.loads(write(commands, prefix, "host", "--json").stdout)
    assert (document["side"], document["version"]) == ("host", pydoca.__version__)
    assert {*document["files"], "lib/libpydoca.so", "share/pydoca/sdk.json"} == files_below(prefix)
    sizes = [(prefix / name).stat().st_size for name in document["files"]]
    assert document["bytes"] == sum(sizes)
    assert document["pkg_config_path"] == f"{prefix}/lib/pkgconfig"


def test_licences_and_examples_are_there(commands, prefix):
    write(commands, prefix, "dpu")
    place = prefix / "share/doc/pydoca"
    assert {"LICENSE", "fmt.txt", "spdlog.txt"} <= {path.name for path in (place / "licenses").iterdir()}
    assert (place / "examples/c/dma_copy/dma_copy.c").is_file()
    assert (place / "examples/c/dma_copy/meson.build").is_file()


def test_nothing_is_said_when_asked_for_quiet(commands, prefix):
    run = write(commands, prefix, "host", "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_other_side_replaces_an_sdk_and_removes_what_it_no_longer_has(commands, prefix):
    write(commands, prefix, "host")
    before = files_below(prefix)
    record = prefix / "share/pydoca/sdk.json"
    document = json.loads(record.read_text())
    (prefix / "include/doca_of_an_older_version.h").write_text("")
    (prefix.parent / "outside").write_text("stays")
    document["files"] += ["include/doca_of_an_older_version.h", "../outside", str(prefix.parent / "outside")]
    record.write_text(json.dumps(document))
    held = os.open(library(prefix), os.O_RDONLY)  # a program that runs has the old library
    assert write(commands, prefix, "dpu").returncode == 0
    assert files_below(prefix) == before
    assert json.loads(record.read_text())["side"] == "dpu"
    assert (prefix.parent / "outside").read_text() == "stays"
    assert os.fstat(held).st_nlink == 0, "the old library was overwritten"
    os.close(held)


def test_files_of_the_program_beside_an_sdk_stay(commands, prefix):
    (prefix / "include").mkdir()
    (prefix / "include/own.h").write_text("stays")
    for side in SIDES:
        assert write(commands, prefix, side).returncode == 0
    assert (prefix / "include/own.h").read_text() == "stays"


def test_a_directory_with_another_doca_is_refused(commands, prefix):
    (prefix / "include").mkdir()
    (prefix / "include/doca_dma.h").write_text("of another SDK")
    run = write(commands, prefix, "host")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        f"pydoca: {prefix} has an include/doca_dma.h that this command did not write: choose another --prefix\n"
    )
    assert files_below(prefix) == {"include/doca_dma.h"}


@pytest.mark.parametrize("record", ["", "{}", "[]", '{"files": 3}', '{"files": [1]}', "\xff"])
def test_a_damaged_record_does_not_matter(commands, prefix, record):
    write(commands, prefix, "host")
    (prefix / "share/pydoca/sdk.json").write_text(record)
    assert write(commands, prefix, "host").returncode == 0


def test_a_prefix_that_is_a_file_is_an_error_in_one_line(commands, tmp_path):
    (tmp_path / "file").write_text("")
    run = write(commands, tmp_path / "file", "host")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert str(tmp_path / "file") in run.stderr


@pytest.mark.parametrize("arguments", [["--side", "host"], ["--prefix", "x"], ["--prefix", "x", "--side", "both"]])
def test_prefix_and_side_have_to_be_given(commands, arguments):
    run = commands.run("sdk", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert "see 'pydoca sdk --help'" in run.stderr
