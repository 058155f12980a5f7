"""The directory of a run as bytes, on its way from the worker: compressed, and bounded at both ends."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath

MOST_PACKED = 48 << 20  # bytes that travel
MOST_UNPACKED = 512 << 20
_FIRST = ("state.json", "run.json", "machine.json", "results.jsonl", "junit.xml", "report.html")
_LAST = (".csv",)  # a table of samples that stand in the .npz beside it, too
_MADE_ANEW = "SHA256SUMS"


class ArchiveError(ValueError):
    """The bytes are not those of a run."""


def pack(folder: Path, *, most: int = MOST_PACKED, most_unpacked: int = MOST_UNPACKED) -> tuple[bytes, list[str]]:
    """The bytes, and the files that found no room: what is needed most goes first."""
    packed, left_out, unpacked = io.BytesIO(), [], 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sorted((each for each in folder.rglob("*") if each.is_file()), key=_need):
            name, data = path.relative_to(folder).as_posix(), _compressed_size(path)
            if name == _MADE_ANEW:
                continue
            if packed.tell() + data > most or unpacked + path.stat().st_size > most_unpacked:
                left_out.append(name)
                continue
            unpacked += path.stat().st_size
            archive.write(path, name)
    return packed.getvalue(), left_out


def _need(path: Path) -> tuple[int, str]:
    rank = _FIRST.index(path.name) if path.name in _FIRST else len(_FIRST) + (path.suffix in _LAST)
    return rank, path.as_posix()


def _compressed_size(path: Path) -> int:
    """At most: deflate adds little to what it cannot compress. A file that is small is not worth a look."""
    size = path.stat().st_size
    if size < 1 << 20:
        return size + 1024
    probe = io.BytesIO()
    with zipfile.ZipFile(probe, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.write(path, path.name)
    return len(probe.getvalue())


def unpack(data: bytes, folder: Path, *, most: int = MOST_UNPACKED) -> None:
    """Unpacks into the folder, which is made. Raises ArchiveError for bytes that a run's directory does not give."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(each.file_size for each in members) > most:
                raise ArchiveError(f"the run's directory is larger than {most >> 20} MiB")
            folder.mkdir(parents=True)
            for each in members:
                _write(archive, each, folder)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ArchiveError(f"the run's directory arrived damaged: {error}") from None


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Files below the folder only; of a file that says less than it has, zipfile reads no more than it says."""
    name = PurePosixPath(member.filename)
    if name.is_absolute() or ".." in name.parts or not name.parts or "\\" in member.filename:
        raise ArchiveError(f"a file of the run's directory is called {member.filename!r}")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source:
        target.write_bytes(source.read(member.file_size))
