"""The reports of benchmarks/, and what each needs to run."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

DEVICES = Path("/sys/class/infiniband")


@dataclass(frozen=True)
class Report:
    name: str  # the name of its program: a file of the preset `bench`, or with .py one of benchmarks/
    title: str  # the title of its figures, on the documentation's page
    needs: str = ""  # a program that must be installed
    needs_device: bool = False  # an RDMA device: its own, or that of a guest
    boots_guest: bool = False  # whether it boots a guest where there is no device
    program: str = ""  # the program of the preset that the report runs
    keeps_repetitions: bool = False  # its own number is part of what it measures


REPORTS = (
    Report("report", "DMA"),
    Report("buf_report", "Bufs"),
    Report("sync_event_report", "Sync events"),
    Report("rdma_report", "RDMA"),
    Report("graph_report", "Graphs"),
    Report("workq_report", "Work queues"),
    Report("sha_report", "SHA"),
    Report("compress_report", "Compression"),
    Report("c_report", "Programs in C"),
    Report("timing_report", "Timing models", keeps_repetitions=True),
    Report("trace_report", "Traces"),
    Report("virtual_time_report", "Virtual time"),
    Report("awaits.py", "Awaits that need not wait"),
    Report("gather.py", "Awaits of several tasks", keeps_repetitions=True),
    Report("graph.py", "Awaited graphs"),
    Report("sync_event.py", "Sync events between Python processes", program="sync_event_report"),
    Report("comch.py", "Messages between Python processes"),
    Report("rdma.py", "Awaited RDMA", program="rdma_report"),
    Report("fairness.py", "Round trips beside a load"),
    Report("bad_peers.py", "Beside stopped and hostile peers"),
    Report("killed_peer.py", "Beside a killed peer", keeps_repetitions=True),
    Report("many_cards.py", "A topology of thousands of cards", keeps_repetitions=True),
    Report("import_time.py", "The import of the package"),
    Report("instructions.py", "Instructions of one operation", needs="valgrind", keeps_repetitions=True),
    Report(
        "c_instructions.py",
        "Instructions of a call in C",
        needs="valgrind",
        program="c_report",
        keeps_repetitions=True,
    ),
    Report(
        "rdma_instructions.py",
        "Instructions of an RDMA write on rdma-core",
        needs="valgrind",
        needs_device=True,
        boots_guest=True,
        program="rdma_write_path",
        keeps_repetitions=True,
    ),
    Report(
        "rdma_perftest.py",
        "RDMA on a device, beside perftest",
        needs="ib_write_bw",
        needs_device=True,
        program="rdma_exchange",
    ),
    Report("rdma_pyverbs.py", "Awaited RDMA on a device, beside pyverbs", needs_device=True),
)
BY_NAME = {report.name: report for report in REPORTS}


def find_device() -> str | None:
    return min((path.name for path in DEVICES.iterdir()), default=None) if DEVICES.is_dir() else None


def obstacle(report: Report, device: str | None, programs: Path) -> str | None:
    """Why the report cannot run here."""
    if report.needs_device and device is None:
        if not report.boots_guest:
            return "this machine has no RDMA device"
        if shutil.which("qemu-system-x86_64") is None or not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return "this machine has no RDMA device, nor QEMU with KVM for a guest that has one"
    if report.needs and shutil.which(report.needs) is None:
        return f"{report.needs} is not installed"
    program = report.program if report.name.endswith(".py") else report.name
    if program and not (programs / program).exists():
        return f"{program} was not built: a library that it links is not installed"
    return None
