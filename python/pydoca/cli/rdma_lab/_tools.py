"""The programs that a guest needs on this machine, and the packages that bring them."""

from __future__ import annotations

import os
import platform
import shutil
import struct
from pathlib import Path

from pydoca.cli.rdma_lab._errors import NOT_FOUND, LabError

# Each program, and its package in Debian and Ubuntu.
_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "depmod": "kmod",
    "modprobe": "kmod",
    "ip": "iproute2",
    "rdma": "iproute2",
    "setpriv": "util-linux",
}
# The programs that get the kernel; zstd is needed only for a kernel that is compressed with it.
_PACKAGES = {**_PROGRAMS, "apt-cache": "apt", "apt-get": "apt", "dpkg-deb": "dpkg", "zstd": "zstd"}
# Programs that users run in a guest, by the beginning of their names.
_PACKAGES_OF_COMMANDS = {
    "ibv_": "ibverbs-utils",
    "ib_": "perftest",
    "raw_ethernet_": "perftest",
    **dict.fromkeys(("cmtime", "mckey", "rcopy", "rdma_", "riostream", "rping", "rstream"), "rdmacm-utils"),
    **dict.fromkeys(("ucmatose", "udaddy", "udpong"), "rdmacm-utils"),
}
_RXE_DRIVER = Path("/etc/libibverbs.d/rxe.driver")  # without it, programs do not see the device
_ELF_INTERPRETER = 3


def find(program: str) -> str:
    """The program's path; the directories of the administrator's programs are not on every user's PATH."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    found = shutil.which(program, path=path)
    if found is None:
        raise LabError(f"{program} is not installed: apt-get install {_PACKAGES[program]}")
    return found


def require_command(command: str, directory: Path, path: str) -> None:
    """Raises a LabError if the guest would not find the command: its files are those of this machine."""
    if not command:
        raise LabError("the command is empty; give a program and its arguments", NOT_FOUND)
    found = directory.joinpath(command).exists() if "/" in command else shutil.which(command, path=path)
    if not found:
        beginnings = (start for start in _PACKAGES_OF_COMMANDS if command.startswith(start))
        package = _PACKAGES.get(command) or _PACKAGES_OF_COMMANDS.get(next(beginnings, ""))
        remedy = f"apt-get install {package}" if package else "install it, or give its path"
        raise LabError(f"{command} is not installed: {remedy}", NOT_FOUND)


def require() -> None:
    """Raises a LabError that names all that is missing, and the command that installs it."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise LabError(f"the RDMA lab runs on Linux on x86-64, not on {platform.system()} on {platform.machine()}")
    distribution()
    missing = {program: package for program, package in _PROGRAMS.items() if not _is_there(program)}
    if not _RXE_DRIVER.exists():
        missing[str(_RXE_DRIVER)] = "ibverbs-providers"
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise LabError(f"the RDMA lab needs {', '.join(sorted(missing))}: apt-get install {packages}")


def distribution() -> str:
    """The distribution whose packages bring the guest's kernel: `ubuntu` or `debian`."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    names = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    for known in ("ubuntu", "debian"):
        if known in names:
            return known
    name = release.get("PRETTY_NAME") or release.get("NAME") or "something else"
    raise LabError(f"the RDMA lab takes its guest's kernel from a package of Debian or Ubuntu, and this is {name}")


def can_use_kvm() -> bool:
    """Whether the CPU says that it virtualises: some machines have a /dev/kvm that opens and runs nothing."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
    return not {"vmx", "svm"}.isdisjoint(flags.split())


def _is_there(program: str) -> bool:
    try:
        path = find(program)
    except LabError:
        return False
    return program != "busybox" or _is_static(Path(path))


def _is_static(program: Path) -> bool:
    """Whether this ELF file runs without libraries, as in an initramfs."""
    data = program.read_bytes()
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    types = [struct.unpack_from("<I", data, offset + size * index)[0] for index in range(count)]
    return _ELF_INTERPRETER not in types
