"""The DPA: kernels of Python, their handles, their failures, and their end."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

import pydoca
from pydoca import faults, sim

PATIENCE = 30  # seconds after which a wait counts as a hang


@pytest.fixture
def dev():
    with pydoca.open_device("p0") as device:
        yield device


@pytest.fixture
def dpa(dev):
    with pydoca.Dpa(dev) as dpa:
        yield dpa


@pytest.mark.filterwarnings("ignore::pydoca.faults.FaultPlanWarning")  # the rule matches nothing
def test_a_device_with_planned_faults_has_it_too():
    ran = []
    rule = faults.FaultRule("fail", opcode="dma.memcpy")
    with faults.inject(rule), pydoca.open_device("p0") as device, pydoca.Dpa(device) as dpa:
        dpa.register("note", lambda thread: ran.append(thread.rank))
        dpa.launch("note").wait(PATIENCE)
    assert ran == [0]


def started(dev, **locations):
    event = pydoca.SyncEvent(dev, **locations)
    event.start()
    return event


def test_a_kernel_waits_for_the_cpu_and_answers(dev, dpa):
    def reply(thread, request, answer, memory):
        request.wait_gt(0)
        memory[:5] = b"hello"
        assert answer.update_add(request.get()) == 0

    dpa.register("reply", reply)
    request, answer = started(dev, subscriber=dpa), started(dev, publisher=dpa)
    mmap = dev.mmap(data := bytearray(8))
    run = dpa.launch("reply", request.dpa_handle(dpa), answer.dpa_handle(dpa), dpa.memory(mmap))
    assert not run.done
    request.update_set(3)
    answer.wait_eq_yield(3, timeout=PATIENCE)
    run.wait(PATIENCE)
    assert (bytes(data), run.done, dpa.num_threads) == (b"hello\0\0\0", True, 0)
    assert request.subscriber is answer.publisher is pydoca.SyncEventLocation.DPA


def test_events_start_a_kernel_and_tell_of_its_end(dev, dpa):
    ranks = []
    dpa.register("mark", lambda thread, factor: ranks.append((thread.rank * factor, thread.num_threads)))
    go, done = started(dev, subscriber=dpa), started(dev, publisher=dpa)
    run = dpa.launch(
        "mark",
        10,
        num_threads=3,
        wait_event=go.dpa_handle(dpa),
        wait_threshold=1,
        done_event=done.dpa_handle(dpa),
        done_set=9,
    )
    go.update_set(1)
    with pytest.raises(pydoca.TimeOutError, match="its threads are not done"):
        run.wait(0.02)
    go.update_set(2)
    done.wait_eq_yield(9, timeout=PATIENCE)
    assert sorted(ranks) == [(0, 3), (10, 3), (20, 3)]
    more = dpa.launch("mark", 1, done_event=done.dpa_handle(dpa))
    more.wait(PATIENCE)
    assert done.get() == 10, "one is added by default"


def test_notifications_wake_a_thread_as_completions_do(dev, dpa):
    woken = threading.Semaphore(0)

    def count(thread, seen):
        seen.append(thread.rank)
        if len(seen) == 3:
            thread.finish()
        woken.release()

    dpa.register("count", count)
    seen = []
    run = dpa.thread("count", seen)
    run.notify()
    assert woken.acquire(timeout=PATIENCE)
    with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, dev) as dma,
        pydoca.BufInventory(4) as inventory,
        dev.mmap(bytes(8)) as source,
        dev.mmap(bytearray(8)) as target,
    ):
        for _ in range(2):
            task = dma.memcpy(inventory.get_by_data(source), inventory.get_by_addr(target))
            task.add_done_callback(lambda _: run.notify())
            task.wait(PATIENCE)
            assert woken.acquire(timeout=PATIENCE)
    run.wait(PATIENCE)
    assert seen == [0, 0, 0]


def test_a_thread_runs_each_time_its_event_has_grown(dev, dpa):
    work, done = started(dev, subscriber=dpa), started(dev, publisher=dpa)
    dpa.register("work", lambda thread, out: out.update_add(1))
    run = dpa.thread("work", done.dpa_handle(dpa), wait_event=work.dpa_handle(dpa))
    for round in (1, 2, 3):
        work.update_set(round)
        done.wait_eq_yield(round, timeout=PATIENCE)
    dpa.stop()
    with pytest.raises(pydoca.ShutdownError):
        run.wait(PATIENCE)


def test_runs_are_awaited(dpa):
    async def main():
        gate = threading.Event()
        dpa.register("gate", lambda thread: gate.wait(PATIENCE))
        run = dpa.launch("gate", num_threads=2)
        asyncio.get_running_loop().call_later(0.01, gate.set)
        await run
        assert run.done
        await run
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_awaited(dpa.thread("gate")), 0.01)

    async def _awaited(run):
        await run

    asyncio.run(main())


def test_a_failure_is_fatal_and_reaches_all_who_wait(dev, dpa):
    answer, never = started(dev, publisher=dpa), started(dev, subscriber=dpa)
    dpa.register("wait", lambda thread, event: event.wait_gt(0))
    dpa.register("fail", lambda thread: 1 // 0)
    waiting = dpa.launch("wait", never.dpa_handle(dpa))
    failing = dpa.launch("fail")
    with pytest.raises(pydoca.IoFailedError, match='kernel "fail", thread 0: ZeroDivisionError') as caught:
        failing.wait(PATIENCE)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(pydoca.IoFailedError, match="ZeroDivisionError"):
        answer.wait_gt_yield(0, timeout=PATIENCE)
    with pytest.raises(pydoca.IoFailedError):
        waiting.wait(PATIENCE)
    assert "ZeroDivisionError" in dpa.failure
    assert "failed" in repr(dpa)
    with pytest.raises(pydoca.BadStateError, match=r"fatal error state, close it; .*ZeroDivisionError"):
        dpa.launch("fail")

    async def awaited():
        await failing

    with pytest.raises(pydoca.IoFailedError):
        asyncio.run(awaited())


def test_tasks_that_wait_for_a_failed_dpa_fail(dev):
    async def main():
        with pydoca.Dpa(dev) as dpa:
            dpa.register("fail", lambda thread: 1 // 0)
            event = pydoca.SyncEvent(dev, publisher=dpa)
            async with pydoca.ProgressEngine() as pe, event.as_context(pe) as tasks:
                handle = event.dpa_handle(dpa)
                waiting = asyncio.ensure_future(_awaited(tasks.wait_gt(0)))
                await asyncio.sleep(0.01)
                dpa.launch("fail")
                with pytest.raises(pydoca.IoFailedError):
                    await asyncio.wait_for(waiting, PATIENCE)
                del handle

    async def _awaited(task):
        await task

    asyncio.run(main())


def test_close_ends_everything(dev):
    with pydoca.Dpa(dev) as dpa:
        never = started(dev, subscriber=dpa)
        dpa.register("wait", lambda thread, event: event.wait_gt(0))
        handle = never.dpa_handle(dpa)
        run = dpa.launch("wait", handle, num_threads=4)
        assert dpa.num_threads == 4
        with pytest.raises(pydoca.InUseError):
            dev.close()
    with pytest.raises(pydoca.ShutdownError, match="was stopped before"):
        run.wait(PATIENCE)
    with pytest.raises(pydoca.ShutdownError, match="the DPA was stopped"):
        handle.wait_gt(0)
    assert dpa.closed
    assert dpa.failure is None
    with pytest.raises(pydoca.BadStateError):
        dpa.launch("wait", handle)


def test_removal_ends_waits(dev, dpa):
    never = started(dev, subscriber=dpa)
    dpa.register("wait", lambda thread, event: event.wait_gt(0))
    run = dpa.launch("wait", never.dpa_handle(dpa))
    sim.remove_device("p0")
    try:
        with pytest.raises(pydoca.DriverError, match="p0 was removed"):
            run.wait(PATIENCE)
        with pytest.raises(pydoca.DriverError):
            dpa.launch("wait", None)
    finally:
        sim.restore_device("p0")


def test_what_does_not_fit(dev, dpa):
    dpa.register("nothing", print)
    for call, error, says in (
        (lambda: dpa.register("nothing", repr), pydoca.AlreadyExistError, "registered already"),
        (lambda: dpa.register("", repr), pydoca.InvalidValueError, "a name and a function"),
        (lambda: dpa.register("x", 3), pydoca.InvalidValueError, "a name and a function"),
        (lambda: dpa.launch("noting"), pydoca.NotFoundError, "'noting' is not registered; there are: nothing"),
        (lambda: dpa.launch("nothing", num_threads=0), pydoca.InvalidValueError, "at least one thread"),
        (lambda: dpa.launch("nothing", num_threads=257), pydoca.FullError, "257 threads are wanted, 0 of 256 are busy"),
        (lambda: dpa.launch("nothing", done_set=1), pydoca.InvalidValueError, "need a done_event"),
        (lambda: dpa.launch("nothing", wait_event=3), TypeError, "wait_event must be a pydoca.DpaSyncEvent"),
        (lambda: dpa.memory(bytearray(3)), TypeError, "a pydoca.Mmap, not bytearray"),
        (lambda: dpa.memory(pydoca.Mmap(bytearray(3), devices=[dev])), pydoca.NotFoundError, "not started"),
        (lambda: started(dev).dpa_handle(dpa), pydoca.InvalidValueError, "neither location is this DPA"),
        (lambda: started(dev).dpa_handle(dev), TypeError, "a pydoca.Dpa, not"),
        (lambda: dpa.start(), pydoca.BadStateError, "it runs"),
        (lambda: pydoca.Dpa(3), TypeError, "Device"),
        (lambda: pydoca.SyncEvent(dev, subscriber=dpa).as_context(None), pydoca.NotSupportedError, "synchronous mode"),
    ):
        with pytest.raises(error, match=says):
            call()


def test_a_location_gives_what_it_says(dev, dpa):
    handle = started(dev, subscriber=dpa).dpa_handle(dpa)
    with pytest.raises(pydoca.NotPermittedError, match="a publisher updates, a subscriber waits"):
        handle.update_set(1)
    with pytest.raises(pydoca.TimeOutError):
        handle.wait_eq(1, timeout=0.005)
    with pytest.raises(pydoca.InvalidValueError, match="timeout is in seconds"):
        handle.wait_eq(1, timeout=-1)
    assert dpa.memory(dev.mmap(bytes(8))).readonly


def test_cards_without_a_dpa():
    sim.load_topology(sim.default_topology("bluefield2"))
    try:
        with pydoca.open_device("p0") as device:
            assert device.info.capabilities.dpa is None
            with pytest.raises(pydoca.NotSupportedError, match="only a BlueField-3 or newer has a DPA"):
                pydoca.Dpa(device)
    finally:
        sim.load_topology(sim.default_topology())
    assert pydoca.DeviceInfo("p0").capabilities.dpa.max_num_threads == 256


def test_a_topology_says_how_many_threads_there_are(dev):
    table = {"name": "x", "pci_addr": "01:00.0", "side": "dpu", "capabilities": {"dpa": {"max_num_threads": 2}}}
    sim.load_topology({"function": [table]})
    try:
        with pydoca.open_device("x") as device, pydoca.Dpa(device) as dpa:
            dpa.register("nothing", lambda thread: None)
            with pytest.raises(pydoca.FullError, match="3 threads are wanted, 0 of 2"):
                dpa.launch("nothing", num_threads=3)
    finally:
        sim.load_topology(sim.default_topology())


def test_a_stubborn_kernel_is_named(dev):
    leave, entered = threading.Event(), threading.Event()

    def stay(thread):
        entered.set()
        leave.wait(PATIENCE)

    dpa = pydoca.Dpa(dev)
    dpa.start()
    dpa.register("stay", stay)
    dpa.launch("stay")
    assert entered.wait(PATIENCE)
    with pytest.raises(pydoca.AgainError, match="is_stopping"):
        dpa.stop()
    leave.set()
    dpa.close()


def test_a_dropped_dpa_is_collected(dev):
    def use():
        dpa = pydoca.Dpa(dev)
        dpa.start()
        dpa.register("self", lambda thread: dpa)
        dpa.launch("self").wait(PATIENCE)

    use()
    gc.collect()
    dev.close()  # nothing uses it any more


def run_program(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE * 2)


PROGRAM = """
import os, signal, sys, threading, pydoca
dev = pydoca.open_device("p0")
dpa = pydoca.Dpa(dev)
dpa.start()
event = pydoca.SyncEvent(dev, subscriber=dpa)
event.start()
dpa.register("wait", lambda thread, event: event.wait_gt(0))
run = dpa.launch("wait", event.dpa_handle(dpa), num_threads=3)
"""


def test_the_end_of_the_interpreter_ends_its_threads():
    ended = run_program(PROGRAM + "print('end')")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


def test_ctrl_c_ends_a_wait():
    program = PROGRAM + (
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    run.wait()\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    ended = run_program(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


def test_a_forked_child_has_none_of_the_threads():
    program = PROGRAM + (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n        run.wait()\n    except pydoca.BadStateError as error:\n        print('child:', error)\n"
        "    dpa.close()\n"
        "else:\n    print('status', os.waitpid(pid, 0)[1])\n"
    )
    ended = run_program(program)
    assert ended.returncode == 0, ended.stderr
    assert "child: wait for a kernel: a forked child has none of the threads" in ended.stdout
    assert "status 0" in ended.stdout


def test_a_killed_process_leaves_nothing(tmp_path):
    environment = {**os.environ, "PYDOCA_FABRIC_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + "print('up', flush=True)\nsignal.pause()"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE) == -signal.SIGKILL
