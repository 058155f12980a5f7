"""Engines outlive event loops."""

import asyncio
import gc
import os
import subprocess
import sys

import pytest

import pydoca

BIG = 1 << 20  # bytes: large enough for the device's own threads


def test_an_engine_made_before_any_loop_serves_one_after_another(run, rig):
    for _ in range(3):
        run(rig.turns())

        async def main():
            await rig.copy()
            await asyncio.gather(rig.copy(), rig.copy())

        run(main())
        rig.copy().wait(5)


def test_a_second_loop_is_refused_while_the_first_is_open(rig, new_loop):
    one, other = new_loop(), new_loop()

    tasks = []

    async def main():
        tasks.append(rig.copy())
        await tasks[-1]

    try:
        one.run_until_complete(main())
        with pytest.raises(pydoca.BadStateError, match="another event loop"):
            other.run_until_complete(main())
        rig.pe.drain()
        rig.pe.release_thread()
        other.run_until_complete(main())
        with pytest.raises(pydoca.BadStateError, match="another event loop"):
            one.run_until_complete(main())
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("count", [1, 100])
def test_a_loop_that_is_closed_in_flight_leaves_the_engine_usable(make_rig, new_loop, count):
    rig = make_rig(size=BIG)
    loop = new_loop()

    async def begin():
        await rig.copy()
        return [rig.copy() for _ in range(count)]

    tasks = loop.run_until_complete(begin())
    loop.close()
    rig.pe.run_until(tasks, 20)

    async def again():
        await rig.copy()

    asyncio.run(again())


@pytest.mark.parametrize("count", [1, 100])
def test_those_who_waited_in_a_loop_that_was_closed_are_forgotten(rig, new_loop, count):
    loop = new_loop()
    tasks = [rig.held() for _ in range(count)]
    failures = []

    async def begin():
        waiting = [asyncio.ensure_future(task) for task in tasks]
        await rig.turns(10)
        return waiting

    loop.set_exception_handler(lambda loop, context: failures.append(context))
    waiting = loop.run_until_complete(begin())
    loop.close()
    rig.release()
    with pytest.warns(ResourceWarning, match=f"{count} completion"):
        rig.pe.drain()
    rig.pe.run_until(tasks, 5)
    assert all(task.done for task in tasks)
    for waiter in waiting:
        # asyncio would complain about a task that can no longer finish.
        waiter._log_destroy_pending = False
    del waiting, waiter
    gc.collect()


@pytest.mark.parametrize("count", [1, 100])
def test_running_to_the_end_with_tasks_in_flight(run, make_rig, count):
    done = []
    rig = make_rig(size=BIG, on_completion=lambda *_: done.append(1))

    async def main():
        await rig.copy()
        tasks = [rig.copy() for _ in range(count)]
        waiting = [asyncio.ensure_future(task) for task in tasks[: count // 2]]
        await rig.turns()
        return tasks, waiting

    tasks, _ = run(main())
    assert all(task.done for task in tasks)
    assert len(done) == count + 1
    rig.copy().wait(5)


def test_a_loop_that_ends_does_not_wait_for_ever(run, rig, monkeypatch):
    from pydoca._aio import bridge

    monkeypatch.setattr(bridge, "_SHUTDOWN_TIMEOUT", 0.02)

    async def main():
        await rig.copy()
        return rig.held()

    with pytest.warns(ResourceWarning, match="in flight"):
        task = run(main())
    rig.release()
    task.wait(5)


def test_an_engine_may_be_used_while_its_loop_shuts_down(run, rig):
    finished = []

    async def generator():
        try:
            yield
        finally:
            await rig.copy()
            await rig.turns()
            await rig.copy()
            finished.append(1)

    async def main():
        await rig.copy()
        main.generator = generator()
        await anext(main.generator)

    run(main())
    assert finished
    rig.copy().wait(5)


def test_importing_pydoca_does_not_import_asyncio():
    import subprocess
    import sys

    code = "import sys, pydoca; pe = pydoca.ProgressEngine(); pe.close(); sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


AWAITS = """
import asyncio, pydoca

async def main():
    dev = pydoca.open_device("p0")
    async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma, pydoca.SyncEvent(dev).as_context(pe) as event:
        inventory = pydoca.BufInventory(2)
        dst = dev.mmap(bytearray(4))
        for _ in range(100):
            target = inventory.get_by_addr(dst)
            await dma.memcpy(inventory.get_by_data(dev.mmap(b"data")), target)
            assert bytes(target) == b"data"
        waiting = asyncio.ensure_future(event.wait_eq(3))
        await asyncio.sleep(0.01)
        await event.notify_set(3)
        assert await waiting == 3

asyncio.run(main())
"""


@pytest.mark.parametrize("internals", ["0", "1"])
def test_awaits_do_without_asyncios_private_state_where_the_environment_says_so(internals):
    environment = {**os.environ, "PYDOCA_ASYNCIO_INTERNALS": internals}
    subprocess.run([sys.executable, "-c", AWAITS], env=environment, check=True, timeout=60)
