"""Writes stand-ins of this system's C and C++ libraries for a linker, which have only what older ones had.

usage: python script/older_libraries.py [--cxx COMPILER] DIRECTORY

A function of the C library has a version for each change of its behaviour, and a linker takes the newest one. What is
linked with the stand-ins takes, of each function, the version that glibc 2.28 and the libstdc++ of GCC 8 had, and runs
on every system since (manylinux_2_28). Functions that are newer are not there: those of the C library that pydoca uses
are in cpp/src/detail/system/newer_functions.cpp, and a static libstdc++, which comes later in the linker's order, has
the others of C++. Needs pyelftools.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

# The newest version of each family that manylinux_2_28 allows.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6")
LOADERS = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")  # each is there on its own processor only

# These libraries of glibc before 2.34 had functions that libc has today.
FORMER_HOMES = (
    (re.compile("pthread_|sem_"), "libpthread.so.0"),
    (re.compile("dl(open|close|sym|vsym|error|addr|info)"), "libdl.so.2"),
)


@dataclass(frozen=True)
class Symbol:
    name: str
    version: str
    is_function: bool


def numbers(version: str) -> tuple[int, ...] | None:
    """The numbers of a version that old systems have, and None of any other: newer, private, of another family."""
    family, _, text = version.partition("_")
    if family not in NEWEST or not re.fullmatch(r"[0-9.]+", text):
        return None
    result = tuple(int(part) for part in text.split("."))
    return result if result <= NEWEST[family] else None


def defined_symbols(library: Path) -> Iterator[Symbol]:
    with library.open("rb") as file:
        elf = ELFFile(file)
        versions, names = elf.get_section_by_name(".gnu.version"), {}
        for definition, parts in elf.get_section_by_name(".gnu.version_d").iter_versions():
            names[definition["vd_ndx"]] = next(parts).name
        for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            number = versions.get_symbol(index)["ndx"]
            if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") or not isinstance(number, int):
                continue
            kind = symbol["st_info"]["type"]
            if kind != "STT_TLS":
                yield Symbol(symbol.name, names[number & 0x7FFF], kind in ("STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS"))


def old_symbols(library: Path) -> list[Symbol]:
    """The newest version of each name that old systems have."""
    newest: dict[str, Symbol] = {}
    for symbol in defined_symbols(library):
        version = numbers(symbol.version)
        if version is None:
            continue
        known = newest.get(symbol.name)
        if known is None or version > (numbers(known.version) or ()):
            newest[symbol.name] = symbol
    return list(newest.values())


def home_of(symbol: Symbol, soname: str) -> str:
    if soname == "libc.so.6":
        for names, home in FORMER_HOMES:
            if names.match(symbol.name):
                return home
    return soname


def write_library(compiler: str, directory: Path, soname: str, symbols: list[Symbol]) -> None:
    lines = [".text"]
    for number, symbol in enumerate(symbols):
        kind = "%function" if symbol.is_function else "%object"
        label = f"older_{number}"
        lines += [f".globl {label}", f".type {label}, {kind}", f"{label}: .byte 0", f".size {label}, 1"]
        lines.append(f'.symver {label}, "{symbol.name}@@{symbol.version}"')
    source = directory / f"{soname}.s"
    source.write_text("\n".join(lines) + "\n")
    script = directory / f"{soname}.map"
    versions = sorted({each.version for each in symbols})
    script.write_text("".join(f"{version} {{ local: older_*; }};\n" for version in versions))
    target = directory / ("libloader.so" if soname in LOADERS else soname.partition(".so")[0] + ".so")
    command = [compiler, "-shared", "-nostdlib", "-o", target, source, f"-Wl,-soname,{soname}"]
    subprocess.run([*command, f"-Wl,--version-script={script}"], check=True)


def path_of(compiler: str, library: str) -> Path | None:
    command = [compiler, f"-print-file-name={library}"]
    answer = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    return answer if answer.is_absolute() else None


def libraries_of(compiler: str) -> Iterator[tuple[str, Path]]:
    for library in (*LIBRARIES, *LOADERS):
        path = path_of(compiler, library)
        if path is not None:
            yield library, path
        elif library in LIBRARIES:
            raise SystemExit(f"error: {compiler} does not find {library}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cxx", default="c++", metavar="COMPILER", help="the compiler whose libraries these are")
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    homes: dict[str, list[Symbol]] = {}
    for library, path in libraries_of(arguments.cxx):
        for symbol in old_symbols(path):
            homes.setdefault(home_of(symbol, library), []).append(symbol)
    for soname, symbols in homes.items():
        write_library(arguments.cxx, arguments.directory, soname, symbols)


if __name__ == "__main__":
    main()
