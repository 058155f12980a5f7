"""The archive that the guest's kernel starts from: busybox, modules, and the script that is its first process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydoca.cli.rdma_lab import _tools

_DIRECTORIES = ("bin", "dev", "layers", "lower", "modules", "proc", "root", "sys")
_DIRECTORY, _FILE = 0o040755, 0o100755
_END = "TRAILER!!!"


def build(modules: list[Path], job: bytes) -> bytes:
    """The archive in cpio's format newc, the only one that the kernel reads."""
    return b"".join(_entries(modules, job))


def _entries(modules: list[Path], job: bytes) -> Iterator[bytes]:
    for name in _DIRECTORIES:
        yield _entry(name, _DIRECTORY)
    yield _entry("bin/busybox", _FILE, Path(_tools.find("busybox")).read_bytes())
    yield _entry("init", _FILE, Path(__file__).with_name("init.sh").read_bytes())
    yield _entry("job.sh", _FILE, job)
    for module in modules:
        yield _entry(f"modules/{module.name}", _FILE, module.read_bytes())
    yield _entry(_END, 0)


def _entry(name: str, mode: int, data: bytes = b"") -> bytes:
    path = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
