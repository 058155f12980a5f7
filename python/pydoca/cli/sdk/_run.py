"""The work of `pydoca sdk`: copies the files that the package carries, and makes them those of one side."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shlex
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pydoca
from pydoca import _sdk
from pydoca.cli._errors import CommandError
from pydoca.cli._output import print_json
from pydoca.cli._two_processes.report import Terminal

_RECORD = Path("share/pydoca/sdk.json")  # what the command wrote below a prefix

# The package has the files of the host, which say so in these texts. The library's has one length for both sides.
_TEXTS = {
    "doca_build_config.h": "#define DOCA_ARCH_{upper}\n",
    "doca-*.pc": "for the side {side}\n",
    "libpydoca.so.*": "pydoca library for C programs of the side={side:4}\0",
}


def run(arguments: argparse.Namespace) -> int:
    prefix, side = Path(arguments.prefix).absolute(), arguments.side
    files = _carried()
    _require_own(prefix)
    terminal = Terminal(arguments.quiet, transient=True)
    try:
        written = _write(prefix, side, files, terminal)
    finally:
        terminal.close()
    document = {"prefix": str(prefix), "side": side, "version": pydoca.__version__, "bytes": written}
    document |= {"files": [path.as_posix() for path in files], **_places(prefix)}
    if arguments.json:
        print_json(document)
    elif not arguments.quiet:
        _tell(document)
    return 0


def _carried() -> dict[Path, Path]:
    """The package's files that an SDK consists of, by their places below its prefix."""
    files = {path.relative_to(_sdk.FILES): path for path in sorted(_sdk.FILES.rglob("*")) if path.is_file()}
    if not files:
        raise CommandError(
            "this pydoca was built without the C API: install a wheel, or build it with its CMakeLists.txt"
        )
    return files | {Path("share/doc/pydoca/licenses", path.name): path for path in _licences()}


def _licences() -> Iterator[Path]:
    """The licences of pydoca, and of what is compiled into the library."""
    package = distribution("pydoca")
    return (Path(str(package.locate_file(file))) for file in package.files or [] if "licenses" in file.parts)


def _require_own(prefix: Path) -> None:
    """Raises CommandError where another DOCA is: its files would be mixed with these, or replaced."""
    others = sorted(path.name for path in (prefix / "include").glob("doca_*.h"))
    if others and not (prefix / _RECORD).exists():
        raise CommandError(
            f"{prefix} has an include/{others[0]} that this command did not write: choose another --prefix"
        )


def _write(prefix: Path, side: str, files: dict[Path, Path], terminal: Terminal) -> int:
    """Writes the files, and removes those of an earlier SDK. Returns the number of bytes."""
    links = {path.with_name("libpydoca.so"): path.name for path in files if path.name.startswith("libpydoca.so.")}
    old = _recorded(prefix)
    # The record comes first: what an interrupted command has written is known to the next one.
    now = [path.as_posix() for path in (*files, *links)]
    _replace(prefix / _RECORD, _record_of(side, sorted({*old, *now})))
    total = sum(source.stat().st_size for source in files.values())
    written = 0
    for path, source in files.items():
        data = _of_side(source, side)
        _replace(prefix / path, data)
        written += len(data)
        terminal.progress(min(written, total), total)
    for path, target in links.items():
        _link(prefix / path, target)
    for path in map(prefix.joinpath, {*old} - {*now}):
        if path.is_file() or path.is_symlink():
            path.unlink()
    _replace(prefix / _RECORD, _record_of(side, sorted(now)))
    return written


def _of_side(source: Path, side: str) -> bytes:
    """The file of that side. Raises CommandError where the package's file is not one of the host's."""
    data = source.read_bytes()
    for text in (text for pattern, text in _TEXTS.items() if source.match(pattern)):
        before, after = (text.format(side=each, upper=each.upper()).encode() for each in ("host", side))
        if data.count(before) != 1:
            raise CommandError(f"{source} does not say its side: install pydoca again")
        data = data.replace(before, after)
    return data


def _replace(path: Path, data: bytes) -> None:
    """Writes the file beside the old one, which a program may have mapped, and puts it in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _link(path: Path, target: str) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.symlink_to(target)
    new.replace(path)


def _record_of(side: str, files: list[str]) -> bytes:
    return json.dumps({"version": pydoca.__version__, "side": side, "files": files}, indent=1).encode() + b"\n"


def _recorded(prefix: Path) -> list[str]:
    """The files of an earlier SDK. Names that lead out of the prefix are left alone."""
    try:
        names = json.loads((prefix / _RECORD).read_bytes())["files"]
        return [str(name) for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts]
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return []


def _places(prefix: Path) -> dict[str, Any]:
    return {"pkg_config_path": str(prefix / "lib/pkgconfig"), "cmake_prefix_path": str(prefix)}


def _tell(document: dict[str, Any]) -> None:
    for line in _lines(document):
        print(line)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    counts = {"headers": "include/*", "descriptions for pkg-config": "*.pc"}
    parts = [f"{len(fnmatch.filter(document['files'], pattern))} {what}" for what, pattern in counts.items()]
    yield f"{document['prefix']}: the {document['side']}'s SDK: {', '.join(parts)}, {document['bytes'] / 1e6:.1f} MB"
    yield f"export PKG_CONFIG_PATH={shlex.quote(document['pkg_config_path'])}"
