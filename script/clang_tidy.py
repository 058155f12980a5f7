"""Runs clang-tidy over the compile databases of the given build directories, as many at a time as there are cores.

Sources that a build compiles in batches are checked in the same batches, which saves most of the time: headers are
read once. There clang-tidy does not look for unused using declarations and aliases, so that this script does. It also
looks for typedefs, for which clang-tidy takes a tenth of its time. A clean source is not checked again until a
file of the project that it includes, its compile command or the configuration changes.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cxx_files import FOLDERS, ROOT, included_files

CACHE = ROOT / "build" / "tidy"
TOOL = Path(sys.executable).parent / "clang-tidy"
DATABASE = ROOT / "build" / "tidy" / "compile_commands.json"
PRECOMPILED_HEADER = re.compile(r' -Winvalid-pch -Xclang -include-pch .*/cmake_pch\.hxx"?(?= )')
# Command lines of the package are GCC's.
RAW_STRING = re.compile(r'R"\(.*?\)"', re.DOTALL)
INTRODUCED = re.compile(r"^\s*(?:using [\w:]+::(\w+);|namespace (\w+) = )", re.MULTILINE)
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]
# fmt 10 calls consteval functions with arguments that Clang no longer treats as constant.
EXTRA += ["--extra-arg=-DFMT_CONSTEVAL="]


def is_ours(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in FOLDERS) or path.parent.name == "Unity"


def compile_entries(build_dirs: list[Path]) -> dict[Path, dict[str, str]]:
    """Maps each source and batch of ours to its entry in a compile database; the first build directory wins."""
    found: dict[str | bytes, dict[str, str]] = {}
    for build_dir in build_dirs:
        for entry in json.loads((build_dir / "compile_commands.json").read_text()):
            path = Path(entry["directory"], entry["file"]).resolve()
            if is_ours(path):
                # Two builds have the same batch under two names. A precompiled header is for its own compiler.
                name = path.read_bytes() if path.parent.name == "Unity" else str(path)
                command = PRECOMPILED_HEADER.sub("", entry["command"])
                found.setdefault(name, {**entry, "file": str(path), "command": command})
    return {Path(entry["file"]): entry for entry in found.values()}


def size(path: Path) -> int:
    """Returns the bytes of path and of the project's files that it includes."""
    return sum(file.stat().st_size for file in included_files(path))


def cache_key(path: Path, command: str, common: bytes) -> str:
    digest = hashlib.sha256(common + command.encode())
    for name in sorted(included_files(path)):
        digest.update(str(name).encode() + hashlib.sha256(name.read_bytes()).digest())
    return digest.hexdigest()


def configuration() -> bytes:
    version = subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout
    nested = [path for folder in FOLDERS for path in sorted(folder.glob("**/.clang-tidy"))]
    files = [ROOT / ".clang-tidy", *nested, Path(__file__)]
    return version + b"".join(file.read_bytes() for file in files)


def config_option(path: Path) -> list[str]:
    """The option for the configuration of the sources in a batch: the batch itself is in a build directory."""
    if path.parent.name != "Unity":
        return []
    source = next(file for file in included_files(path) if file.suffix == ".cpp")
    nearest = next(folder / ".clang-tidy" for folder in source.parents if (folder / ".clang-tidy").exists())
    return [f"--config-file={nearest}"]


def check(path: Path, key: str) -> str:
    """Returns the findings of clang-tidy for path; empty if there are none."""
    if (CACHE / key).exists():
        return ""
    command = [TOOL, "--quiet", "-p", DATABASE.parent, *config_option(path), *EXTRA, path]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        (CACHE / key).touch()
        return ""
    return result.stdout or result.stderr


def unused_names(path: Path) -> Iterator[str]:
    """Yields a complaint for each name that a using declaration or an alias of path introduces for nothing."""
    text = path.read_text()
    for match in INTRODUCED.finditer(text):
        name = match[1] or match[2]
        if len(re.findall(rf"\b{name}\b", text)) == 1:
            line = text.count("\n", 0, match.start(match.lastindex or 0)) + 1
            yield f"{path}:{line}: error: '{name}' is not used in this file"


def typedefs(path: Path) -> Iterator[str]:
    """Yields a complaint for each typedef of path: a using declaration says the same. C has no such declarations."""
    if path.suffix not in (".hpp", ".cpp"):
        return
    code = RAW_STRING.sub(lambda text: "\n" * text[0].count("\n"), path.read_text())
    for number, line in enumerate(code.splitlines(), 1):
        if re.match(r"\s*(?:extern \"C\" )?typedef\b", line):
            yield f"{path}:{number}: error: use 'using' instead of 'typedef'"


def build_dirs() -> list[Path]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build_dirs", nargs="+", metavar="DIR", help="relative to the project, such as build/check")
    return [ROOT / name for name in parser.parse_args().build_dirs]


def main() -> int:
    dirs = build_dirs()
    CACHE.mkdir(parents=True, exist_ok=True)
    common = configuration()
    entries = compile_entries(dirs)
    DATABASE.write_text(json.dumps(list(entries.values())))
    keys = {path: cache_key(path, entry["command"], common) for path, entry in entries.items()}
    known = sum((CACHE / key).exists() for key in keys.values())
    print(f"clang-tidy: {len(entries)} files and batches, {known} of them known to be clean", flush=True)
    ours = {file for path in entries for file in included_files(path) if is_ours(file)}
    findings = [line for file in sorted(ours) if file.suffix == ".cpp" for line in unused_names(file)]
    findings += [line for file in sorted(ours) for line in typedefs(file)]
    print(*findings, sep="\n", end="\n" if findings else "")
    faulty = len(findings)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # The longest run first, so that no core waits for the last one.
        paths = sorted(entries, key=size, reverse=True)
        for report in pool.map(lambda path: check(path, keys[path]), paths):
            if report:
                faulty += 1
                print(report, flush=True)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
