"""Traces: their events, picture and file, in one process and in two."""

import asyncio
import collections
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import FunctionType
from xml.etree import ElementTree

import pytest

import pydoca
from pydoca import sim
from pydoca._timeline.lanes import flows_of, lanes_of

SVG = "{http://www.w3.org/2000/svg}"

SERVER = """
import asyncio, sys, pydoca
from pydoca import comch

async def answer(link):
    async for message in link:
        await link.send(bytes(message))

async def main():
    device = pydoca.open_device("p0", side="dpu")
    async with pydoca.ProgressEngine() as pe:
        async with comch.Server(pe, device, device.open_representor("0b:00.0"), "trace") as server:
            print("ready", flush=True)
            async for link in server:
                await answer(link)

asyncio.run(main())
"""


@pytest.fixture
def fabric(tmp_path, monkeypatch):
    """The directory of the test's own fabrics."""
    directory = tmp_path / "fabrics"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("PYDOCA_FABRIC_DIR", str(directory))
    return directory


@pytest.fixture
def server(fabric):
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


async def copy_some(count: int, size: int = 64) -> pydoca.Trace:
    device = pydoca.open_device("p0", side="dpu")
    async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device, num_tasks=4) as dma:
        inventory = pydoca.BufInventory(2)
        src, dst = device.mmap(bytearray(size)), device.mmap(pydoca.alloc(size))
        with pydoca.trace(fabric=False) as trace:
            from_, to = inventory.get_by_data(src), inventory.get_by_addr(dst)
            for _ in range(count):
                await dma.memcpy(from_, to)
                to.reset_data_len()
    return trace


def kinds(trace: pydoca.Trace) -> collections.Counter:
    return collections.Counter(event.kind for event in trace.events)


def test_tasks_and_awaits_of_a_coroutine():
    trace = asyncio.run(copy_some(3))
    assert kinds(trace) == {"submit": 3, "complete": 3, "await": 3}
    submitted = next(event for event in trace.events if event.kind == "submit")
    assert (submitted.name, submitted.context, submitted.device) == ("memcpy", "dma", "p0 (dpu)")
    assert submitted.nbytes == 64
    waited = next(event for event in trace.events if event.kind == "await")
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "await dma.memcpy(from_, to)" in text)
    assert waited.name == f"{__name__}.copy_some:{line}"
    assert waited.duration > 0
    assert all(0 <= event.time <= trace.duration for event in trace.events)
    assert [event.time for event in trace.events] == sorted(event.time for event in trace.events)
    assert trace.lost == 0
    assert repr(trace).startswith("<pydoca.Trace 9 events of 1 process(es) in ")


def test_work_of_the_device_has_a_lane_and_overlaps_the_task():
    trace = asyncio.run(copy_some(1, 1 << 20))
    work = [event for event in trace.events if event.kind == "work"]
    assert sum(event.nbytes for event in work) == 1 << 20
    groups = [lane.group for lane in lanes_of(trace)]
    assert groups == sorted(groups, key=["contexts", "devices", "sync events", "coroutines"].index)
    assert "devices" in groups


def test_an_await_that_suspends_is_recorded_with_all_its_time():
    async def slow_reader(context):
        return await context.wait_gt(0)

    async def main():
        device = pydoca.open_device("p0", side="dpu")
        async with pydoca.ProgressEngine() as pe, pydoca.SyncEvent(device).as_context(pe) as context:
            with pydoca.trace(fabric=False) as trace:
                waiting = asyncio.create_task(slow_reader(context))
                await asyncio.sleep(0.02)
                await context.notify_set(1)
                await waiting
        return trace

    trace = asyncio.run(main())
    waited = [event for event in trace.events if event.kind == "await" and "slow_reader" in event.name]
    assert [event.duration >= 10_000_000 for event in waited] == [True]


def test_sync_events_of_the_cpu():
    device = pydoca.open_device("p0", side="dpu")
    with pydoca.SyncEvent(device) as event, pydoca.trace(fabric=False) as trace:
        event.update_set(5)
        event.update_add(2)
        with pytest.raises(pydoca.TimeOutError):
            event.wait_gt(100, timeout=0.01)
    found = [(each.kind, each.value) for each in trace.events]
    assert found[:2] == [("event_set", 5), ("event_add", 2)]
    waits = trace.events[2:]  # a blocking call waits in slices
    assert {event.kind for event in waits} == {"event_wait"}
    assert sum(event.duration for event in waits) >= 9_000_000


