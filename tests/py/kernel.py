"""A Jupyter kernel that runs cells and collects what they show; late output goes to the cell that it belongs to."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager

START = 60.0  # seconds in which a kernel must answer; bounds against hangs
CELL = 100.0

# The objects that the tests' cells use.
SETUP = """
import asyncio, os, pydoca
from pydoca import comch, sim
dpu = pydoca.open_device("03:00.0", side="dpu")
host = pydoca.open_device("0b:00.0", side="host")
rep = dpu.open_representor("0b:00.0")
target, inv = pydoca.alloc(5), pydoca.BufInventory(8)
pe = pydoca.ProgressEngine()
dma = pydoca.Dma(pe, dpu)
dma.start()
src, dst = dpu.mmap(b"Hello"), dpu.mmap(target)
def copy(**options):
    target[:] = bytes(5)
    return dma.memcpy(inv.get_by_data(src), inv.get_by_addr(dst), **options)
def held():
    task = copy(submit=False)
    task.submit(pydoca.SubmitFlags.NONE)
    return task
"""
COPY = "await copy(); bytes(target)"


def environment(directory: Path, fabric: str) -> dict[str, str]:
    """The environment of a kernel that keeps its files in the directory; PYDOCA_FABRIC in /proc marks its processes."""
    runtime = directory / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    own = {
        "IPYTHONDIR": str(directory / "ipython"),
        "JUPYTER_NO_CONFIG": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # the debugger would warn: Python's own modules are frozen
        "PYDOCA_BACKEND": "sim",
        "PYDOCA_FABRIC": fabric,
        "XDG_RUNTIME_DIR": str(runtime),
    }
    others = {name: value for name, value in os.environ.items() if name not in ("PYDOCA_SIDE", "PYDOCA_TOPOLOGY")}
    return {**others, **own}


def processes(fabric: str) -> set[int]:
    """The live processes of a fabric, by their environment: a kernel, and what it has started."""
    mark, found = f"PYDOCA_FABRIC={fabric}".encode(), set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it ended just now, or belongs to another user
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def require_no_process(fabric: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while left := processes(fabric):
        assert time.monotonic() < end, f"processes of the kernel are left: {left}"
        time.sleep(0.01)


def files_left(directory: Path, fabric: str) -> list[Path]:
    """The files that the next process of the fabric does not remove; that process sweeps a killed kernel's files."""
    program = "import pydoca; pydoca.open_device('0b:00.0').mmap(bytearray(8), access='pci_read_only').export_pci()"
    subprocess.run([sys.executable, "-P", "-c", program], env=environment(directory, fabric), check=True, timeout=60)
    locks = directory / "run/pydoca-qualify"  # the locks of devices under test are files that stay
    found = [path for path in (directory / "run").rglob("*") if path.name != "pydoca"]
    return [path for path in found if locks not in (path, path.parent)]


