"""DOCA's C API: the library exports what its headers declare, and both are what the table of DOCA's names says."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pydoca import _sdk
from pydoca.cli.explain import _c_api, _table

pytestmark = pytest.mark.skipif(not _sdk.headers(), reason="this pydoca was built without the C API")
TABLE = _table.load()
CODE = {header.name: _sdk.code_of(header) for header in _sdk.headers()}
ALL_CODE = "\n".join(CODE.values())
# Headers of which no function is missing.
WHOLE = """
    argp buf buf_inventory buf_pool clock comch ctx dev dma error graph log mmap mmap_advise pe rdma rdma_bridge
    sha sync_event types version
"""
OF_OTHER_LIBRARIES = {"doca_eth_wait_on_time_type"}  # DOCA has it among the types of all
# The libraries of the table whose headers the SDK has.
LIBRARIES = [library for library in TABLE.libraries if {*library.header.split(", ")} & CODE.keys()]
ENTRIES = [entry for library in LIBRARIES for row in library.entries for entry in row]
ENTRIES = [entry for entry in ENTRIES if not (entry.now or entry.until or entry.name in OF_OTHER_LIBRARIES)]
IS_INLINE = re.compile(r"static inline [^;{]*?\b(doca_\w+)\s*\(")
IS_TYPE = re.compile(r"typedef\s[^;{]*;")
IS_MACRO = re.compile(r"^[ \t]*#[ \t]*define (?:\\\n|.)*", re.MULTILINE)


def fail_if_any(rule: str, faults: list[str]) -> None:
    if faults:
        pytest.fail(f"broken: {rule}\n  " + "\n  ".join(faults), pytrace=False)


def inline_functions() -> set[str]:
    return set(IS_INLINE.findall(ALL_CODE))


def functions() -> set[str]:
    """The functions that the headers declare, those that they define included."""
    code = IS_TYPE.sub("", IS_MACRO.sub("", ALL_CODE))
    return set(re.findall(r"\b(doca_\w+)\s*\(", code))


@pytest.fixture(scope="module")
def exports() -> set[str]:
    (library,) = (_sdk.FILES / "lib").glob("libpydoca.so.*")
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        return {each.name for each in symbols if each["st_shndx"] not in ("SHN_UNDEF", "SHN_ABS")}


def test_the_library_exports_the_functions_of_the_headers_and_nothing_else(exports):
    declared = functions() - inline_functions()
    fail_if_any("a function that a header declares is exported", sorted(declared - exports))
    fail_if_any("what is exported stands in a header", sorted(exports - declared))


def test_the_soname_is_not_nvidias():
    (library,) = (_sdk.FILES / "lib").glob("libpydoca.so.*")
    with library.open("rb") as file:
        (tag,) = ELFFile(file).get_section_by_name(".dynamic").iter_tags("DT_SONAME")
        assert tag.soname == library.name


def test_every_function_of_a_header_is_in_the_table():
    known = {entry.name for entry in TABLE.entries.values()}
    fail_if_any("a function of a header has its row in from_c.toml", sorted(functions() - known))


def test_libraries_are_there():
    headers = {f"doca_{name}.h" for name in re.findall(r"\w+", WHOLE)}
    fail_if_any("the SDK has the headers of these libraries", sorted(headers - CODE.keys()))
    known = {header for library in TABLE.libraries for header in library.header.split(", ")}
    fail_if_any("the table, and so the documentation, has these headers", sorted(headers - known))


def test_every_name_of_a_library_that_is_in_c_is_declared():
    missing = [
        f"{entry.header}: {entry.kind} {entry.name}" for entry in ENTRIES if _c_api.in_c(entry).state == "missing"
    ]
    fail_if_any("the headers of a library have all of its names", missing)


def test_what_is_refused_can_be_called():
    refused = [entry for entry in TABLE.entries.values() if entry.refused and entry.kind == "function"]
    fail_if_any("a refused function is declared", sorted(each.name for each in refused if each.name not in functions()))


def test_what_pydoca_leaves_out_is_refused_or_there_on_purpose():
    """A function that Python and C++ lack says in C why it refuses, unless they have other means for what it does."""
    silent = {entry.name for entry in ENTRIES if entry.kind == "function" and (entry.out or entry.not_yet)}
    works = {name for name in silent if not TABLE.entries[name].refused}
    fail_if_any("`refused` gives the reason for C", sorted(works - ONLY_IN_C))
    fail_if_any("ONLY_IN_C has what Python and C++ lack and C does", sorted(ONLY_IN_C - works))


# Functions that work in C, where Python and C++ need none of them.
ARGP = """
    init start usage destroy get_log_level get_sdk_log_level set_dpdk_program
    register_cmd register_param cmd_register_cmd cmd_register_param
    register_version_callback register_validation_callback register_logger_callback disable_logger_callback
    cmd_create cmd_destroy cmd_set_name cmd_set_description cmd_set_callback cmd_set_hidden
    param_create param_destroy param_set_short_name param_set_long_name param_set_arguments param_set_description
    param_set_callback param_set_type param_set_mandatory param_set_cli_only param_set_multiplicity
    param_set_singular param_set_inherited param_set_hidden
"""
ONLY_IN_C = {f"doca_argp_{name}" for name in re.findall(r"\w+", ARGP)}


def test_enumerators_have_the_numbers_of_the_table():
    faults, compared = [], 0
    for entry in ENTRIES:
        for value, number in entry.values.items():
            found = re.search(rf"\b{value}\s*=\s*(0[xX][0-9a-fA-F]+|\d+|1\s*<<\s*\d+|\(1\s*<<\s*\d+\))", ALL_CODE)
            compared += found is not None
            if found is None or eval(found[1]) != number:
                faults.append(f"{value} = {number}, not {found and found[1]}")
    fail_if_any("an enumerator has DOCA's number", faults)
    assert compared > 50


@pytest.mark.parametrize("header", _sdk.headers(), ids=lambda header: header.stem)
def test_every_header_knows_its_side(header: Path):
    seen, wanted = {header.name}, [header.name]
    while wanted:
        text = (header.parent / wanted.pop()).read_text()
        more = set(re.findall(r'#\s*include\s*[<"](doca_\w+\.h)[>"]', text)) - seen
        seen |= more
        wanted += more
    assert "doca_build_config.h" in seen


def torn(lines: list[str], columns: int = 115) -> list[str]:
    """The lines of a comment that the first word of the next line fits behind."""
    is_text = re.compile(r"/// \S").match
    pairs = [pair for pair in pairwise(lines) if all(map(is_text, pair))]
    return [one for one, other in pairs if len(f"{one} {other.split()[1]}") <= columns]


@pytest.mark.parametrize("header", _sdk.headers(), ids=lambda header: header.stem)
def test_the_lines_of_comments_are_filled(header):
    assert torn(["/// one", "/// two"])
    assert torn(header.read_text().splitlines()) == []
