"""One guest for one command: QEMU's command line, its output, and its end."""

from __future__ import annotations

import math
import os
import re
import selectors
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydoca.cli.rdma_lab import _initramfs, _kernel, _tools
from pydoca.cli.rdma_lab._errors import TIMED_OUT, LabError

# Lines of the console that say why a guest ended before its command; without any, the last lines are shown.
_TELLING = re.compile(r"^rdma-lab: |Kernel panic|^qemu-system-x86_64: |^insmod: ")
_CONSOLE_LINES = 6
# Seconds until the command of a guest must run, of one guest after another: QEMU's emulation hangs now and then, at the
# first instructions of the kernel.
_PATIENCE = (60.0, 120.0, math.inf)
# The interpreter notices a signal that comes just before select() begins only after it: seconds.
_LONGEST_WAIT = 0.1
# This guest needs no defence against attacks, and mitigations are expensive under emulation. Its time stamp counter is
# the machine's; Linux would not trust it. Its timer works, and Linux's check of it fails where the machine is so busy
# that the guest gets no time meanwhile ("IO-APIC + timer doesn't work!").
_KERNEL_ARGUMENTS = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check"


@dataclass(frozen=True)
class Job:
    """A command, its directory and environment, and the guest for it."""

    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    pair: bool = False  # rxe0 and rxe1, each at one end of a cable, instead of rxe0 alone
    results: Path | None = None  # a directory of this machine that the command can write to
    memory: int = 2048  # MiB
    cpus: int = 2
    timeout: float = 600.0  # seconds, from the start of the guest
    accel: str = "auto"


@dataclass(frozen=True)
class Outcome:
    status: int  # the exit code of the command, as a shell reports it
    accel: str
    kernel: str
    boot_seconds: float
    seconds: float