def test_states_and_failures():
    device = pydoca.open_device("p0", side="dpu")
    pe = pydoca.ProgressEngine()
    with pydoca.trace(fabric=False) as trace, pydoca.Dma(pe, device) as dma:
        inventory = pydoca.BufInventory(2)
        src, dst = device.mmap(bytearray(64)), device.mmap(bytearray(8))
        task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst), submit=False)
        task.submit()  # unchecked, so that it fails in the device
        with pytest.raises(pydoca.IoFailedError):
            task.wait()
    states = [event.name for event in trace.events if event.kind == "state"]
    assert states == ["RUNNING", "STOPPING", "IDLE"]
    assert [event.status.name for event in trace.events if event.kind == "complete"] == ["IO_FAILED"]
    assert 'class="f"' in trace._repr_svg_()


def test_the_end_of_the_with_block_stops_it_also_after_an_error():
    with pytest.raises(KeyError), pydoca.trace(fabric=False) as trace:
        raise KeyError
    assert "0 events" in repr(trace)


def test_misuse_is_refused():
    trace = pydoca.Trace(fabric=False)
    for attempt in (trace.stop, lambda: trace.events, lambda: trace.save("x"), lambda: trace.duration):
        with pytest.raises(pydoca.BadStateError):
            attempt()
    assert trace._repr_svg_() is None
    assert repr(trace) == "<pydoca.Trace not started>"
    with trace:
        assert repr(trace) == "<pydoca.Trace running>"
        with pytest.raises(pydoca.BadStateError):
            trace.start()
    for size in (0, 65537):
        with pytest.raises(pydoca.InvalidValueError), pydoca.trace(events_per_thread=size):
            pass


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [
        (0, pydoca.InvalidValueError, "events_per_thread is 0; choose 1 to 65536"),
        (-1, pydoca.InvalidValueError, "is -1; choose"),
        (1 << 40, pydoca.InvalidValueError, "choose 1 to 65536"),
        ("many", TypeError, "events_per_thread is an int, 1 to 65536, not 'many'"),
        (1.5, TypeError, "not 1.5"),
    ],
)
def test_a_size_that_no_trace_can_have_is_refused(size, error, text):
    with pytest.raises(error, match=text):
        pydoca.trace(events_per_thread=size)


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        (3, TypeError, r"save a trace: the file is given by a str or a pathlib\.Path, such as 'trace\.json', not by 3"),
        (b"t", TypeError, "not by b't'"),
        ("", pydoca.InvalidValueError, "save a trace: '' is not the name of a file; give one, such as 'trace.json'"),
        ("a\0b", pydoca.InvalidValueError, r"'a\\x00b' is not the name of a file"),
    ],
)
def test_a_name_that_no_file_can_have_is_refused(name, error, text):
    with pydoca.trace(fabric=False) as trace:
        pass
    with pytest.raises(error, match=text):
        trace.save(name)


def test_many_events_overwrite_the_oldest_and_their_picture_stays_small():
    trace = asyncio.run(copy_some(2000))
    assert "drawn together" in trace._repr_svg_()
    trace = asyncio.run(copy_some(30000))
    assert trace.lost > 0
    assert len(trace.events) <= 65536
    svg = trace._repr_svg_()
    assert f"{trace.lost} events lost" in svg
    assert len(svg) < 400_000


def test_pictures_are_svg_without_scripts_in_both_themes():
    trace = asyncio.run(copy_some(3))
    svg = ElementTree.fromstring(trace._repr_svg_())
    assert svg.tag == f"{SVG}svg"
    assert not list(svg.iter(f"{SVG}script"))
    text = trace._repr_svg_()
    assert "prefers-color-scheme:dark" in text
    assert "data-jp-theme-light=false" in text
    assert f"process {os.getpid()}" in text
    assert trace._repr_html_().startswith("<div")
    ElementTree.fromstring(trace._repr_html_())


def test_the_name_of_a_coroutine_is_escaped():
    name = "<b>&\x1bname</b>"
    code = copy_some.__code__.replace(co_name=name, co_qualname=name)
    trace = asyncio.run(FunctionType(code, globals())(3, 64))
    svg = ElementTree.fromstring(trace._repr_svg_())
    assert any("<b>&\ufffdname</b>" in (each.text or "") for each in svg.iter(f"{SVG}title"))
    assert not list(svg.iter(f"{SVG}b"))


