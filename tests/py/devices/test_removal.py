"""The removal of a device ends every wait on it."""

import asyncio
import contextlib
import threading

import pytest

import pydoca
from pydoca import sim

ENOUGH = 20  # seconds


@contextlib.contextmanager
def removed_soon(name):
    """Removes the device from another thread, while its users sleep."""
    timer = threading.Timer(0.1, sim.remove_device, [name])
    timer.start()
    try:
        yield
    finally:
        timer.join()
        sim.restore_device(name)


@pytest.mark.parametrize("mode", ["", "_yield"])
def test_a_wait_for_an_event_ends(mode):
    event = pydoca.SyncEvent(pydoca.open_device("p1"))
    event.start()
    with removed_soon("p1"), pytest.raises(pydoca.DriverError, match="the device was removed"):
        getattr(event, "wait_eq" + mode)(1, timeout=ENOUGH)


def test_an_await_of_an_event_ends(run):
    event = pydoca.SyncEvent(pydoca.open_device("p1"))

    async def main():
        async with pydoca.ProgressEngine() as pe, event.as_context(pe) as context:
            with removed_soon("p1"), pytest.raises(pydoca.DriverError, match="the device was removed"):
                await asyncio.wait_for(asyncio.ensure_future(context.wait_eq(1)), ENOUGH)
            assert context.failure == pydoca.Status.DRIVER

    run(main())


def test_an_await_of_a_message_ends(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            with removed_soon("pf0"), pytest.raises(pydoca.DriverError, match="the device was removed"):
                await asyncio.wait_for(asyncio.ensure_future(link.recv()), ENOUGH)
            with pytest.raises(ConnectionResetError):
                await asyncio.wait_for(asyncio.ensure_future(served.recv()), ENOUGH)

    run(main())


def test_an_await_of_a_receive_ends(run):
    device = pydoca.open_device("p1")
    memory = device.mmap(pydoca.alloc(64), access="local_read_write")

    async def main():
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device, num_tasks=1) as rdma:
            receive = rdma.receive(pydoca.BufInventory(1).get_by_addr(memory))
            with removed_soon("p1"), pytest.raises(pydoca.DriverError, match="the device was removed"):
                await asyncio.wait_for(asyncio.ensure_future(receive), ENOUGH)

    run(main())