def run(
    job: Job,
    out: Callable[[bytes], None],
    err: Callable[[bytes], None],
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Runs the job in a new guest. When this returns or raises, the guest has ended and has left nothing.

    out and err take what the command writes; tell takes the name of the step under way ("" once the command runs).
    Raises LabError where the guest cannot boot, ends without a status, or takes longer than it may.
    """
    _tools.require()
    _tools.require_command(job.command[0], job.directory, job.environment.get("PATH", os.defpath))
    kernel = _kernel.get(tell)
    accel = ("kvm" if _tools.can_use_kvm() else "tcg") if job.accel == "auto" else job.accel
    tell("booting the RDMA lab")
    begin = time.monotonic()
    for patience in _PATIENCE:
        with _Guest(job, kernel, accel) as guest:
            report = _Report(tell)
            if not guest.relay([out, err, report.take], begin + job.timeout, report.has_begun, patience):
                continue
            if report.status is None:
                raise LabError(guest.last_words())
            return Outcome(report.status, accel, kernel.release, report.boot_seconds, report.elapsed())
    raise AssertionError("the last guest has no limit")


class _Report:
    """The reports of the guest's first process about the command."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.status: int | None = None
        self.boot_seconds = 0.0
        self._tell = tell
        self._begin = time.monotonic()
        self._text = b""

    def has_begun(self) -> bool:
        return self.boot_seconds != 0.0

    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    def take(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"running":
                self.boot_seconds = self.elapsed()
                self._tell("")
            elif word == b"exit":
                self.status = int(value)


class _Guest:
    def __init__(self, job: Job, kernel: _kernel.Kernel, accel: str) -> None:
        self._timeout = job.timeout
        self._console: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        pipes = [os.pipe() for _ in range(3)]
        self._read_ends = [read for read, _ in pipes]
        with open(os.memfd_create("initramfs"), "wb") as initramfs:
            initramfs.write(_initramfs.build(kernel.modules, _script(job, accel)))
            initramfs.flush()
            self._process = self._start(job, kernel, accel, initramfs.fileno(), [write for _, write in pipes])

    def _start(
        self, job: Job, kernel: _kernel.Kernel, accel: str, initramfs: int, write_ends: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                _command_line(job, kernel, accel, initramfs, write_ends),
                stdin=subprocess.DEVNULL,
                stdout=self._console,
                stderr=self._console,
                pass_fds=[initramfs, *write_ends],
                start_new_session=True,  # a Ctrl-C reaches this process only, which ends the guest at once
            )
        finally:
            for descriptor in write_ends:
                os.close(descriptor)

    def __enter__(self) -> _Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for descriptor in self._read_ends:
            os.close(descriptor)
        self._console.close()

    def relay(
        self, sinks: Sequence[Callable[[bytes], None]], end: float, has_begun: Callable[[], bool], patience: float
    ) -> bool:
        """Passes the output of each pipe to its sink, until QEMU ends and closes the pipes.

        False: has_begun() was not true after patience, in seconds, and nothing can have come.
        """
        begin = time.monotonic()
        with selectors.DefaultSelector() as selector:
            for descriptor, sink in zip(self._read_ends, sinks, strict=True):
                selector.register(descriptor, selectors.EVENT_READ, sink)
            while selector.get_map():
                now = time.monotonic()
                if now >= end:
                    raise LabError(f"the RDMA lab was ended after {self._timeout:g} seconds (--timeout)", TIMED_OUT)
                if now - begin >= patience and not has_begun():
                    return False
                for key, _ in selector.select(min(_LONGEST_WAIT, end - now)):
                    if data := os.read(key.fd, 1 << 16):
                        key.data(data)
                    else:
                        selector.unregister(key.fd)
        return True

    def last_words(self) -> str:
        self._process.wait()
        self._console.seek(0)
        lines = [line.strip() for line in self._console.read().decode(errors="replace").splitlines()]
        telling = [line for line in lines if _TELLING.search(line)] or [line for line in lines if line]
        return "the RDMA lab's guest ended by itself; its console: " + " | ".join(telling[-_CONSOLE_LINES:])


def _script(job: Job, accel: str) -> bytes:
    """The two functions of the job that init.sh calls."""
    set_up = ["add_pair" if job.pair else "add_one_device"]
    if job.results is not None:
        set_up.append(f"mount_results {shlex.quote(str(job.results))}")
    # The guest has one user, root. A program that names a folder after its user must not find that of another user.
    variables = {**job.environment, "USER": "root", "LOGNAME": "root"}
    variables |= {"XDG_RUNTIME_DIR": "/run/lab", "PYDOCA_RDMA_LAB": "1"}
    if accel == "tcg":
        variables.pop("OPENBLAS_CORETYPE", None)  # it may name this machine's CPU; the guest lacks its instructions
    assignments = [f"{name}={value}" for name, value in variables.items()]
    command = ["chroot", "/root", "/usr/bin/env", "-i", "-C", str(job.directory), *assignments, *job.command]
    lines = ["set_up() {", *set_up, "}", f"run_command() {{ {shlex.join(command)}; }}", ""]
    return os.fsencode("\n".join(lines))


def _command_line(job: Job, kernel: _kernel.Kernel, accel: str, initramfs: int, write_ends: Sequence[int]) -> list[str]:
    line = [_tools.find("setpriv"), "--pdeathsig", "KILL", _tools.find("qemu-system-x86_64")]
    line += ["-no-user-config", "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]
    line += ["-accel", "tcg,thread=multi" if accel == "tcg" else accel, "-cpu", "Nehalem" if accel == "tcg" else "max"]
    line += ["-smp", str(job.cpus), "-m", str(job.memory)]
    line += ["-kernel", str(kernel.image), "-initrd", f"/proc/self/fd/{initramfs}", "-append", _KERNEL_ARGUMENTS]
    line += ["-device", "virtio-serial-pci"]  # the first virtio device: its ports are /dev/vport0p*
    for number, descriptor in enumerate(write_ends, start=1):
        line += _port(number, descriptor)
    line += _share("root", Path("/"), "readonly=on,multidevs=remap")
    if job.results is not None:
        line += _share("results", job.results, "multidevs=remap")
    return line


def _share(tag: str, path: Path, options: str) -> Iterator[str]:
    escaped = str(path).replace(",", ",,")
    yield from ("-fsdev", f"local,id={tag},path={escaped},security_model=none,{options}")
    yield from ("-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}")


def _port(number: int, descriptor: int) -> Iterator[str]:
    yield from ("-chardev", f"file,id=port{number},path=/proc/self/fd/{descriptor},append=on")
    yield from ("-device", f"virtserialport,chardev=port{number},nr={number}")
