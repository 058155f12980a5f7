"""Sync events between real processes: every operation, in both modes, both ways across the PCIe link."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import pydoca

# Seconds. The project's own limit for noticing the end of the other process is one; machines under load get more.
ENOUGH = 20.0  # seconds in which an event must come

DEVICES = {"host": "0b:00.0", "dpu": "03:00.0"}
OTHER = {"host": "dpu", "dpu": "host"}

# The other side: imports the blobs of the command line, and executes the body.
PEER = """
import asyncio, sys, time
import pydoca

device = pydoca.open_device(sys.argv[1], side=sys.argv[2])
event = device.import_sync_event(bytes.fromhex(sys.argv[3])) if sys.argv[3] else None

def say(what):
    print(what, flush=True)

class Sync:
    def __enter__(self):
        event.start()
        return self
    def __exit__(self, *_):
        event.close()
    def set(self, value):
        event.update_set(value)
    def add(self, value):
        return event.update_add(value)
    def wait(self, value):
        event.wait_eq(value, timeout=20)
    def get(self):
        return event.get()

class Async:
    def __enter__(self):
        self.pe = pydoca.ProgressEngine()
        self.ctx = event.as_context(self.pe)
        self.ctx.start()
        return self
    def __exit__(self, *_):
        self.pe.__exit__(None, None, None)
        event.close()
    def set(self, value):
        self.ctx.notify_set(value).wait(20)
    def add(self, value):
        return self.ctx.notify_add(value).wait(20)
    def wait(self, value):
        self.ctx.wait_eq(value).wait(20)
    def get(self):
        return self.ctx.get().wait(20)

MODES = {"sync": Sync, "async": Async}
"""


class Peer:
    def __init__(self, side, blob, body, env):
        script = PEER + textwrap.dedent(body)
        blob = blob.hex() if blob else ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, DEVICES[side], side, blob],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        assert self.process.wait(ENOUGH) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def clean(self):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def start():
    """Starts peers in a fabric of the test's own, in which this process is too."""
    before = pydoca.sim.fabric()
    name = f"test-{secrets.token_hex(8)}"
    pydoca.sim.set_fabric(name)
    peers = []

    def start(side, blob, body):
        peers.append(Peer(side, blob, body, {**os.environ, "PYDOCA_FABRIC": name}))
        return peers[-1]

    yield start
    for peer in peers:
        peer.clean()
    pydoca.sim.set_fabric(before)


class Owner:
    """This process's side, in either mode, with the blocking calls of both."""

    def __init__(self, side, mode, publisher, subscriber, **options):
        self.device = pydoca.open_device(DEVICES[side], side=side)
        self.event = pydoca.SyncEvent(self.device, publisher=publisher, subscriber=subscriber, **options)
        self.pe = None
        if mode == "sync":
            self.event.start()
        else:
            self.pe = pydoca.ProgressEngine()
            self.ctx = self.event.as_context(self.pe)
            self.ctx.start()
        self.blob = self.event.export_to_remote_pci()

    def set(self, value):
        self.ctx.notify_set(value).wait(ENOUGH) if self.pe else self.event.update_set(value)

    def add(self, value):
        return self.ctx.notify_add(value).wait(ENOUGH) if self.pe else self.event.update_add(value)

    def get(self):
        return self.ctx.get().wait(ENOUGH) if self.pe else self.event.get()

    def wait(self, value, timeout=ENOUGH):
        if self.pe:
            self.ctx.wait_eq(value).wait(timeout)
        else:
            self.event.wait_eq(value, timeout=timeout)

    def close(self):
        if self.pe:
            self.pe.__exit__(None, None, None)
        self.event.close()
        self.device.close()


@pytest.fixture
def own():
    owners = []

    def own(side="host", mode="sync", publisher="cpu", subscriber="remote_pci", **options):
        owners.append(Owner(side, mode, publisher, subscriber, **options))
        return owners[-1]

    yield own
    for owner in owners:
        owner.close()


WAYS = [("cpu", "remote_pci"), ("remote_pci", "cpu")]


@pytest.mark.parametrize("peer_mode", ["sync", "async"])
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("side", ["host", "dpu"])
@pytest.mark.parametrize(("publisher", "subscriber"), WAYS)
def test_every_operation_in_every_mode_from_either_side(start, own, side, mode, peer_mode, publisher, subscriber):
    owner = own(side, mode, publisher, subscriber)
    body = f"""
    with MODES[{peer_mode!r}]() as mine:
        mine.wait(1)
        assert mine.get() == 1
        mine.set(2)
        mine.wait(3)
        assert mine.add(4) == 3
        mine.wait(9)
    """
    peer = start(OTHER[side], owner.blob, body)
    owner.set(1)
    owner.wait(2)
    assert owner.get() == 2
    assert owner.add(1) == 2
    owner.wait(7)
    owner.add(2)
    peer.end()
    assert owner.get() == 9


