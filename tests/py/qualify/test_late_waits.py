"""Late waits: those that the device delays are found, and those that the machine delays are not."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pydoca
from pydoca.qualify.bench.delays import late_waits
from pydoca.qualify.bench.delays.run_delay import run_delay

BUSY = "import time; end = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@pytest.fixture
def device():
    with pydoca.open_device("p0", side="dpu") as device:
        yield device


@contextlib.contextmanager
def shared_processor(others: int) -> Iterator[None]:
    """Restricts this process to one processor, which several busy processes share."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    busy = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(others)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        for each in busy:
            each.kill()
            each.wait()


class LateEvent(pydoca.SyncEvent):
    """An event with waits that end late."""

    def wait_gt_yield(self, *args, **kwargs):
        super().wait_gt_yield(*args, **kwargs)
        time.sleep(0.02)


def test_waits_of_a_device_that_are_late_now_and_then_are_found(device, monkeypatch):
    monkeypatch.setattr(pydoca, "SyncEvent", LateEvent)
    assert late_waits.late_share(device, 20, 20) > 0.1


def test_waits_on_a_processor_that_busy_processes_share_are_not_late(device):
    """A busy process loses its processor for milliseconds; a thread that sleeps does not."""
    with shared_processor(3):
        assert late_waits.late_share(device, 10, 8) == 0


def test_a_thread_is_delayed_while_another_one_has_its_processor():
    own = threading.get_native_id()
    before = run_delay(own)
    if not before:
        pytest.skip("this kernel does not tell how long a thread was ready (CONFIG_SCHED_INFO)")
    with shared_processor(1):
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
    assert run_delay(own) > before


def test_a_thread_that_has_ended_was_not_delayed():
    (thread := threading.Thread(target=int)).start()
    thread.join()
    task = Path(f"/proc/self/task/{thread.native_id}")
    while task.exists():  # the kernel's part of a thread ends a moment after Python's
        time.sleep(0.001)
    assert run_delay(thread.native_id) == 0
