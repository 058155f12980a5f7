"""The files that the installed package has, and the libraries that its module needs."""

import re
import zlib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pydoca import _core, _sdk

ROOT = Path(__file__).resolve().parents[3]
LARGEST = 3_400_000  # bytes, compressed as a wheel is; CONTRIBUTING lists what they consist of
PACKAGE = distribution("pydoca")
TAG = re.search(r"^Tag: (.*)$", PACKAGE.read_text("WHEEL") or "", re.MULTILINE)
IS_MANYLINUX = TAG is not None and "manylinux" in TAG[1]

# The newest version of each family that manylinux_2_28 allows.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
# Every system has these. Others, such as rdma-core's and OpenSSL's, are loaded if they are installed.
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
LOADERS = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


# The module of Python, and the library for programs in C.
BUILT = [Path(_core.__file__), *(_sdk.FILES / "lib").glob("libpydoca.so.*")]


@pytest.fixture(scope="module", params=BUILT, ids=lambda path: path.name.partition(".")[0])
def module(request: pytest.FixtureRequest) -> Iterator[ELFFile]:
    with request.param.open("rb") as file:
        yield ELFFile(file)


def files_of(package: Distribution) -> list[Path]:
    paths = [Path(package.locate_file(file)) for file in package.files or [] if file.suffix != ".pyc"]
    return [path for path in paths if path.is_file()]


def needed_symbols(module: ELFFile) -> Iterator[tuple[str, str | None]]:
    """Each undefined symbol that must be there, with the version that it must have."""
    versions: dict[int, str] = {}
    for _, entries in module.get_section_by_name(".gnu.version_r").iter_versions():
        versions.update((entry["vna_other"], entry.name) for entry in entries)
    table = module.get_section_by_name(".gnu.version")
    for index, symbol in enumerate(module.get_section_by_name(".dynsym").iter_symbols()):
        if index and symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_WEAK":
            yield symbol.name, versions.get(table.get_symbol(index)["ndx"])


def test_every_licence_is_carried():
    carried = {path.name for path in files_of(PACKAGE) if "licenses" in path.parts}
    assert carried >= {"LICENSE", *(path.name for path in (ROOT / "licenses").iterdir())}


def test_what_is_compiled_in_has_its_licence():
    sources = "".join(path.read_text() for path in (ROOT / "cpp").rglob("CMakeLists.txt"))
    sources += "".join(path.read_text() for path in (ROOT / "cpp/cmake").glob("*.cmake"))
    found = {name.lower() for name in re.findall(r"PYDOCA_(\w+?)_INCLUDE_DIR", sources)}
    found |= {name.lower() for name in re.findall(r"find_package\((pybind11)", sources)}
    licences = {path.stem for path in (ROOT / "licenses").glob("*.txt")}
    of_rdma_core, declares_only = {"verbs", "rdmacm"}, {"openssl", "isal"}
    named = {"rdma-core" if name in of_rdma_core else name.replace("_", "-") for name in found - declares_only}
    assert named == licences


def test_the_templates_of_pages_are_carried():
    folders = [path for path in (ROOT / "python").rglob("templates") if path.is_dir()]
    written = {path.relative_to(ROOT / "python").as_posix() for folder in folders for path in folder.iterdir()}
    assert written
    assert written - {file.as_posix() for file in PACKAGE.files or []} == set()


def test_the_package_is_small():
    size = sum(len(zlib.compress(path.read_bytes(), 9)) for path in files_of(PACKAGE))
    assert 0 < size <= LARGEST, f"{size} bytes"


def test_the_module_needs_libraries_that_every_system_has(module):
    needed = {tag.needed for tag in module.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    assert needed - LIBRARIES - LOADERS == set()


def test_the_module_names_no_directory_for_libraries(module):
    tags = {tag.entry.d_tag for tag in module.get_section_by_name(".dynamic").iter_tags()}
    assert not tags & {"DT_RPATH", "DT_RUNPATH"}


@pytest.mark.skipif(not IS_MANYLINUX, reason="this package was built for this machine, not for older ones")
def test_the_module_needs_only_versions_that_older_systems_have(module):
    newer = []
    for name, version in needed_symbols(module):
        if version is not None:
            family, _, numbers = version.partition("_")
            if tuple(int(number) for number in numbers.split(".")) > NEWEST[family]:
                newer.append(f"{name}@{version}")
    assert newer == []


@pytest.mark.skipif(not IS_MANYLINUX, reason="this package was built for this machine, not for older ones")
def test_what_has_no_version_is_pythons(module):
    # The linker accepts a function that no library defines, but such a module does not load.
    others = [name for name, version in needed_symbols(module) if version is None and not re.match("_?Py", name)]
    assert others == []
