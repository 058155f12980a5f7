"""Awaits in scopes of anyio, which cancel a task in every turn of the loop until it has left them."""

import asyncio
import warnings

import pytest

anyio = pytest.importorskip("anyio", reason="anyio is not installed")


def test_an_await_ends_when_the_device_has_let_go(run, rig):
    async def main():
        copy = rig.held()
        with anyio.CancelScope() as scope:
            asyncio.get_running_loop().call_soon(scope.cancel)
            asyncio.get_running_loop().call_later(0.4, rig.release)
            await copy
        assert scope.cancelled_caught
        assert copy.done
        await rig.copy()  # the context has not faulted

    run(main())


def test_several_tasks_end_when_the_device_has_let_go(run, rig):
    async def main():
        copies = [rig.held(), rig.held()]
        async with anyio.create_task_group() as group:
            group.start_soon(rig.pe.gather, copies)
            await rig.turns()
            asyncio.get_running_loop().call_later(0.4, rig.release)
            group.cancel_scope.cancel()
        assert all(copy.done for copy in copies)

    run(main())


def test_a_task_group_takes_what_pydoca_awaits(run, make_rig):
    async def main():
        rig = make_rig(size=1 << 20)
        bufs = [rig.bufs() for _ in range(4)]
        async with anyio.create_task_group() as group:
            for src, dst, _ in bufs:
                group.start_soon(rig.dma.memcpy, src, dst)
        assert all(bytes(target) == bytes(rig.data) for _, _, target in bufs)
        async with anyio.create_task_group() as group:
            group.start_soon(rig.dma.memcpy, *rig.bufs()[:2])
            group.cancel_scope.cancel()  # the copy has not taken its first step
        assert rig.pe.num_inflight_tasks == 0

    run(main())


class Settled:
    """A state that a context reaches later, as a real card's context does; the simulated contexts are IDLE at once."""

    def __init__(self):
        self.is_there = False
        self.waiters = []

    def _ready(self):
        return self.is_there

    def _add_waiter(self, future):
        self.waiters.append(future)

    def _discard_waiter(self, future):
        self.waiters.remove(future)

    def happen(self):
        self.is_there = True
        for future in self.waiters:
            future.set_result(None)


def test_leaving_a_context_that_takes_its_time_goes_on(run, rig, patience):
    async def main():
        settled = Settled()
        with anyio.CancelScope() as scope:
            scope.cancel()
            asyncio.get_running_loop().call_later(0.05, settled.happen)
            await rig.pe._bridge.settle(settled, patience)
            assert settled.is_there
            assert not settled.waiters
            await anyio.sleep(patience)
        assert scope.cancelled_caught

    run(main())


def test_a_second_cancellation_comes_through(run, rig):
    async def main():
        async def copy_in_scope():
            with anyio.CancelScope() as scope:
                scope.cancel()
                await rig.held()

        copying = asyncio.create_task(copy_in_scope())
        await rig.turns(10)
        assert not copying.done()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            copying.cancel("now")
            await asyncio.wait([copying])
            await rig.turns()
        assert any("cancelled while the device uses memory" in str(warning.message) for warning in caught)
        rig.release()

    run(main())
