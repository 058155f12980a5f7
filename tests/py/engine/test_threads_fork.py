"""One engine, one thread, one process: errors in other threads and processes, and the end of each."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import pydoca

SETUP = """
import asyncio, gc, logging, os, signal, sys, threading, time
import pydoca

logging.getLogger("asyncio").setLevel(logging.ERROR)  # with -X dev asyncio warns of slow callbacks

signal.alarm(20)  # ends a child that hangs; the parent reports that
os.register_at_fork(after_in_child=lambda: signal.alarm(15))  # a child does not inherit the alarm of its parent
if "rt.asan" in os.environ.get("LD_PRELOAD", ""):
    # Locks of AddressSanitizer stay taken in the child when another thread uses its allocator. A parent without running
    # threads has not taken any.
    os.register_at_fork(before=lambda: time.sleep(0.1))
size = 1 << 20
device = pydoca.open_device("03:00.0", side="dpu")
pe = pydoca.ProgressEngine()
dma = pydoca.Dma(pe, device, num_tasks=64)
inventory = pydoca.BufInventory(256)
source = device.mmap(pydoca.alloc(size))
dma.start()

def copy(**options):
    target = device.mmap(pydoca.alloc(size))
    return dma.memcpy(inventory.get_by_data(source), inventory.get_by_addr(target), **options)

def wait_for_child(child):
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"the child ended with {status}"

def refused(error, *calls):
    for call in calls:
        try:
            call()
        except error as raised:
            print(raised)
        else:
            sys.exit(f"{call} was not refused")
"""


# LeakSanitizer looks in a forked child for the threads of its parent, and may wait for them for ever.
ENVIRONMENT = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def run_script(script: str, expect: int = 0) -> str:
    command = [sys.executable, "-X", "dev", "-W", "ignore::DeprecationWarning", "-c", SETUP + script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False, env=ENVIRONMENT)
    assert ended.returncode == expect, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr
    return ended.stdout


def in_another_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def test_another_thread_is_refused_and_both_are_named(rig):
    task = rig.copy()
    src, dst, _ = rig.bufs()
    calls = [
        rig.pe.progress,
        rig.pe.drain,
        rig.pe.wait,
        rig.pe.fileno,
        rig.pe.request_notification,
        rig.pe.release_thread,
        rig.pe.close,
        rig.dma.start,
        rig.dma.stop,
        rig.dma.close,
        rig.dma.flush_tasks,
        task.submit,
        task.wait,
        task.free,
        lambda: rig.dma.memcpy(src, dst),
        lambda: pydoca.Dma(rig.pe, rig.device),
    ]

    def other():
        for call in calls:
            with pytest.raises(pydoca.WrongThreadError) as raised:
                call()
            assert f"thread {owner}" in str(raised.value)
            assert f"thread {threading.get_native_id()}" in str(raised.value)

    owner = threading.get_native_id()
    in_another_thread(other)
    task.wait(5)


def test_a_loop_in_another_thread_is_refused(rig):
    import asyncio

    task = rig.copy()

    async def main():
        with pytest.raises(pydoca.WrongThreadError):
            await task
        with pytest.raises(pydoca.WrongThreadError):
            async with rig.pe:
                pass

    in_another_thread(lambda: asyncio.run(main()))
    task.wait(5)


def test_dropping_things_in_another_thread_is_fine(rig):
    tasks = [rig.copy() for _ in range(20)]
    rig.pe.run_until(tasks, 5)
    rig.copy(submit=False)
    in_another_thread(tasks.clear)
    assert rig.inventory.num_free_elements == 1024
    rig.copy().wait(5)


def test_an_engine_whose_thread_has_ended_is_taken_over(make_rig):
    rig = in_another_thread(lambda: make_rig())
    idle, held = in_another_thread(lambda: (rig.copy(submit=False), rig.held()))
    idle.submit()
    rig.release()
    rig.pe.run_until([idle, held], 10)
    with rig.pe:
        assert rig.pe.num_contexts == 1


def test_a_loop_takes_over_an_engine_whose_loop_and_thread_have_ended(make_rig):
    async def copy(rig):
        await rig.copy()
        return rig

    rig = in_another_thread(lambda: asyncio.run(copy(make_rig())))
    asyncio.run(copy(rig))


def test_a_daemon_thread_in_a_blocking_call_does_not_disturb_the_exit():
    run_script("""