def validate(path) -> dict:
    """Checks the fields that Chrome's trace-event format requires of each phase."""
    document = json.loads(Path(path).read_text())
    began = collections.Counter()
    flows = collections.Counter()
    for event in document["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        phase = event["ph"]
        assert phase in ("M", "X", "b", "e", "i", "s", "f")
        if phase == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            continue
        assert event["ts"] >= 0
        assert isinstance(event["cat"], str)
        if phase == "X":
            assert event["dur"] >= 0
        elif phase in ("b", "e"):
            began[event["cat"], event["id"], event["pid"]] += 1 if phase == "b" else -1
        elif phase == "i":
            assert event["s"] == "t"
        elif phase in ("s", "f"):
            flows[event["id"]] += 1 if phase == "s" else -1
            assert phase == "s" or event["bp"] == "e"
    assert not +began
    assert not -began
    assert not any(flows.values())
    return document


def test_the_file_is_a_chrome_trace(tmp_path):
    trace = asyncio.run(copy_some(3, 1 << 20))
    trace.save(tmp_path / "x.json")
    events = validate(tmp_path / "x.json")["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "b"].count("memcpy") == 3
    assert {"dma on p0 (dpu)"} <= {event["args"].get("name") for event in events if event["ph"] == "M"}


async def exchange(count: int) -> None:
    device = pydoca.open_device("pf0", side="host")
    async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, device, "trace") as link:
        for number in range(count):
            await link.send(bytes([number]))
            await link.recv()


def test_the_messages_of_two_processes(server, tmp_path):
    wanted, found = {0: 5, 1: 5}, None
    for _ in range(10):  # a tracer may start before the server has answered if the machine is busy
        with pydoca.trace() as trace:
            asyncio.run(exchange(5))
        flows = flows_of(trace.events)
        found = collections.Counter(flow.sent.process for flow in flows)
        if found == wanted:
            break
    assert found == wanted
    assert {process.pid for process in trace.processes} == {os.getpid(), server.pid}
    assert all(flow.sent.time <= flow.received.time for flow in flows)
    assert any("answer" in event.name for event in trace.events if event.kind == "await" and event.process == 1)
    trace.save(tmp_path / "x.json")
    arrows = [event for event in validate(tmp_path / "x.json")["traceEvents"] if event["ph"] == "s"]
    assert len(arrows) == 10
    assert 'class="a"' in trace._repr_svg_()


async def rdma_messages(count: int) -> pydoca.Trace:
    """Two contexts of this process: messages to and fro, then a write with a number, then one that was not recorded."""
    here, there = pydoca.open_device("pf0", side="host"), pydoca.open_device("p1", side="dpu")
    options = {"permissions": "rdma_write"}
    access = "local_read_write|rdma_write"
    async with (
        pydoca.ProgressEngine() as pe,
        pydoca.Rdma(pe, here, **options) as a,
        pydoca.Rdma(pe, there, **options) as b,
    ):
        ab, ba = a.export(), b.export()
        ab.connect(ba.details)
        ba.connect(ab.details)
        with pydoca.BufInventory(8) as inventory, there.mmap(bytearray(8), access=access) as target:
            data = {rdma: inventory.get_by_data(rdma.device.mmap(bytearray(b"message"))) for rdma in (a, b)}
            room = {rdma: inventory.get_by_addr(rdma.device.mmap(bytearray(64))) for rdma in (a, b)}
            remote = inventory.get_by_addr(here.import_mmap(target.export_rdma()))
            with pydoca.trace(fabric=False) as trace:
                for _ in range(count):
                    for link, receiver, sender in ((ab, b, a), (ba, a, b)):
                        task = receiver.receive(room[receiver])
                        await link.send(data[sender])
                        await task
                        room[receiver].reset_data_len()
                task = b.receive(None)
                await ab.write_imm(data[a], remote, 7)
                await task
            with pydoca.trace(fabric=False) as later:
                task = b.receive(room[b])
            await ab.send(data[a])
            await task
            assert kinds(later)["received"] == 0
    return trace


def test_messages_of_rdma_have_arrows():
    trace = asyncio.run(rdma_messages(3))
    flows = flows_of(trace.events)
    assert [(flow.sent.device, flow.received.device) for flow in flows] == [
        *[("pf0 (host)", "p1 (dpu)"), ("p1 (dpu)", "pf0 (host)")] * 3,
        ("pf0 (host)", "p1 (dpu)"),
    ]
    assert len({flow.sent.id for flow in flows}) == 1
    assert {flow.sent.nbytes for flow in flows} == {7}
    assert all(flow.sent.context == flow.received.context == "rdma" for flow in flows)
    assert [flow.sent.value for flow in flows if flow.sent.device == "pf0 (host)"] == [1, 2, 3, 4]


RDMA_SERVER = """
import pydoca
device = pydoca.open_device("p1", side="dpu")
async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device) as rdma:
    with rdma.listen(4321) as listener:
        print("ready")
        connection = await (await listener.request()).accept()
        buf = pydoca.BufInventory(1).get_by_addr(device.mmap(pydoca.alloc(64)))
        while True:
            await rdma.receive(buf)
            await connection.send(buf)
            buf.reset_data_len()
"""


async def rdma_echo(count: int) -> None:
    device = pydoca.open_device("pf0", side="host")
    inventory = pydoca.BufInventory(2)
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device) as rdma:
        connection = await rdma.connect(pydoca.open_device("p1", side="dpu").info.ipv4_addr, 4321)
        data = inventory.get_by_data(device.mmap(bytearray(b"message")))
        room = inventory.get_by_addr(device.mmap(bytearray(64)))
        for _ in range(count):
            task = rdma.receive(room)
            await connection.send(data)
            await task
            room.reset_data_len()


