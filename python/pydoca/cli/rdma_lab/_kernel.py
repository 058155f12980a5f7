"""The guest's kernel: a package of Debian or Ubuntu, downloaded once and unpacked, never installed."""

from __future__ import annotations

import fcntl
import gzip
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydoca.cli.rdma_lab import _tools
from pydoca.cli.rdma_lab._errors import LabError

# crc32_generic: without crc32, rdma_rxe makes no device, and it does not load that module; newer kernels have it built
# in.
_MODULES = (
    *("crc32_generic", "virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay"),
    *("dummy", "veth", "rdma_rxe", "ib_uverbs", "rdma_ucm"),
)
_OPTIONAL = {"crc32_generic"}
_META_PACKAGES = {"debian": "linux-image-amd64", "ubuntu": "linux-image-generic"}
# Up to Debian 13 the first has all; Debian 14 has the first four; Ubuntu keeps the modules apart, rdma_rxe in the last.
_PACKAGE_PARTS = ("image", "binary", "base", "modules", "modules-extra")
_PARTIAL = ".partial-"
# Offsets in an image, by the boot protocol of x86.
_SETUP_SECTORS, _PAYLOAD = 0x1F1, 0x248


@dataclass(frozen=True)
class Kernel:
    release: str
    image: Path
    modules: list[Path]  # listed in the order in which they are loaded


def get(tell: Callable[[str], None]) -> Kernel:
    """The newest kernel of the cache; if the cache is empty, downloads the one that apt knows.

    A cached kernel stays until the user removes it: so guests do not change from day to day, and need no network.
    """
    directory = _cache_directory()
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        kernels = sorted(directory.glob(f"*.{_modules_digest()}"), key=lambda path: path.stat().st_mtime)
        path = kernels[-1] if kernels else _download(directory, tell)
    return Kernel(path.name.rpartition(".")[0], path / "vmlinux", sorted(path.glob("*.ko")))


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "pydoca" / "rdma-lab"


def _modules_digest() -> str:
    """Part of a cached kernel's name, because the cache holds these modules only."""
    return f"{zlib.crc32(' '.join(_MODULES).encode()):08x}"


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lets one process at a time in, and removes the unfinished downloads of others."""
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in directory.glob(f"{_PARTIAL}*"):
            shutil.rmtree(left)
        yield


def _download(directory: Path, tell: Callable[[str], None]) -> Path:
    release = _newest_release()
    work = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=directory))
    try:
        tell(f"downloading Linux {release} for the RDMA lab, once")
        _run("apt-get", "download", *_packages(release), cwd=work)
        for package in work.glob("*.deb"):
            _run("dpkg-deb", "-x", str(package), str(work / "root"))
        ready = work / "ready"
        ready.mkdir()
        (ready / "vmlinux").write_bytes(_unpack(_image(work / "root", release).read_bytes()))
        _copy_modules(work / "root", release, ready)
        return ready.rename(directory / f"{release}.{_modules_digest()}")
    finally:
        shutil.rmtree(work)


def _newest_release() -> str:
    meta = _META_PACKAGES[_tools.distribution()]
    match = re.search(r"Depends: linux-image-(\d\S*)", _run("apt-cache", "depends", meta))
    if match is None:
        raise LabError(f"apt does not know the package {meta}: run apt-get update")
    return match[1]


def _packages(release: str) -> list[str]:
    parts = "|".join(_PACKAGE_PARTS)
    known = _run("apt-cache", "--names-only", "search", f"^linux-({parts})-{re.escape(release)}$")
    names = [f"linux-{part}-{release}" for part in _PACKAGE_PARTS]
    return [name for name in names if f"{name} - " in known]


def _image(root: Path, release: str) -> Path:
    """The kernel's image; Debian 14 and later have it beside the modules, as systemd expects."""
    places = [root / "boot" / f"vmlinuz-{release}", root / "usr" / "lib" / "modules" / release / "vmlinuz"]
    for place in places:
        if place.exists():
            return place
    raise LabError(f"the packages of Linux {release} have no kernel in any of {', '.join(map(str, places))}")


def _copy_modules(root: Path, release: str, target: Path) -> None:
    if not (root / "lib").exists():  # modprobe and depmod look there
        (root / "lib").symlink_to("usr/lib")
    _run("depmod", "-b", str(root), release)
    files: dict[Path, None] = {}
    for module in _MODULES:
        files |= dict.fromkeys(_files_of(root, release, module))
    for number, file in enumerate(files):
        name = file.name.partition(".")[0]
        (target / f"{number:02}-{name}.ko").write_bytes(_expand(file.read_bytes()))


def _files_of(root: Path, release: str, module: str) -> list[Path]:
    """The files that the module needs, and then its own; empty if the kernel has it built in."""
    try:
        text = _run("modprobe", "-d", str(root), "-S", release, "--show-depends", module)
    except LabError:
        if module in _OPTIONAL:
            return []
        raise
    return [Path(line.split()[1]) for line in text.splitlines() if line.startswith("insmod ")]


def _unpack(image: bytes) -> bytes:
    """The kernel in a bootable image, unpacked because an emulated CPU would take seconds for that at each boot."""
    sectors = image[_SETUP_SECTORS]
    offset, size = struct.unpack_from("<II", image, _PAYLOAD)
    begin = (sectors + 1) * 512 + offset
    return _expand(image[begin : begin + size - 4])  # the payload ends with its length, 4 bytes


def _expand(data: bytes) -> bytes:
    """Decompresses data in any format that distributions use; returns other data as it is."""
    if data.startswith(b"\xfd7zXZ"):
        return lzma.decompress(data)
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run([_tools.find("zstd"), "-dcq"], check=True, input=data, stdout=subprocess.PIPE).stdout
    return data


def _run(*command: str, cwd: Path | None = None) -> str:
    """Returns what the command prints; raises LabError with its last message when it fails."""
    line = [_tools.find(command[0]), *command[1:]]
    environment = {**os.environ, "LC_ALL": "C"}
    run = subprocess.run(line, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
        raise LabError(f"{' '.join(command[:2])} failed: {lines[-1]}")
    return run.stdout