@dataclass
class Cell:
    """A cell that was sent, with what it has shown so far, in the form of a notebook's outputs."""

    outputs: list[Any] = field(default_factory=list)
    reply: dict[str, Any] | None = None
    idle: bool = False
    clear_next: bool = False

    @property
    def done(self) -> bool:
        return self.idle and self.reply is not None

    @property
    def text(self) -> str:
        """The text that it wrote to its streams."""
        return "".join(output.text for output in self.outputs if output.output_type == "stream")

    @property
    def value(self) -> str:
        """Its result, as text."""
        return "".join(
            output.data.get("text/plain", "") for output in self.outputs if output.output_type == "execute_result"
        )

    @property
    def error(self) -> str:
        """The name of the exception that ended the cell; empty if there was none."""
        return str((self.reply or {}).get("ename", ""))

    @property
    def message(self) -> str:
        return str((self.reply or {}).get("evalue", ""))

    @property
    def traceback(self) -> str:
        return "\n".join((self.reply or {}).get("traceback", ()))

    def take(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "status":
            self.idle = content["execution_state"] == "idle"
        elif kind == "clear_output":
            self.clear_next = bool(content["wait"])
            if not self.clear_next:
                self.outputs.clear()
        elif kind in ("stream", "display_data", "execute_result", "error"):
            self._show(nbformat.v4.output_from_msg(message))

    def _show(self, output: Any) -> None:
        if self.clear_next:
            self.outputs.clear()
            self.clear_next = False
        last = self.outputs[-1] if self.outputs else None
        if last is not None and last.output_type == output.output_type == "stream" and last.name == output.name:
            last.text += output.text
        else:
            self.outputs.append(output)


class Kernel:
    """A Jupyter kernel. An unattended one executes cells as nbconvert does.

    No cell of an unattended kernel may ask for input, and messages count only while their cell runs.
    """

    def __init__(self, directory: Path, fabric: str, folder: Path | None = None, *, unattended: bool = False) -> None:
        self.fabric = fabric
        self._unattended = unattended
        # Sockets in a directory: ports could be taken by other kernels that start at this time. Their paths are short.
        self._sockets = tempfile.TemporaryDirectory(prefix="pydoca-")
        self._manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/kernel")
        self._manager.connection_file = f"{self._sockets.name}/kernel.json"
        # ipykernel's own end sometimes waits for its output, until the process is killed.
        self._manager.shutdown_wait_time = 2.0
        self._options = {
            "env": environment(directory, fabric),
            "cwd": str(folder or directory),
            "extra_arguments": ["--HistoryManager.enabled=False"],
        }
        self._cells: dict[str, Cell] = {}
        self._displays: dict[str, list[Any]] = {}

    def __enter__(self) -> "Kernel":
        self._manager.start_kernel(**self._options)
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=not self._manager.is_alive())
        self._manager.cleanup_resources()
        self._sockets.cleanup()

    def _connect(self) -> None:
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START)

    @property
    def pid(self) -> int:
        return int(self._manager.provisioner.pid)  # type: ignore[union-attr, attr-defined]

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def kill(self) -> None:
        """Kills the kernel, as an operating system without free memory does: the kernel cannot clean up."""
        os.kill(self.pid, signal.SIGKILL)
        self._client.stop_channels()

    def restart(self, now: bool = False) -> None:
        """Restarts the kernel as JupyterLab does; now means that the kernel has no time to end."""
        self._client.stop_channels()
        self._manager.restart_kernel(now=now)
        self._connect()

    def send(self, source: str) -> Cell:
        cell = Cell()
        if self._unattended:
            self._cells.clear()
        self._cells[self._client.execute(source, allow_stdin=not self._unattended)] = cell
        return cell

    def run(self, source: str, timeout: float = CELL) -> Cell:
        return self.finish(self.send(source), timeout)

    def complete(self, source: str) -> list[str]:
        """What the Tab key offers at the end of the source: the lines that it may become."""
        content = self._client.complete(source, reply=True, timeout=CELL)["content"]
        kept = source[: content["cursor_start"]].rpartition("\n")[2]
        return [kept + match for match in content["matches"]]

    def finish(self, cell: Cell, timeout: float = CELL) -> Cell:
        return self.wait_until(lambda: cell.done, cell, timeout)

    def run_for(self, seconds: float) -> None:
        """Lets the kernel run on in a cell."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._take(0.01)

    def wait_until(self, condition: Callable[[], object], cell: Cell, timeout: float = CELL) -> Cell:
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"a cell has not come so far in {timeout:g} s; it has shown: {cell.text!r}")
            self._take(0.1)
        return cell

    def _take(self, timeout: float) -> None:
        """Takes one message that the kernel shows; the answer to the cell comes on another channel."""
        try:
            message = self._client.get_iopub_msg(timeout=timeout)
        except Empty:
            message = None
        if message is not None and (cell := self._cell_of(message)) is not None:
            if not self._update_display(message, cell):
                cell.take(message)
            if not cell.idle:
                return
        while True:
            try:
                reply = self._client.get_shell_msg(timeout=0)
            except Empty:
                return
            if (cell := self._cell_of(reply)) is not None:
                cell.reply = reply["content"]

    def _cell_of(self, message: dict[str, Any]) -> Cell | None:
        return self._cells.get(message["parent_header"].get("msg_id", ""))

    def _update_display(self, message: dict[str, Any], cell: Cell) -> bool:
        """Replaces an object that was shown under an identifier, or keeps a new one; tells if the message has one."""
        identifier = message["content"].get("transient", {}).get("display_id")
        if identifier is None:
            return False
        if message["msg_type"] == "update_display_data":
            for output in self._displays.get(identifier, ()):
                output.data = nbformat.from_dict(message["content"]["data"])
            return True
        cell.take(message)
        self._displays.setdefault(identifier, []).append(cell.outputs[-1])
        return True