import atexit, types

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)  # the interpreter is at its end, and the other thread gets the GIL that it asked for

sys.modules["late"] = types.ModuleType("late")
sys.modules["late"].late = Late()

@atexit.register
def keep_busy():
    sys.setswitchinterval(100)  # the other thread asks for the GIL, and does not get it yet
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass

threading.Thread(target=lambda: pydoca.ProgressEngine().wait(), daemon=True).start()
time.sleep(0.1)
""")


def test_other_threads_run_while_one_waits(rig):
    task = rig.held()
    counted = []

    def count():
        for number in range(100_000):
            counted.append(number)

    other = threading.Thread(target=count)
    other.start()
    rig.pe.run_until(lambda: len(counted) == 100_000, 30)
    other.join()
    rig.release()
    task.wait(5)


def test_other_threads_run_beside_a_loop_that_never_sleeps(run, rig):
    turns = []
    over = threading.Event()

    def take_turns():
        while not over.is_set():
            time.sleep(0.001)
            turns.append(time.monotonic())

    async def await_at_once(seconds):
        task = rig.copy()
        await task
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(turns) <= 20:
            task.dst.reset_data_len()
            task.submit()
            await task

    other = threading.Thread(target=take_turns)
    other.start()
    try:
        run(await_at_once(2))
    finally:
        over.set()
        other.join()
    # Two hundred turns are usual in that time; a loop that keeps the GIL leaves ten.
    assert len(turns) > 20


def test_an_engine_for_each_thread(make_rig):
    def work():
        rig = make_rig(size=100_000)
        for _ in range(20):
            rig.pe.run_until([rig.copy() for _ in range(8)], 20)
        with rig.pe:
            return rig.pe.num_inflight_tasks

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: work(), range(8))) == [0] * 8


def test_a_task_that_another_thread_submits_is_awaited(run, rig):
    async def main():
        src, dst, target = rig.bufs()
        task = rig.dma.memcpy(src, dst, submit=False)
        await asyncio.sleep(0.01)  # the engine is armed, and the loop sleeps
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            await loop.run_in_executor(pool, rig.pe.submit_threadsafe, task)
        await asyncio.wait_for(asyncio.shield(task), 10)
        assert bytes(target) == bytes(rig.data)

    run(main())


def test_a_submission_of_another_thread_wakes_a_loop_that_sleeps(run, rig):
    async def main():
        done = asyncio.Event()
        task = rig.copy(submit=False)
        task.add_done_callback(lambda task: done.set())
        async with rig.pe:
            thread = threading.Timer(0.05, rig.pe.submit_threadsafe, [task])
            thread.start()
            await asyncio.wait_for(done.wait(), 10)
            thread.join()
            assert task.result() is None

    run(main())


def test_a_submission_of_another_thread_ends_a_wait(rig):
    task = rig.copy(submit=False)
    thread = threading.Timer(0.05, rig.pe.submit_threadsafe, [task])
    thread.start()
    rig.pe.run_until(lambda: task.done, 10)
    thread.join()


def test_a_task_that_was_handed_over_is_the_engines(rig):
    task = rig.copy(submit=False)
    in_another_thread(lambda: rig.pe.submit_threadsafe(task))
    assert task.status is pydoca.Status.IN_PROGRESS
    for call in (task.submit, lambda: rig.pe.submit_threadsafe(task)):
        with pytest.raises(pydoca.BadStateError, match="in flight"):
            call()
    with pytest.raises(pydoca.InUseError):
        task.free()
    del call
    task.wait(10)
    task.dst.reset_data_len()
    rig.pe.submit_threadsafe(task)  # the engine's own thread may call it as well
    task.wait(10)


def test_a_handed_over_submission_that_fails_is_a_failed_completion(rig):
    src, dst, _ = rig.bufs()
    dst.set_data(dst.head, dst.len)  # no tailroom is left
    errors = []
    task = rig.dma.memcpy(src, dst, submit=False)
    task.add_done_callback(errors.append)
    in_another_thread(lambda: rig.pe.submit_threadsafe(task))
    with pytest.raises(pydoca.InvalidValueError, match="tailroom"):
        task.wait(10)
    assert errors == [task]
    assert rig.dma.state is pydoca.ContextState.RUNNING
    rig.copy().wait(10)


def test_what_cannot_be_handed_over(rig, make_rig):
    task = rig.copy(submit=False)
    with pytest.raises(pydoca.InvalidValueError, match="another progress engine"):
        make_rig().pe.submit_threadsafe(task)
    task.free()
    with pytest.raises(pydoca.BadStateError, match="freed"):
        rig.pe.submit_threadsafe(task)
    with pytest.raises(TypeError):
        rig.pe.submit_threadsafe(None)


# ---- fork


def test_a_forked_child_is_refused():
    out = run_script("""