@pytest.mark.parametrize("wait", ["wait_gt", "wait_eq", "wait_neq"])
@pytest.mark.parametrize("mode", ["", "_yield"])
def test_every_wait_on_an_import(start, own, wait, mode):
    owner = own()
    value = 5 if wait == "wait_eq" else 0
    peer = start(
        "dpu", owner.blob, f'with event:\n    say("here")\n    event.{wait}{mode}({value}, timeout=20)\n    say("went")'
    )
    assert peer.line() == "here"
    owner.set(5)
    assert peer.line() == "went"
    peer.end()


def test_ping_pong_awaited(start, own):
    rounds = 2000
    owner = own(mode="async")
    peer = start(
        "dpu",
        owner.blob,
        f"""
        async def main():
            async with pydoca.ProgressEngine() as pe, event.as_context(pe) as ctx:
                for i in range(1, 2 * {rounds}, 2):
                    await ctx.wait_eq(i)
                    await ctx.notify_set(i + 1)
        asyncio.run(main())
        """,
    )

    async def main():
        for i in range(1, 2 * rounds, 2):
            await owner.ctx.notify_set(i)
            await owner.ctx.wait_eq(i + 1)

    asyncio.run(asyncio.wait_for(main(), 50))
    peer.end()
    owner.pe.release_thread()


def test_the_sum_of_eight_processes(start, own):
    owner = own()
    body = """
    with event:
        event.wait_gt(0, timeout=20)
        for _ in range(100_000):
            event.update_add(1)
    """
    peers = [start("dpu", owner.blob, body) for _ in range(8)]
    owner.set(1)
    for peer in peers:
        assert peer.process.wait(50) == 0
    assert owner.get() == 800_001


def test_memory_of_the_users_is_shared(start):
    device = pydoca.open_device("0b:00.0", side="host")
    memory = pydoca.alloc(8)
    word = memoryview(memory).cast("B")
    with pydoca.SyncEvent(device, subscriber="remote_pci", memory=word) as event:
        event.update_set(40)
        peer = start("dpu", event.export_to_remote_pci(), "with event:\n    event.update_add(2)")
        event.wait_eq(42, timeout=ENOUGH)
        peer.end()
        assert word[0] == 42
    device.close()


# ---- the end of the other process


@pytest.mark.parametrize("wait", ["wait_gt", "wait_eq", "wait_neq"])
@pytest.mark.parametrize("mode", ["", "_yield"])
def test_a_synchronous_waiter_notices_the_death_of_the_owner(start, wait, mode):
    """The owner is in the other process, and dies during the wait."""
    exporter = start(
        "host",
        None,
        """
        event = pydoca.SyncEvent(device, subscriber="remote_pci")
        event.start()
        say(event.export_to_remote_pci().hex())
        sys.stdin.read()
        """,
    )
    with (
        pydoca.open_device("03:00.0", side="dpu") as device,
        device.import_sync_event(bytes.fromhex(exporter.line())) as event,
    ):
        thread = threading.Timer(0.1, exporter.process.kill)
        thread.start()
        with pytest.raises(pydoca.ConnectionResetError) as raised:
            getattr(event, wait + mode)(0 if wait != "wait_eq" else 7, timeout=ENOUGH)
        thread.join()
        assert isinstance(raised.value, ConnectionResetError)
        for operation in (event.get, lambda: event.update_set(1), lambda: event.update_add(1)):
            with pytest.raises(pydoca.ConnectionResetError):
                operation()


def test_an_asynchronous_waiter_notices_the_death_of_the_owner(start):
    exporter = start(
        "host",
        None,
        """
        event = pydoca.SyncEvent(device, subscriber="remote_pci")
        event.start()
        say(event.export_to_remote_pci().hex())
        sys.stdin.read()
        """,
    )

    async def main(device, blob):
        event = device.import_sync_event(blob)
        async with pydoca.ProgressEngine() as pe, event.as_context(pe) as ctx:
            waiting = [asyncio.ensure_future(ctx.wait_eq(i)) for i in range(7, 10)]
            await asyncio.sleep(0.1)
            exporter.process.kill()
            for one in waiting:
                with pytest.raises(pydoca.ConnectionResetError):
                    await asyncio.wait_for(one, ENOUGH)
            with pytest.raises(pydoca.ConnectionResetError):
                await ctx.get()
            with pytest.raises(pydoca.ConnectionResetError):
                await ctx.poll_until(lambda value: value == 1)
            assert ctx.state is pydoca.ContextState.RUNNING
        event.close()

    with pydoca.open_device("03:00.0", side="dpu") as device:
        asyncio.run(main(device, bytes.fromhex(exporter.line())))


