"""Files that survive a power cut whole: each has the old content or the new one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def replace_file(path: Path, content: str | bytes) -> None:
    """Writes the content to disk under another name first."""
    data = _encoded(content) if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def write_from(path: Path, offset: int, text: str) -> int:
    """Replaces what follows the offset, and returns the size of the file once all of it is on disk."""
    with path.open("r+b") as file:
        file.truncate(offset)
        file.seek(offset)
        file.write(_encoded(text))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _encoded(text: str) -> bytes:
    r"""The text in UTF-8. Other bytes arrive as surrogates: the file has \udcff for one, which JSON reads back."""
    return text.encode(errors="backslashreplace")


def sync_folder(folder: Path) -> None:
    """Writes a folder to disk, which makes the names of its files durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_checksums(folder: Path) -> None:
    """SHA256SUMS of every other file, as sha256sum --check reads it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    lines = (f"{_sha256(path)}  {path.relative_to(folder)}\n" for path in files)
    replace_file(folder / "SHA256SUMS", "".join(lines))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