task = copy(submit=False)
src, dst = task.src, task.dst
child = os.fork()
if child == 0:
    async def wait():
        await flying
    refused(
        pydoca.ForkedError, pe.progress, pe.drain, pe.wait, pe.fileno, pe.request_notification, pe.release_thread,
        dma.start, dma.stop, dma.flush_tasks, task.submit, task.try_submit, task.free, pe.__enter__,
        lambda: pe.submit_threadsafe(task),
        lambda: dma.memcpy(src, dst), lambda: pydoca.Dma(pe, device),
    )
    os._exit(0)
wait_for_child(child)
task.submit()
task.wait()
""")
    assert out == "" or "fork" in out


def test_a_forked_child_cannot_await():
    run_script("""
flying = copy(submit=False)
flying.submit(pydoca.SubmitFlags.NONE)
async def wait():
    await flying
child = os.fork()
if child == 0:
    refused(pydoca.ForkedError, lambda: asyncio.run(wait()))
    os._exit(0)
wait_for_child(child)
dma.flush_tasks()
asyncio.run(wait())
""")


STATES = {
    "idle": "",
    "done": "copy().wait()",
    "in flight": "tasks = [copy() for _ in range(16)]",
    "held": "task = copy(submit=False); task.submit(pydoca.SubmitFlags.NONE)",
    "stopping": "task = copy(submit=False); task.submit(pydoca.SubmitFlags.NONE); dma.stop()",
    "stopped": "copy().wait(); dma.stop()",
    "closed": "copy().wait(); dma.stop(); dma.close(); pe.close()",
    "armed": "pe.request_notification()",
    "awaited": "asyncio.run(asyncio.wait_for(copy(), 10))",
}
ENDS = {
    "os._exit": "os._exit(0)",
    "sys.exit": "sys.exit(0)",
    "exception": "raise SystemExit",
    "falling off the end": "",
    "dropping everything": "del pe, dma, device, source, inventory; globals().pop('task', 0); gc.collect()",
    "close": "dma.close(); pe.close()",
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("end", ENDS)
def test_a_forked_child_ends_cleanly_and_the_parent_goes_on(state, end):
    run_script(f"""
{STATES[state]}
child = os.fork()
if child == 0:
    {ENDS[end] or "pass"}
else:
    wait_for_child(child)
    if not pe.closed:
        if dma.state is pydoca.ContextState.STOPPING:
            task.free()
            pe.run_until(lambda: dma.state is pydoca.ContextState.IDLE, 10)
        if dma.state is pydoca.ContextState.IDLE:
            dma.start()
        dma.flush_tasks()
        copy().wait(10)
        pe.run_until(lambda: pe.num_inflight_tasks == 0, 10)
""")


def test_a_forked_child_leaves_with_blocks_in_silence():
    run_script("""
with pe, dma:
    child = os.fork()
    if child == 0:
        sys.exit(0)
    wait_for_child(child)
    copy().wait(10)
""")


LOSES_EXIT = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="Python 3.14's asyncio loses a SystemExit in a forked child, which then hangs"
)


@pytest.mark.parametrize("end", ["return", pytest.param("sys.exit(0)", marks=LOSES_EXIT)])
def test_a_forked_child_that_leaves_an_event_loop_leaves_the_parents_alone(end):
    run_script(f"""