@pytest.mark.parametrize("when", ["before", "during", "stopped"])
def test_a_synchronous_waiter_notices_the_death_of_an_importer(start, own, when):
    owner = own(publisher="remote_pci", subscriber="cpu")
    peer = start("dpu", owner.blob, 'with event:\n    say("here")\n    time.sleep(60)')
    assert peer.line() == "here"
    if when == "before":
        peer.kill()
    elif when == "stopped":
        peer.process.send_signal(signal.SIGSTOP)
        with pytest.raises(pydoca.TimeOutError):
            owner.wait(7, timeout=0.1)
    thread = threading.Timer(0.1, peer.process.kill)
    thread.start()
    with pytest.raises(pydoca.ConnectionResetError):
        owner.wait(7, timeout=ENOUGH)
    thread.join()
    owner.set(7)
    owner.wait(7)


def test_an_asynchronous_waiter_notices_the_death_of_an_importer(start, own):
    owner = own(mode="async", publisher="remote_pci", subscriber="cpu")
    peer = start("dpu", owner.blob, 'with event:\n    say("here")\n    time.sleep(60)')
    assert peer.line() == "here"

    async def main():
        waiting = asyncio.ensure_future(owner.ctx.wait_eq(7))
        await asyncio.sleep(0.1)
        peer.process.kill()
        with pytest.raises(pydoca.ConnectionResetError):
            await asyncio.wait_for(waiting, ENOUGH)
        await owner.ctx.notify_set(7)
        assert await owner.ctx.wait_eq(7) == 7

    asyncio.run(main())
    owner.pe.release_thread()


def test_the_last_value_of_a_dying_process_counts(start, own):
    owner = own(publisher="remote_pci", subscriber="cpu")
    body = "import os, signal\nevent.start()\nevent.update_set(7)\nos.kill(os.getpid(), signal.SIGKILL)"
    peer = start("dpu", owner.blob, body)
    peer.process.wait(ENOUGH)
    owner.wait(7)


def test_importing_from_the_dead(start):
    exporter = start(
        "host",
        None,
        'event = pydoca.SyncEvent(device, subscriber="remote_pci")\nevent.start()\n'
        "say(event.export_to_remote_pci().hex())\nsys.stdin.read()",
    )
    blob = bytes.fromhex(exporter.line())
    exporter.kill()
    with pydoca.open_device("03:00.0", side="dpu") as device, pytest.raises(pydoca.NotConnectedError):
        device.import_sync_event(blob)


def test_stopping_ends_the_waits_of_importers(start, own):
    owner = own()
    peer = start(
        "dpu",
        owner.blob,
        """
        with event:
            say("here")
            try:
                event.wait_eq(1, timeout=20)
            except pydoca.NotConnectedError as error:
                say("withdrawn")
        """,
    )
    assert peer.line() == "here"
    time.sleep(0.05)
    owner.event.stop()
    assert peer.line() == "withdrawn"
    peer.end()


def test_two_fabrics_do_not_meet(start, own):
    owner = own()
    before = pydoca.sim.fabric()
    pydoca.sim.set_fabric(f"test-{secrets.token_hex(8)}")
    try:
        with pydoca.open_device("03:00.0", side="dpu") as device, pytest.raises(pydoca.NotPermittedError):
            device.import_sync_event(owner.blob)
    finally:
        pydoca.sim.set_fabric(before)


def test_an_import_that_fails_at_the_importer_is_no_death(start, own):
    owner = own(publisher="remote_pci", subscriber="cpu")
    peer = start(
        "dpu",
        None,
        """
        import os, resource
        blob = bytes.fromhex(sys.stdin.readline())
        own = pydoca.SyncEvent(device)
        own.start()  # what a process has once is there now
        free = [os.dup(0) for _ in range(4)]
        for descriptor in free:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[3], resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        try:
            device.import_sync_event(blob)  # a descriptor is free for the connection, but none for those it brings
        except pydoca.DocaError as error:
            say(f"{type(error).__name__}: {error}")
        sys.stdin.read()
        """,
    )
    peer.process.stdin.write(owner.blob.hex() + "\n")
    peer.process.stdin.flush()
    assert "no descriptor is left" in peer.line()  # the message was cut off on the way: the owner had granted it
    with pytest.raises(pydoca.TimeOutError):
        owner.wait(7, timeout=0.3)
    peer.kill()
    with pytest.raises(pydoca.TimeOutError):
        owner.wait(7, timeout=0.3)
    assert owner.get() == 0


