"""Compilation and linking of the extension module: the protections of a release build."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_DT_FLAGS, ENUM_DT_FLAGS_1
from elftools.elf.sections import SymbolTableSection

import pydoca
from pydoca import _core


@pytest.fixture(scope="module")
def module() -> Iterator[ELFFile]:
    with Path(_core.__file__).open("rb") as file:
        yield ELFFile(file)


@pytest.fixture(scope="module")
def symbols(module: ELFFile) -> SymbolTableSection:
    return module.get_section_by_name(".dynsym")


@pytest.fixture(scope="module")
def dynamic(module: ELFFile) -> DynamicSection:
    return module.get_section_by_name(".dynamic")


@pytest.fixture(scope="module")
def wanted(symbols: SymbolTableSection) -> set[str]:
    """The symbols that other libraries must define for it, without versions."""
    return {symbol.name.partition("@")[0] for symbol in symbols.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"}


def test_the_version_of_the_engine_is_that_of_the_package():
    assert pydoca.version_runtime() == pydoca.version() == pydoca.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?", pydoca.version())


def test_module_exports_its_init_function_alone(symbols):
    defined = [symbol.name for symbol in symbols.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"]
    assert defined == ["PyInit__core"]


def test_tables_of_addresses_become_read_only(module):
    tables = [section for section in module.iter_sections() if section.name in {".data.rel.ro", ".got", ".got.plt"}]
    assert tables
    [protected] = module.iter_segments("PT_GNU_RELRO")
    begin, end = protected["p_vaddr"], protected["p_vaddr"] + protected["p_memsz"]
    assert all(begin <= table["sh_addr"] and table["sh_addr"] + table["sh_size"] <= end for table in tables)


def test_every_address_is_bound_when_the_module_is_loaded(dynamic):
    flags = {tag.entry.d_tag: tag.entry.d_val for tag in dynamic.iter_tags()}
    assert flags.get("DT_FLAGS", 0) & ENUM_DT_FLAGS["DF_BIND_NOW"] or "DT_BIND_NOW" in flags
    assert flags.get("DT_FLAGS_1", 0) & ENUM_DT_FLAGS_1["DF_1_NOW"]


def test_functions_check_their_stack(wanted):
    assert "__stack_chk_fail" in wanted


def test_calls_of_the_c_library_check_their_buffers():
    # The module has no symbol that would show it: the compiler proves calls in bounds where it knows the buffer's size.
    assert _core.__fortify_level__ >= 2


def test_the_module_is_imported_and_not_the_folder_of_its_stubs():
    path = Path(_core.__file__)
    assert path.name.startswith("_core.")
    assert not hasattr(_core, "__path__")
    assert (path.parent / "_core/__init__.pyi").is_file()