event = pydoca.SyncEvent(device, publisher="remote_pci")
async def main():
    loop = asyncio.get_running_loop()
    async with pydoca.ProgressEngine() as own, event.as_context(own) as ctx:
        with pydoca.open_device("0b:00.0", side="host") as host:
            with host.import_sync_event(event.export_to_remote_pci()) as other_end:
                await ctx.wait_eq(0)
                await asyncio.sleep(0.1)  # the loop has slept on the engine's handle
                child = os.fork()
                if child == 0:
                    # Since Python 3.14 asyncio reports there, for every task, that its loop does not run.
                    loop.set_exception_handler(lambda loop, context: None)
                    {end}
                wait_for_child(child)
                threading.Timer(0.1, other_end.update_set, [1]).start()
                wait = ctx.wait_eq(1)
                await asyncio.wait_for(asyncio.ensure_future(as_coroutine(wait)), 10)

async def as_coroutine(awaited):
    return await awaited

asyncio.run(main())
""")


def test_a_forked_child_that_fails_in_a_with_block_shows_its_own_error():
    out = run_script("""
read, write = os.pipe()
with pe, dma:
    child = os.fork()
    if child == 0:
        os.dup2(write, 2)
        raise ZeroDivisionError("the child's own")
os.close(write)
with os.fdopen(read) as file:
    text = file.read()
assert "the child's own" in text and "Forked" not in text, text
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
""")
    assert out == ""


def test_a_forked_child_makes_an_engine_of_its_own():
    run_script("""
child = os.fork()
if child == 0:
    with pydoca.ProgressEngine() as own:
        assert own.progress() is False
    os._exit(0)
wait_for_child(child)
""")


def test_a_forked_child_opens_a_device_of_its_own():
    run_script("""
child = os.fork()
if child == 0:
    own = pydoca.open_device("03:00.0", side="dpu")
    assert own != device
    assert own == pydoca.open_device("03:00.0", side="dpu")
    memory = pydoca.alloc(size)
    memoryview(memory)[:5] = b"child"
    with pydoca.ProgressEngine() as engine, pydoca.Dma(engine, own) as copier, own.mmap(memory) as src:
        target = pydoca.alloc(size)
        with own.mmap(target) as dst:
            copier.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst)).wait(10)
        assert bytes(memoryview(target)[:5]) == b"child"
    refused(pydoca.BadStateError, lambda: pydoca.Dma(pydoca.ProgressEngine(), device).start())
    os._exit(0)
wait_for_child(child)
copy().wait(10)
""")


# ---- the interpreter's end


@pytest.mark.parametrize("state", STATES)
def test_the_interpreter_ends_in_every_state(state):
    run_script(STATES[state])


def test_the_interpreter_ends_with_callbacks_still_to_come():
    out = run_script("""
def on_completion(*_):
    print("done")
dma = pydoca.Dma(pe, device, num_tasks=64, on_completion=on_completion, on_error=on_completion)
dma.start()
for _ in range(4):
    copy()
""")
    assert out == "done\n" * 4


def test_the_interpreter_ends_in_a_thread_that_waits():
    run_script("""
pe.release_thread()
task = []
def wait():
    task.append(copy(submit=False))
    task[0].submit(pydoca.SubmitFlags.NONE)
    task[0].wait()
threading.Thread(target=wait, daemon=True).start()
while not task or not task[0].state:
    time.sleep(0.001)
time.sleep(0.01)
""")


def test_a_task_dropped_in_flight_is_warned_of_in_development_mode():
    run_script("""
import warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    kept = copy()
    copy()
    seen = copy()
    seen.add_done_callback(lambda task: None)
    del seen
    pe.run_until(lambda: pe.num_inflight_tasks == 0, 10)
assert [str(warning.message).split(" was ")[0] for warning in warned] == ["dma memcpy of 1048576 bytes"], warned
""")


def test_bufs_of_a_task_that_was_handed_over_are_kept(rig):
    """The engine would use a buf that was released before the task's turn."""
    src, dst, _ = rig.bufs()
    task = rig.dma.memcpy(src, dst, submit=False)
    in_another_thread(lambda: rig.pe.submit_threadsafe(task))
    for buf in (src, dst):
        with pytest.raises(pydoca.NotPermittedError, match="a task has it"):
            buf.dec_refcount()
    task.wait(10)
    for buf in (src, dst):
        buf.dec_refcount()
