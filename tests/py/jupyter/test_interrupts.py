"""The Interrupt button ends every call that blocks and every await, and the objects stay usable."""

import pytest

from kernel import COPY, SETUP

BLOCKING = {
    "a task": "task = held(); task.wait()",
    "an engine": "pe.run_until(lambda: False)",
    "tasks": "task = held(); pe.run_until([task])",
    "a client": "with comch.Client(pe, host, 'nobody'): pass",
    "a server": "with comch.Server(pydoca.ProgressEngine(), dpu, rep, 'alone') as s: s.accept().wait()",
    "a message": "link.recv().wait()",
    "a process": "sim.spawn('import time; time.sleep(100)', name='waited').wait()",
    "a cell of the dpu": "%%pydoca dpu\nprint('up')\nimport time; time.sleep(100)",
}
AWAITS = {
    "a server": "await server.accept()",
    "a message": "await link.recv()",
    "a client": "async with comch.Client(pe, host, 'nobody'): pass",
    "an engine": "async with pydoca.ProgressEngine() as e, comch.Client(e, host, 'nobody'): pass",
    "a process": "await sim.spawn('import time; time.sleep(100)')",
    "nothing of pydoca": "await asyncio.sleep(100)",
}


@pytest.fixture
def linked(kernel):
    """The kernel's objects, repaired after a cell that left a task in flight or a context that faulted."""
    cell = (
        SETUP
        + """
server = comch.Server(pe, dpu, rep, "interrupts")
server.start()
client = comch.Client(pydoca.ProgressEngine(), host, "interrupts")
client.start()
while not client.state == pydoca.ContextState.RUNNING or not server.connections:
    pe.progress(); client.progress_engine.progress()
link = server.accept().wait(5)
"""
    )
    ran = kernel.run(cell)
    assert ran.error == "", ran.traceback
    yield kernel
    ran = kernel.run(
        "dma.flush_tasks()\nclient.stop(); server.stop(); del link, client, server\n"
        "for p in list(__import__('pydoca._spawn.process')._spawn.process._running): p.stop()"
    )
    assert ran.error == "", ran.traceback


def interrupt(kernel, source):
    cell = kernel.send(source if source.startswith("%%") else f"print('up')\n{source}")
    kernel.wait_until(lambda: "up" in cell.text, cell)
    kernel.run_for(0.1)
    kernel.interrupt()
    return kernel.finish(cell)


@pytest.mark.parametrize("source", BLOCKING.values(), ids=BLOCKING)
def test_an_interrupt_ends_a_call_that_blocks(linked, source):
    assert interrupt(linked, source).error == "KeyboardInterrupt"
    assert linked.run("dma.flush_tasks(); " + COPY).value == "b'Hello'"


@pytest.mark.parametrize("source", AWAITS.values(), ids=AWAITS)
def test_an_interrupt_ends_an_await(linked, source):
    """ipykernel cancels a coroutine."""
    assert interrupt(linked, source).error == "CancelledError"
    assert linked.run(COPY).value == "b'Hello'"


def test_an_interrupted_wait_can_be_repeated(linked):
    linked.run("task = held()")
    for _ in range(2):
        assert interrupt(linked, "task.wait()").error == "KeyboardInterrupt"
    assert linked.run("dma.flush_tasks(); task.wait(); bytes(target)").value == "b'Hello'"
