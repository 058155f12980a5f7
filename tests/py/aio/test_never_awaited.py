"""A call that does nothing without its await warns as a coroutine of Python does, when its object ends unused."""

import asyncio
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import pydoca

Make = Callable[[Any], Any]


@pytest.fixture
def linked(ends, unused_port):
    """Functions by name: each makes one kind of awaitable that does nothing by itself."""
    device = ends.dpu
    with (
        ends.linked_without_loop() as (server, _, link),
        pydoca.Rdma(server.progress_engine, device, permissions="rdma_write") as rdma,
        pydoca.Rdma(server.progress_engine, device, permissions="rdma_write") as other,
        rdma.listen(unused_port) as listener,
        ends.host.mmap(pydoca.alloc(4096), access="pci_read_only") as lent,
    ):
        attempt = other.connect(device.info.ipv4_addr, unused_port)
        listener.request().wait(10).accept().wait(10)
        connection = attempt.wait(10)
        yield {
            "recv": link.recv,
            "accept": server.accept,
            "request": listener.request,
            "ended": connection.ended,
            "connect": lambda: other.connect("localhost", unused_port),
            "gather": lambda: server.progress_engine.gather([]),
            "import_mmap": lambda: server.progress_engine.import_mmap(device, lent.export_pci()),
        }


CALLS = ["recv", "accept", "request", "ended", "connect", "gather", "import_mmap"]


def drop(made: Any) -> None:
    del made
    gc.collect()


@pytest.mark.parametrize("call", CALLS)
def test_a_forgotten_await_is_told_of(linked, call):
    with pytest.warns(RuntimeWarning, match=rf"^{call}\(\) was never awaited") as told:
        linked[call]()
    assert len(told) == 1
    assert told[0].filename == __file__


def end_by_an_exception(make: Callable[[], Any]) -> None:
    list(iter(lambda: make() and 1 // 0, None))


@pytest.mark.parametrize("call", CALLS)
def test_a_warning_that_is_an_error_reaches_the_hook_and_hides_no_exception(linked, call, monkeypatch):
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_value))
    with pytest.raises(ZeroDivisionError):
        end_by_an_exception(linked[call])
    assert [type(error) for error in seen] == [RuntimeWarning]


async def cancelled(made: Any, turns: int) -> None:
    waiting = asyncio.create_task(made)
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    if not waiting.cancelled():
        waiting.exception()


async def timed_out(made: Any) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(made, 0)


def timed_out_without_a_loop(made: Any) -> None:
    with pytest.raises(TimeoutError):
        made.wait(0)


USES: dict[str, Callable[[Any], Any]] = {
    "wait": timed_out_without_a_loop,
    "close": lambda made: made.close(),
    "__await__": lambda made: made.__await__().close(),
    "cancelled at once": lambda made: asyncio.run(cancelled(made, 0)),
    "cancelled later": lambda made: asyncio.run(cancelled(made, 2)),
    "wait_for": lambda made: asyncio.run(timed_out(made)),
}


@pytest.mark.parametrize("call", ["recv", "accept", "request", "ended"])
@pytest.mark.parametrize("use", USES)
def test_what_was_used_ends_in_silence(linked, call, use):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = linked[call]()
        USES[use](made)
        drop(made)


def test_what_goes_on_by_itself_ends_in_silence(rig, ends, unused_port):
    """DOCA's programs submit and connect, and learn the outcome from callbacks; they do not need the object."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rig.copy()
        rig.pe.as_completed([rig.copy()])
        event = pydoca.SyncEvent(rig.device)
        with event.as_context(rig.pe) as context:
            context.notify_set(1)
            context.wait_eq(1)
            gc.collect()
            rig.pe.run_until(lambda: rig.pe.num_inflight_tasks == 0, 10)
        with pydoca.Rdma(rig.pe, rig.device) as rdma, pydoca.Rdma(rig.pe, rig.device) as other:
            other.listen(unused_port).close()
            attempt = rdma.connect(rig.device.info.ipv4_addr, unused_port)
            connection = attempt.connection
            del attempt
            gc.collect()
            rig.pe.run_until(lambda: connection.state is not pydoca.RdmaConnectionState.CONNECTING, 10)
        graph = pydoca.Graph(rig.pe)
        node = graph.node(rig.dma)
        with graph:
            graph.create_instance({node: rig.copy(submit=False)}).submit()
            gc.collect()
            rig.pe.run_until(lambda: rig.pe.num_inflight_tasks == 0, 10)


def test_an_iteration_that_is_left_ends_in_silence(run, ends):
    async def main():
        async with ends.linked() as (_, served, link):
            await served.send(b"one")
            async for _ in link:
                break
            gc.collect()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(main())


PROGRAM = """
import pydoca
import pydoca.comch as comch
dpu, host = pydoca.open_device("03:00.0", side="dpu"), pydoca.open_device("0b:00.0", side="host")
pe = pydoca.ProgressEngine()
server = comch.Server(pe, dpu, dpu.open_representor("0b:00.0"), "kept")
server.start()
kept = server.accept()
gathering = pe.gather([])
"""


def test_the_end_of_the_program_is_no_reason_to_crash():
    """An object that the interpreter's end frees may warn or not, as a coroutine may."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=150)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "never awaited" not in line]
    assert not lines, result.stderr


def test_every_awaitable_is_of_one_of_both_kinds():
    """Every class is in one of both lists; a new class whose calls do nothing by themselves must warn."""
    from pydoca import _core

    classes = {
        name
        for name, value in vars(_core).items()
        if isinstance(value, type) and issubclass(value, _core.Awaitable) and value is not _core.Awaitable
    }
    warned = {"Import", "ReceivedMessage", "AcceptedConnection", "RequestedConnection", "EndedConnection"}
    silent = {"QueuedEvent", "SettledState", "EstablishedConnection", "GraphInstance", "DmaMemcpyBatch"}
    assert classes == warned | silent
