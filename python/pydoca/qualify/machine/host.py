"""Facts of the host: processor, memory, kernel, firmware."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydoca.qualify.figures import plural
from pydoca.qualify.machine.facts import Absent, content, folder, same


def _cpu_model(root: Path) -> str:
    text = (root / "proc/cpuinfo").read_text(errors="replace")
    for key in ("model name", "Model", "CPU part"):
        if found := re.search(rf"^{key}\s*:\s*(.+)$", text, re.MULTILINE):
            return found[1].strip()
    raise Absent("/proc/cpuinfo names no model")


def _governor(root: Path) -> str:
    files = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not files:
        raise Absent("the kernel does not scale this processor's clock")
    return same([content(file) for file in files])


def _numa_nodes(root: Path) -> int:
    nodes = list((root / "sys/devices/system/node").glob("node[0-9]*"))
    if not nodes:
        raise Absent("the kernel knows no NUMA nodes")
    return len(nodes)


def _memory(root: Path) -> str:
    text = (root / "proc/meminfo").read_text()
    found = re.search(r"^MemTotal:\s+(\d+) kB", text, re.MULTILINE)
    if not found:
        raise Absent("/proc/meminfo has no MemTotal")
    return f"{int(found[1]) / 2**20:.1f} GiB"


def _hugepages(root: Path) -> str:
    sizes = folder(root / "sys/kernel/mm/hugepages")
    counts = [f"{content(size / 'nr_hugepages')} x {size.name.removeprefix('hugepages-')}" for size in sizes]
    return ", ".join(counts)


def _iommu(root: Path) -> str:
    groups = root / "sys/kernel/iommu_groups"
    if not groups.is_dir() or not (found := list(groups.iterdir())):
        raise Absent("off: the kernel has no IOMMU groups")
    kinds = [content(group / "type") for group in found if (group / "type").exists()]
    return plural(len(found), "group") + (f", {same(kinds)}" if kinds else "")


def _bios(root: Path) -> str:
    folder_ = root / "sys/class/dmi/id"
    return f"{content(folder_ / 'bios_vendor')} {content(folder_ / 'bios_version')}"


# Parameters that can change what a device does; the others may say what a report should not, such as a disk's name.
_TOLD = re.compile(
    r"(?:(?:amd_|intel_)?iommu|(?:default_)?hugepages(?:z)?|transparent_hugepage|isolcpus|nohz_full|rcu_nocbs|nosmt|idle"
    r"|mitigations|pci|pcie_\w+|processor\.\w+|intel_idle\.\w+|intel_pstate|amd_pstate|mlx5_core\.\w+)(?:=\S*)?"
)


def _command_line(root: Path) -> str:
    words = content(root / "proc/cmdline").split()
    told = [word for word in words if _TOLD.fullmatch(word)]
    return " ".join([*told, f"({plural(len(words) - len(told), 'other')})"])


HOST: dict[str, Callable[[Path], Any]] = {
    "hostname": lambda root: socket.gethostname(),
    "cpu.model": _cpu_model,
    "cpu.count": lambda root: os.cpu_count(),
    "cpu.usable": lambda root: len(os.sched_getaffinity(0)),
    "cpu.governor": _governor,
    "cpu.load": lambda root: content(root / "proc/loadavg"),
    "numa.nodes": _numa_nodes,
    "memory.total": _memory,
    "memory.hugepages": _hugepages,
    "memory.transparent_hugepages": lambda root: content(root / "sys/kernel/mm/transparent_hugepage/enabled"),
    "iommu": _iommu,
    "kernel.release": lambda root: platform.release(),
    "kernel.command_line": _command_line,
    "kernel.tainted": lambda root: int(content(root / "proc/sys/kernel/tainted")),
    "bios": _bios,
    "board": lambda root: content(root / "sys/class/dmi/id/product_name"),
    "os": lambda root: platform.freedesktop_os_release()["PRETTY_NAME"],
}