# ---- importers that leave in order

LEAVES = {
    "closes": "with event:\n    say('here')\n    sys.stdin.read(1)\nsay('left')\nsys.stdin.read()",
    "ends": "event.start()\nsay('here')\nsys.stdin.read(1)",
    "exception": "event.start()\nsay('here')\nsys.stdin.read(1)\nsys.stderr.close()\nraise RuntimeError",
    "exits": "event.start()\nsay('here')\nsys.stdin.read(1)\nsys.exit(3)",
    "interrupt": """
        def main(mine):
            with mine:
                say("here")
                time.sleep(60)
        sys.stderr.close()
        main(event)
        """,
}


def let_go(peer):
    peer.process.stdin.write("x")
    peer.process.stdin.flush()


def leave(peer, way):
    if way == "interrupt":
        peer.process.send_signal(signal.SIGINT)
    else:
        let_go(peer)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("way", LEAVES)
def test_a_wait_ends_when_the_last_importer_leaves(start, own, way, mode):
    owner = own(mode=mode, publisher="remote_pci", subscriber="cpu")
    peer = start("dpu", owner.blob, LEAVES[way])
    assert peer.line() == "here"
    thread = threading.Timer(0.1, leave, (peer, way))
    thread.start()
    with pytest.raises(pydoca.NotConnectedError, match="no process that had imported it is left"):
        owner.wait(7)
    thread.join()
    with pytest.raises(pydoca.NotConnectedError):
        owner.wait(7)  # there is still nobody
    owner.set(7)
    owner.wait(7)


def test_an_await_ends_when_the_last_importer_leaves(start, own):
    owner = own(mode="async", publisher="remote_pci", subscriber="cpu")
    peer = start("dpu", owner.blob, LEAVES["closes"])
    assert peer.line() == "here"

    async def main():
        waiting = [asyncio.ensure_future(owner.ctx.wait_eq(i)) for i in range(7, 10)]
        await asyncio.sleep(0.1)
        let_go(peer)
        for one in waiting:
            with pytest.raises(pydoca.NotConnectedError):
                await asyncio.wait_for(one, ENOUGH)
        assert owner.ctx.state is pydoca.ContextState.RUNNING

    asyncio.run(main())
    owner.pe.release_thread()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_wait_goes_on_while_an_importer_is_left(start, own, mode):
    owner = own(mode=mode, publisher="remote_pci", subscriber="cpu")
    first, second = (start("dpu", owner.blob, LEAVES["ends"]) for _ in range(2))
    assert first.line() == second.line() == "here"
    let_go(first)
    first.end()
    with pytest.raises(pydoca.TimeOutError):
        owner.wait(7, timeout=0.3)
    let_go(second)
    with pytest.raises(pydoca.NotConnectedError):
        owner.wait(7)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_event_that_outlives_its_importers_waits_for_the_next(start, own, mode):
    owner = own(mode=mode, publisher="remote_pci", subscriber="cpu", outlives_importers=True)
    assert owner.event.outlives_importers
    for i in range(1, 3):
        peer = start("dpu", owner.blob, "with event:\n    event.update_add(1)")
        owner.wait(i)
        peer.end()
    with pytest.raises(pydoca.TimeOutError):
        owner.wait(7, timeout=0.2)
    peer = start("dpu", owner.blob, "with event:\n    event.update_set(7)")
    owner.wait(7)
    peer.end()


def test_the_next_importer_is_waited_for_again(start, own):
    owner = own(publisher="remote_pci", subscriber="cpu")
    start("dpu", owner.blob, "event.start()\nevent.update_set(7)").end()
    owner.wait(7)
    with pytest.raises(pydoca.NotConnectedError):
        owner.wait(8)
    peer = start("dpu", owner.blob, "event.start()\nsay('here')\nsys.stdin.read(1)\nevent.update_set(8)")
    assert peer.line() == "here"
    threading.Timer(0.1, let_go, (peer,)).start()
    owner.wait(8)
    peer.end()


def test_waits_for_this_cpu_need_no_importer(start, own):
    owner = own()
    start("dpu", owner.blob, "event.start()").end()
    with pytest.raises(pydoca.TimeOutError):
        owner.wait(7, timeout=0.3)


def test_after_the_death_of_the_last_importer_there_is_nobody(start, own):
    owner = own(publisher="remote_pci", subscriber="cpu")
    peer = start("dpu", owner.blob, "event.start()\nsay('here')\ntime.sleep(60)")
    assert peer.line() == "here"
    peer.kill()
    with pytest.raises(pydoca.ConnectionResetError):
        owner.wait(7)
    with pytest.raises(pydoca.NotConnectedError):
        owner.wait(7)
