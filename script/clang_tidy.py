"""Runs clang-tidy over the compile databases of the given build directories, as many at a time as there are cores.

A file that was found clean is not checked again until it, a header of the project that it includes, its
compile command or the configuration changes.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "tidy"
TOOL = Path(sys.executable).parent / "clang-tidy"
OUR_FOLDERS = [ROOT / name for name in ("cpp", "tests/cpp", "benchmarks", "examples")]
INCLUDE_PATH = [ROOT / "cpp/include", ROOT / "cpp/src", ROOT / "tests/cpp"]
INCLUDE = re.compile(rb'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# The database holds GCC's command lines.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]


def project_files(build_dirs: list[Path]) -> dict[Path, tuple[Path, str]]:
    """Maps each source of ours to its build directory and compile command; the first directory wins."""
    found: dict[Path, tuple[Path, str]] = {}
    for build_dir in build_dirs:
        for entry in json.loads((build_dir / "compile_commands.json").read_text()):
            path = Path(entry["directory"], entry["file"]).resolve()
            if any(path.is_relative_to(folder) for folder in OUR_FOLDERS):
                found.setdefault(path, (build_dir, entry["command"]))
    return found


def included_files(path: Path) -> set[Path]:
    """Returns path and every header of the project that it includes, directly or not."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            names = [name.decode() for name in INCLUDE.findall(current.read_bytes())]
            candidates = [folder / name for name in names for folder in [current.parent, *INCLUDE_PATH]]
            waiting += [candidate.resolve() for candidate in candidates if candidate.is_file()]
    return seen


def cache_key(path: Path, command: str, common: bytes) -> str:
    digest = hashlib.sha256(common + command.encode())
    for name in sorted(included_files(path)):
        digest.update(str(name).encode() + hashlib.sha256(name.read_bytes()).digest())
    return digest.hexdigest()


def configuration() -> bytes:
    version = subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout
    nested = [path for folder in OUR_FOLDERS for path in sorted(folder.glob("**/.clang-tidy"))]
    files = [ROOT / ".clang-tidy", *nested, Path(__file__)]
    return version + b"".join(file.read_bytes() for file in files)


def check(path: Path, build_dir: Path, key: str) -> str:
    """Returns what clang-tidy has to say about path; empty when it is clean."""
    if (CACHE / key).exists():
        return ""
    command = [TOOL, "--quiet", "-p", build_dir, *EXTRA, path]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        (CACHE / key).touch()
        return ""
    return result.stdout or result.stderr


def main() -> int:
    CACHE.mkdir(parents=True, exist_ok=True)
    common = configuration()
    files = project_files([ROOT / name for name in sys.argv[1:]])
    keys = {path: cache_key(path, command, common) for path, (_, command) in files.items()}
    known = sum((CACHE / key).exists() for key in keys.values())
    print(f"clang-tidy: {len(files)} files, {known} of them known to be clean", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = pool.map(lambda path: check(path, files[path][0], keys[path]), sorted(files))
        faulty = [report for report in reports if report]
    print(*faulty, sep="\n", end="")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
