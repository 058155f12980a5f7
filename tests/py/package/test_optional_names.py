"""Names that another library may have removed or replaced, or that another loop lacks: awaits do without them.

gevent.monkey.patch_all() removes selectors.EpollSelector and select.epoll, and puts functions of its own in the place
of threads and signals; nest_asyncio replaces parts of asyncio. Each program has a process of its own.
"""

import importlib.util
import subprocess
import sys
import textwrap

import pytest

AWAITS = """
import asyncio
import pydoca

async def main():
    device = pydoca.open_device("03:00.0", side="dpu")
    inventory = pydoca.BufInventory(64)
    event = pydoca.SyncEvent(device)
    async with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=8) as dma,
        event.as_context(pe) as context,
    ):
        for size in (64, 1 << 20):
            src = inventory.get_by_data(device.mmap(bytes(size)))
            dst = [inventory.get_by_addr(device.mmap(pydoca.alloc(size))) for _ in range(4)]
            await dma.memcpy(src, dst[0])
            await asyncio.gather(dma.memcpy(src, dst[1]), dma.memcpy(src, dst[2]))
            await pe.gather([dma.memcpy(src, dst[3])])
        waiting = asyncio.create_task(context.wait_eq(3))
        await asyncio.sleep(0.001)
        await context.notify_set(3)
        print(await waiting)

asyncio.run(main())
"""

VIRTUAL = """
import pydoca

async def main():
    return 1

def attempt(call):
    try:
        print(call())
    except pydoca.NotSupportedError as error:
        print(error)

def run(time):
    running = main()
    try:
        print(time.run(running))
    except pydoca.NotSupportedError as error:
        print(error)
        running.close()

with pydoca.sim.virtual_time() as time:
    run(time)
    attempt(lambda: time.run_threads(lambda: 2))
    attempt(lambda: time.new_event_loop().close() or "a loop")
"""


def run_program(text: str, before: str = "") -> str:
    line = [sys.executable, "-W", "error", "-c", f"{textwrap.dedent(before)}\n{text}"]
    result = subprocess.run(line, capture_output=True, text=True, timeout=150)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


REMOVALS = {
    "what gevent removes": """
        import select, selectors
        del selectors.EpollSelector, select.epoll
        selectors.DefaultSelector = selectors.PollSelector
    """,
    "a loop that is not asyncio's": """
        import asyncio
        del asyncio.SelectorEventLoop
    """,
    "the method that runs a callback": """
        import asyncio
        class Handle(asyncio.Handle):
            _run = property(lambda self: super()._run)
        run = asyncio.Handle._run
        class NoCode:
            __get__ = lambda self, handle, owner: self if handle is None else run.__get__(handle)
        asyncio.Handle._run = NoCode()
    """,
    "the method that runs a turn": """
        import asyncio
        run_once = asyncio.BaseEventLoop._run_once
        class NoCode:
            __get__ = lambda self, loop, owner: self if loop is None else run_once.__get__(loop)
        asyncio.BaseEventLoop._run_once = NoCode()
    """,
    "attributes of the loop": """
        import asyncio
        class Selector:  # of another library: it has what the loop calls, and no descriptor
            def __init__(self): self._its = __import__("selectors").SelectSelector()
            def __getattr__(self, name):
                if name == "fileno": raise AttributeError(name)
                return getattr(self._its, name)
        asyncio.events.new_event_loop = lambda: asyncio.SelectorEventLoop(Selector())
    """,
    "the descriptor that signals wake": """
        import signal
        def set_wakeup_fd(descriptor, **_): raise ValueError("another library has it")
        signal.set_wakeup_fd = set_wakeup_fd
    """,
}


@pytest.mark.parametrize("removed", REMOVALS)
def test_awaits_work_without(removed):
    assert run_program(AWAITS, REMOVALS[removed]) == "3\n"


def test_virtual_time_says_what_it_needs():
    refusal, threads, loop = run_program(VIRTUAL, REMOVALS["what gevent removes"]).splitlines()
    assert refusal == loop
    assert "need selectors.EpollSelector" in refusal
    assert threads == "[2]"


def test_threads_of_virtual_time_are_the_systems():
    before = """
        import _thread, threading
        class Replaced:
            __module__ = "gevent.thread"
            def __call__(self, *arguments, start=_thread.start_new_thread): return start(*arguments)
        _thread.start_new_thread = Replaced()
    """
    first, threads, loop = run_program(VIRTUAL, before).splitlines()
    assert (first, loop) == ("1", "a loop")
    assert "gevent.thread has replaced these by its own" in threads


@pytest.mark.skipif(importlib.util.find_spec("gevent") is None, reason="gevent is not installed")
def test_awaits_work_with_gevents_monkey_patching():
    before = "import gevent.monkey\ngevent.monkey.patch_all()"
    assert run_program(AWAITS, before) == "3\n"
    refusal, threads, loop = run_program(VIRTUAL, before).splitlines()
    assert refusal == loop
    assert "gevent.monkey has removed it" in refusal
    assert "gevent.thread has replaced these by its own" in threads
