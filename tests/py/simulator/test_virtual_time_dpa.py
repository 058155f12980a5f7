"""The DPA in virtual time: its threads take part, so that its runs depend on the seed alone."""

import asyncio

import pytest

import pydoca
from pydoca.sim import virtual_time

HOUR = 3600.0


def started(device, **locations):
    event = pydoca.SyncEvent(device, **locations)
    event.start()
    return event


def relay(thread, vt, request, answer, log):
    """A kernel that answers each number of the CPU after a time of its own."""
    for number in range(1, 4):
        request.wait_gt(number - 1)
        vt.sleep(thread.rank + 1)
        log.append((number, thread.rank, round(vt.now, 3)))
        answer.update_add(1)


def one_run(seed):
    log = []
    with virtual_time(seed=seed) as vt, pydoca.open_device("p0") as device, pydoca.Dpa(device) as dpa:
        dpa.register("relay", relay)
        request, answer = started(device, subscriber=dpa), started(device, publisher=dpa)
        run = dpa.launch("relay", vt, request.dpa_handle(dpa), answer.dpa_handle(dpa), log, num_threads=3)
        for number in range(1, 4):
            request.update_set(number)
            answer.wait_eq(3 * number)
        run.wait()
        request.close()
        answer.close()
        return log, vt.digest, vt.now


def test_a_run_depends_on_the_seed_alone():
    runs = {seed: one_run(seed) for seed in range(5)}
    for seed, (log, digest, now) in runs.items():
        assert one_run(seed) == (log, digest, now)
        assert sorted(log) == [(number, rank, 3 * (number - 1) + rank + 1) for number in (1, 2, 3) for rank in range(3)]
    assert len({digest for _, digest, _ in runs.values()}) > 1


def test_time_limits_are_virtual():
    with virtual_time() as vt, pydoca.open_device("p0") as device, pydoca.Dpa(device) as dpa:
        request = started(device, subscriber=dpa)
        handle = request.dpa_handle(dpa)
        dpa.register("wait", lambda thread: handle.wait_gt(0))
        run = dpa.launch("wait")
        with pytest.raises(pydoca.TimeOutError):
            run.wait(HOUR)
        assert vt.now == pytest.approx(HOUR)
        dpa.stop()
        assert run.done
        request.close()


def test_a_wait_that_nothing_can_end_is_a_deadlock():
    with virtual_time(), pydoca.open_device("p0") as device, pydoca.Dpa(device) as dpa:
        request = started(device, subscriber=dpa)
        handle = request.dpa_handle(dpa)
        dpa.register("wait", lambda thread: handle.wait_gt(0))
        run = dpa.launch("wait")
        with pytest.raises((pydoca.DeadlockError, pydoca.IoFailedError)):  # the CPU or the DPA finds the deadlock
            run.wait()
        request.close()


def test_an_await_and_a_thread_that_repeats():
    woken = []

    async def main():
        with pydoca.open_device("p0") as device, pydoca.Dpa(device) as dpa:

            def step(thread):
                woken.append(round(vt.now, 3))
                if len(woken) == 3:
                    thread.finish()

            dpa.register("step", step)
            run = dpa.thread("step")
            for _ in range(3):
                await asyncio.sleep(HOUR)
                run.notify()
            await run

    with virtual_time() as vt:
        vt.run(main())
    assert woken == pytest.approx([HOUR, 2 * HOUR, 3 * HOUR], abs=0.01)


def test_loops_that_look_give_others_their_turn():
    with virtual_time() as vt, pydoca.open_device("p0") as device, pydoca.Dpa(device) as dpa:

        def poll(thread):
            while not thread.is_stopping:
                pass

        dpa.register("poll", poll)
        dpa.register("sleep", lambda thread: vt.sleep(1))
        polling, sleeping = dpa.launch("poll"), dpa.launch("sleep")
        while not sleeping.done:
            pass
        assert vt.now >= 1
        dpa.stop()
        assert polling.done
