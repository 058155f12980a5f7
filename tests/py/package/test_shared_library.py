"""The engine as a shared library: its name, what it exports, and the ways in which a program finds it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from printed import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(
        not all(map(shutil.which, ("cmake", "ninja", "g++", "nm", "readelf"))), reason="CMake, Ninja or GCC is missing"
    ),
]
C_PROGRAM = """
#include <doca_dev.h>
#include <stdio.h>
#if !defined(DOCA_ARCH_HOST) || defined(DOCA_ARCH_DPU)
#error "this is the SDK of a host"
#endif
int main(void) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  doca_error_t result = doca_devinfo_create_list(&list, &count);
  printf("%u devices\\n", count);
  DOCA_ERROR_PROPAGATE(result, doca_devinfo_destroy_list(list));
  return result == DOCA_SUCCESS ? 0 : 1;
}
"""
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.cpp"))


def run(*line: str | Path, **options: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE_PREFIX", "PYDOCA_"))}
    done = subprocess.run(line, env=kept | options, capture_output=True, text=True)
    assert done.returncode == 0, f"$ {line}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the shared library is installed, by GCC; then the tree has moved."""
    place = tmp_path_factory.mktemp("shared")
    # What is exported does not depend on optimisation, which takes three minutes.
    options = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-O0"}
    options |= {"CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE": "OFF"}
    options |= {"BUILD_SHARED_LIBS": "ON", "CMAKE_INSTALL_PREFIX": place / "first"}
    options |= {f"PYDOCA_BUILD_{part}": "OFF" for part in ("TESTS", "BENCHMARKS", "EXAMPLES")}
    build = place / "build"
    settings = [f"-D{name}={value}" for name, value in options.items()]
    run("cmake", "-S", ROOT / "cpp", "-B", build, "-G", "Ninja", *settings, CXX="g++")
    run("cmake", "--build", build)
    run("cmake", "--install", build)
    shutil.rmtree(build)
    return (place / "first").rename(place / "a moved prefix")


@pytest.fixture(scope="module")
def library(prefix):
    (real,) = [path for path in prefix.rglob("libpydoca.so.*") if not path.is_symlink()]
    return real


def exports(library: Path) -> list[str]:
    """Demangled names, with their version."""
    lines = run("nm", "-DC", "--defined-only", library).splitlines()
    return [line.split(" ", 2)[2] for line in lines]


def declared_in_c(prefix: Path) -> set[str]:
    """The functions that the headers of the C API declare, without those that are whole in the header."""
    texts = [path.read_text() for path in prefix.rglob("doca_*.h")]
    return {
        name for text in texts for name in re.findall(r"^DOCA_(?:STABLE|EXPERIMENTAL)[^;(]*?\b(doca_\w+)\(", text, re.M)
    }


def test_it_exports_the_functions_of_the_c_api(prefix, library):
    version = re.search(r'return "(\d+\.\d+)', (ROOT / "cpp/include/pydoca/version.hpp").read_text())[1]
    exported = {name.removesuffix(f"@@PYDOCA_{version}") for name in exports(library) if name.startswith("doca_")}
    assert exported == declared_in_c(prefix)


def test_it_has_a_name_of_its_own_and_exports_names_of_pydoca_only(library):
    version = re.search(r'return "(\d+\.\d+)', (ROOT / "cpp/include/pydoca/version.hpp").read_text())[1]
    assert f"Library soname: [libpydoca.so.{version}]" in run("readelf", "-d", library)
    names = exports(library)
    foreign = [
        name
        for name in names
        if not re.match(rf"(\w+ for |typeinfo name for )?.*\bpydoca::.*@@PYDOCA_{version}$|PYDOCA_|doca_", name)
    ]
    assert foreign == []
    assert not [name for name in names if re.search(r"pydoca_(fmt|spdlog|toml)|pydoca::(verbs|faulty|capi)::", name)]
    assert any(name.startswith("pydoca::ProgressEngine::progress()") for name in names)


def test_private_names_are_not_exported(prefix, library):
    """A name of the exports is declared in a public header."""
    declared = "\n".join(path.read_text() for path in (ROOT / "cpp/include/pydoca").rglob("*.hpp"))
    words = set(re.findall(r"\w+", declared))
    functions = [re.sub(r"<.*>", "", name.split("(")[0]).split("::")[-1].removeprefix("~") for name in exports(library)]
    private = sorted(
        {name for name in functions if re.fullmatch(r"\w+", name)} - words - declared_in_c(prefix) - {"PYDOCA_0"}
    )
    assert private == []


def test_the_installed_examples_are_a_project_that_builds_and_runs(prefix, tmp_path):
    (source,) = prefix.rglob("examples")
    run("cmake", "-S", source, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert sorted(path.stem for path in source.glob("*.cpp")) == EXAMPLES
    for name in EXAMPLES:
        run(tmp_path / name, XDG_RUNTIME_DIR=str(tmp_path))


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
def test_pkg_config_builds_a_program_that_finds_the_library(prefix, tmp_path):
    (description,) = prefix.rglob("pydoca.pc")
    ask = ["pkg-config", "--cflags", "--libs", "pydoca"]
    flags = run(*ask, PKG_CONFIG_PATH=str(description.parent))
    program = tmp_path / "copy"
    line = f'g++ -std=c++20 "{ROOT}/examples/dma_copy.cpp" {flags.strip()} -o "{program}"'
    run("bash", "-c", line)
    assert run(program, "to print").strip() == "to print"


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
def test_a_program_in_c_finds_the_library_by_docas_name(prefix, tmp_path):
    (description,) = prefix.rglob("doca-common.pc")
    source, program = tmp_path / "devices.c", tmp_path / "devices"
    source.write_text(C_PROGRAM)
    flags = run("pkg-config", "--cflags", "--libs", "doca-common >= 3.0", PKG_CONFIG_PATH=str(description.parent))
    run("bash", "-c", f'gcc -Wall -Wextra -Werror "{source}" {flags.strip()} -o "{program}"')
    assert run(program, XDG_RUNTIME_DIR=str(tmp_path), PYDOCA_BACKEND="sim") == "5 devices\n"
    assert "pydoca" not in run("nm", "-D", "--undefined-only", program)


def test_components_are_those_that_were_built(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
        "find_package(pydoca 0.2 REQUIRED COMPONENTS sim ${WANTED})\n"
    )
    line = ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    run(*line)
    done = subprocess.run([*line, "-DWANTED=quantum"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "no component 'quantum'; it has: sim" in done.stderr


@pytest.mark.parametrize("part", ["TESTS", "BENCHMARKS", "PYTHON"])
def test_what_needs_the_private_names_is_refused(tmp_path, part):
    settings = [
        f"-DPYDOCA_BUILD_{each}={'ON' if each == part else 'OFF'}" for each in ("TESTS", "BENCHMARKS", "PYTHON")
    ]
    line = ["cmake", "-S", ROOT / "cpp", "-B", tmp_path, "-G", "Ninja", "-DBUILD_SHARED_LIBS=ON", *settings]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"PYDOCA_BUILD_{part} needs the static library" in done.stderr