@pytest.fixture
def own_fabric():
    """A fabric in the usual directory: memory that this process has exported there stays there."""
    before = sim.fabric()
    sim.set_fabric(f"trace-{os.getpid()}")
    yield
    sim.set_fabric(before)


def test_messages_of_rdma_between_processes_have_arrows(own_fabric):
    with sim.spawn(RDMA_SERVER, show=False) as process:
        while "ready" not in process.output:
            assert process.returncode is None, process.output
            time.sleep(0.01)
        with pydoca.trace() as trace:
            asyncio.run(rdma_echo(5))
        process.stop()
    found = collections.Counter(flow.sent.process for flow in flows_of(trace.events))
    assert found[0] >= 4  # the first receive of the other process may be older than its part of the trace
    assert found[1] >= 4


def test_a_killed_process_leaves_its_events(server):
    with pydoca.trace() as trace:
        asyncio.run(exchange(2))
        server.send_signal(signal.SIGKILL)
        server.wait()
    assert len(trace.processes) == 2
    assert any(event.process == 1 for event in trace.events)


def test_a_process_that_starts_meanwhile_takes_part(fabric):
    script = """
        import asyncio, sys
        sys.path.insert(0, sys.argv[1])
        import test_trace
        asyncio.run(test_trace.copy_some(3))
    """
    line = [sys.executable, "-c", textwrap.dedent(script), str(Path(__file__).parent)]
    with pydoca.trace() as trace:
        subprocess.run(line, check=True, timeout=60)
    # The other process's own trace shares the recording.
    assert [event.kind for event in trace.events if event.process == 1].count("submit") == 3


def test_nothing_is_left(server, fabric):
    with pydoca.trace():
        asyncio.run(exchange(1))
    names = {path.name.split("-")[0] for path in fabric.rglob("*-*") if not path.is_dir()}
    assert names <= {"comch", "trace", "memory"}
    server.send_signal(signal.SIGINT)
    server.wait()
    assert [path for path in fabric.rglob("*-*") if path.name.startswith("tracer-")] == []


@pytest.mark.slow
def test_the_command_copies_with_a_trace_of_both_processes(commands, tmp_path):
    (tmp_path / "source").write_bytes(bytes(1 << 20))
    run = commands.run("copy", "--trace", tmp_path / "x.json", tmp_path / "source", tmp_path / "copy")
    assert (run.returncode, run.stderr) == (0, "")
    document = validate(tmp_path / "x.json")
    assert document["otherData"]["processes"] == 3
    found = collections.Counter(event["name"] for event in document["traceEvents"] if event["ph"] == "b")
    assert found["memcpy"] == 2
    assert found["send"] > 0


@pytest.mark.slow
def test_the_command_refuses_a_file_that_it_cannot_write(commands, tmp_path):
    run = commands.run("copy", "--trace", tmp_path / "no" / "x.json", __file__, tmp_path / "copy")
    assert run.returncode == 1
    assert "--trace" in run.stderr
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("name", ["source", "link", "copy"])
def test_the_command_does_not_write_over_its_own_files(commands, tmp_path, name):
    (tmp_path / "source").write_bytes(b"data")
    (tmp_path / "link").symlink_to("source")
    run = commands.run("copy", "--trace", tmp_path / name, tmp_path / "source", tmp_path / "copy")
    assert run.returncode != 0
    assert "is a file of this command itself" in run.stderr
    assert (tmp_path / "source").read_bytes() == b"data"
    assert not (tmp_path / "copy").exists()


def test_display_writes_the_picture(tmp_path, capsys):
    match = "after the end of its with block"
    with pydoca.trace(fabric=False) as trace, pytest.raises(pydoca.InvalidValueError, match=match):
        pydoca.display(trace)
    pydoca.display(trace)
    assert capsys.readouterr().out == f"{trace!r}\n"
    for name in ("t.svg", "t.html"):
        pydoca.display(trace, tmp_path / name)
        assert 'class="pydoca-trace"' in (tmp_path / name).read_text()
