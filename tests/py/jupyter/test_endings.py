"""A kernel ends with an engine open, tasks in flight and a process of the DPU running: nothing of it is left."""

import os
import time

import pytest

from kernel import COPY, SETUP, processes, require_no_process

BUSY = """
task = held()
mmap = host.mmap(pydoca.alloc(1 << 20), access="pci_read_only")
blob = mmap.export_pci()
waiting = asyncio.ensure_future(task)
server = comch.Server(pe, dpu, rep, "busy")
server.start()
"""
PROCESS = """
%%pydoca dpu --name worker --background
import time, pydoca
device = pydoca.open_device("03:00.0")
print("up")
time.sleep(1000)
"""


def busy(kernel) -> set[int]:
    """Gives the kernel work; returns its processes other than itself."""
    for cell in ("%load_ext pydoca\n" + SETUP, BUSY):
        ran = kernel.run(cell)
        assert ran.error == "", ran.traceback
    started = kernel.run(PROCESS.strip())
    kernel.wait_until(lambda: "up" in started.text, started)
    others = processes(kernel.fabric) - {kernel.pid}
    assert len(others) == 1
    return others


def has_files(pid: int) -> bool:
    """A process that has given its memory back no longer shows its files to its own user."""
    try:
        return bool(os.listdir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, PermissionError):
        return False


def require_end(pids: set[int]) -> None:
    end = time.monotonic() + 20
    while any(has_files(pid) for pid in pids):
        assert time.monotonic() < end, f"one of {pids} goes on"
        time.sleep(0.01)


@pytest.mark.parametrize("now", [False, True], ids=["in-order", "at-once"])
def test_a_restart_ends_all_and_the_kernel_is_usable(kernel, now):
    before = busy(kernel) | {kernel.pid}
    kernel.restart(now=now)
    require_end(before - {kernel.pid})
    assert processes(kernel.fabric) == {kernel.pid}
    for cell in (SETUP, BUSY):  # the names and addresses are free
        ran = kernel.run(cell)
        assert ran.error == "", ran.traceback
    assert kernel.run("dma.flush_tasks(); await task; bytes(target)").value == "b'Hello'"


def test_a_kernel_that_is_killed_leaves_no_process(kernel):
    busy(kernel)
    kernel.kill()
    require_no_process(kernel.fabric)
    kernel.restart(now=True)
    assert kernel.run("import pydoca; len(pydoca.devices())").value == "9"


def test_a_restart_during_a_blocking_call(kernel):
    kernel.run("%load_ext pydoca\n" + SETUP)
    cell = kernel.send("print('up')\nheld().wait()")
    kernel.wait_until(lambda: "up" in cell.text, cell)
    before = {kernel.pid}
    kernel.restart(now=True)
    require_end(before - {kernel.pid})
    assert kernel.run(SETUP + COPY).value == "b'Hello'"
