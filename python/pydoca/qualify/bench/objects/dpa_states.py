"""Kernels on the DPA: each thread of a launch runs once, and both sides see the events and memory of the other."""

from __future__ import annotations

from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, require_value
from pydoca.qualify.bench.zones import require_equal

_SIZE = 4096
_THREADS = 4


def launches(device: pydoca.Device, rounds: int) -> int:
    """Launches several threads, each of which runs once with its rank; returns how many threads there were."""
    ran: list[tuple[int, int]] = []

    def note(thread: pydoca.DpaThread, number: int) -> None:
        ran.append((thread.rank, number))

    with Stand() as stand, duty("kernels on the DPA"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("note", note)
        done = stand.enter_context(pydoca.SyncEvent(device, publisher=dpa, subscriber="cpu"))
        for number in range(rounds):
            ran.clear()
            dpa.launch("note", number, num_threads=_THREADS, done_event=done.dpa_handle(dpa)).wait(waiting.PATIENCE)
            if sorted(ran) != [(rank, number) for rank in range(_THREADS)]:
                raise DeviceFault(f"launch {number} of {_THREADS} threads ran as {sorted(ran)}")
            done.wait_eq_yield(number + 1, timeout=waiting.PATIENCE)
    return rounds * _THREADS


def exchanges(device: pydoca.Device, rounds: int) -> int:
    """This side sets an event, a kernel changes memory and answers with another one; returns how many rounds."""

    def answer(
        thread: pydoca.DpaThread, asked: pydoca.DpaSyncEvent, done: pydoca.DpaSyncEvent, memory: memoryview
    ) -> None:
        for number in range(rounds):
            asked.wait_gt(number, timeout=waiting.PATIENCE)
            view(memory)[:] ^= 0xFF
            done.update_add(1)

    with Stand() as stand, duty("a kernel that answers"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("answer", answer)
        asked = stand.enter_context(pydoca.SyncEvent(device, publisher="cpu", subscriber=dpa))
        done = stand.enter_context(pydoca.SyncEvent(device, publisher=dpa, subscriber="cpu"))
        memory = pydoca.alloc(_SIZE)
        mmap = stand.enter_context(device.mmap(memory))
        run = dpa.launch("answer", asked.dpa_handle(dpa), done.dpa_handle(dpa), dpa.memory(mmap))
        for number in range(rounds):
            view(memory)[:] = prbs31(_SIZE, number + 1)
            asked.update_set(number + 1)
            done.wait_eq_yield(number + 1, timeout=waiting.PATIENCE)
            require_equal(view(memory), ~prbs31(_SIZE, number + 1), f"memory that a kernel changed, round {number}")
        run.wait(waiting.PATIENCE)
        require_value(done.get(), rounds, "the answers of a kernel")
    return rounds


def operations(device: pydoca.Device) -> None:
    """A kernel reads, sets, adds to and waits for an event, and sees its own changes."""
    told: list[tuple[str, int, int]] = []

    def work(thread: pydoca.DpaThread, event: pydoca.DpaSyncEvent) -> None:
        told.append(("threads", thread.num_threads, 1))
        told.append(("value", event.get(), 0))
        event.update_set(0x1234)
        told.append(("value after it was set", event.get(), 0x1234))
        told.append(("value before an addition", event.update_add(2), 0x1234))
        told.append(("value after an addition", event.get(), 0x1236))
        for wait, value, mask in ((event.wait_eq, 0x36, 0xFF), (event.wait_gt, 0x11, 0xFF00), (event.wait_neq, 7, 15)):
            wait(value, mask, timeout=waiting.PATIENCE)
        for name, wait, value in (
            ("eq", event.wait_eq, 7),
            ("gt", event.wait_gt, 0x1236),
            ("neq", event.wait_neq, 0x1236),
        ):
            told.append((f"wait_{name} for what does not come", _ends(wait, value), 0))

    with Stand() as stand, duty("a kernel and its event"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("work", work)
        event = stand.enter_context(pydoca.SyncEvent(device, publisher=dpa, subscriber=dpa))
        dpa.launch("work", event.dpa_handle(dpa)).wait(waiting.PATIENCE)
    for what, found, expected in told:
        require_value(found, expected, f"{what}, told to a kernel,")
    require_value(len(told), 8, "the answers to a kernel")


def _ends(wait: Callable[..., None], value: int) -> bool:
    """Tells whether the launch ends within a moment."""
    try:
        wait(value, timeout=0.002)
    except pydoca.TimeOutError:
        return False
    return True
