"""Comch between real processes, which are killed and interrupted."""

import asyncio
import contextlib
import hashlib
import os
import secrets
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import pydoca
from pydoca import comch

# Seconds. The limit is 0.1; a machine under load gets more.

PRELUDE = """
import asyncio, hashlib, random, sys, time
import pydoca
from pydoca import comch

name = sys.argv[1]

def say(what):
    print(what, flush=True)

def client(pe, **options):
    return comch.Client(pe, pydoca.open_device("0b:00.0", side="host"), name, **options)

def server(pe, **options):
    dev = pydoca.open_device("03:00.0", side="dpu")
    return comch.Server(pe, dev, dev.open_representor("0b:00.0"), name, **options)

def messages(seed):
    source = random.Random(seed)
    return [source.randbytes(source.choice([0, 1, 64, 1000, 4080])) for _ in range(1000)]
"""


class Scripts:
    """Python processes that share a name to meet at."""

    def __init__(self) -> None:
        self.name = f"test-{secrets.token_hex(6)}"
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, body: str, *flags: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", PRELUDE + textwrap.dedent(body), self.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture
def scripts() -> Iterator[Scripts]:
    scripts = Scripts()
    yield scripts
    scripts.end()


@pytest.fixture
def host() -> Iterator[pydoca.Device]:
    with pydoca.open_device("0b:00.0", side="host") as device:
        yield device


@pytest.fixture
def dpu() -> Iterator[pydoca.Device]:
    with pydoca.open_device("03:00.0", side="dpu") as device:
        yield device


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: "subprocess.Popen[str]") -> str:
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    return output.strip()


def digest(what: list[bytes]) -> str:
    return hashlib.sha256(b"".join(len(message).to_bytes(4, "big") + message for message in what)).hexdigest()


EXCHANGE = """
async def main():
    async with pydoca.ProgressEngine() as pe:
        {connect}:
            {accept}
            async def send():
                for message in messages({mine}):
                    await link.send(message)
            sending = asyncio.create_task(send())
            got = hashlib.sha256()
            for _ in range(1000):
                message = await link.recv()
                got.update(len(message).to_bytes(4, "big") + message)
            await sending
            await link.send(b"done")
            assert await link.recv() == b"done"
            say(got.hexdigest())

asyncio.run(main())
"""
CLIENT = EXCHANGE.format(connect="async with client(pe) as link", accept="", mine=1)
SERVER = EXCHANGE.format(connect="async with server(pe) as serving", accept="link = await serving.accept()", mine=2)


@pytest.mark.parametrize("order", ["client first", "server first"])
def test_two_processes_exchange_a_thousand_messages_each_way(scripts: Scripts, order: str) -> None:
    bodies = [CLIENT, SERVER] if order == "client first" else [SERVER, CLIENT]
    processes = [scripts.start(body) for body in bodies]
    outputs = [finish(process) for process in processes]
    namespace: dict[str, Any] = {"__name__": "prelude"}
    exec(PRELUDE.replace("sys.argv[1]", '""'), namespace)
    expected = [digest(namespace["messages"](seed)) for seed in (2, 1)]
    assert outputs == (expected if order == "client first" else expected[::-1])


# A peer that is killed.

PASSIVE_CLIENT = """
with pydoca.ProgressEngine() as pe, client(pe, recv_queue_size=1) as link:
    say("connected")
    time.sleep(60)
"""
PASSIVE_SERVER = """
with pydoca.ProgressEngine() as pe, server(pe, recv_queue_size=1) as serving:
    say("started")
    link = serving.accept().wait()
    say("connected")
    time.sleep(60)
"""


async def receive(link: comch.Connection) -> None:
    await link.recv()


async def send_for_ever(link: comch.Connection) -> None:
    while True:
        await link.send(bytes(4080))


async def fails_with_the_peer(
    process: "subprocess.Popen[str]", link: comch.Connection, work: Callable[[comch.Connection], Awaitable[None]]
) -> None:
    """Every wait of the link fails once the other process was killed."""
    waiting = asyncio.ensure_future(work(link))
    await asyncio.sleep(0.1)  # the peer does not read its socket, which is full by now
    assert not waiting.done()
    process.kill()
    with pytest.raises(pydoca.ConnectionResetError):
        await asyncio.wait_for(waiting, 10)
    assert not link.is_connected


@pytest.mark.parametrize("work", [receive, send_for_ever])
def test_a_killed_client_is_noticed(scripts: Scripts, dpu: pydoca.Device, work: Any) -> None:
    async def main() -> None:
        with dpu.open_representor("0b:00.0") as rep:
            async with pydoca.ProgressEngine() as pe, comch.Server(pe, dpu, rep, scripts.name) as server:
                process = scripts.start(PASSIVE_CLIENT)
                link = await server.accept()
                assert await asyncio.to_thread(line, process) == "connected"
                accepting = asyncio.ensure_future(server.accept())
                await fails_with_the_peer(process, link, work)
                # The server goes on, and the accept() that waits gets the next connection.
                scripts.start(PASSIVE_CLIENT)
                assert (await accepting).is_connected

    asyncio.run(main())


@pytest.mark.parametrize("work", [receive, send_for_ever])
def test_a_killed_server_is_noticed(scripts: Scripts, host: pydoca.Device, work: Any) -> None:
    async def main() -> None:
        process = scripts.start(PASSIVE_SERVER)
        async with pydoca.ProgressEngine() as pe, comch.Client(pe, host, scripts.name) as link:
            assert await asyncio.to_thread(line, process) == "started"
            assert await asyncio.to_thread(line, process) == "connected"
            client = link.client
            assert client is not None
            await fails_with_the_peer(process, link, work)
            while client.state is not pydoca.ContextState.IDLE:
                await asyncio.sleep(0)
            assert client.failure is pydoca.Status.CONNECTION_RESET

    asyncio.run(main())


def test_a_client_that_waits_outlives_a_killed_server(scripts: Scripts, host: pydoca.Device) -> None:
    first = scripts.start(PASSIVE_SERVER)
    assert line(first) == "started"
    first.kill()
    first.wait()
    with pydoca.ProgressEngine() as pe:
        client = comch.Client(pe, host, scripts.name)
        client.start()
        scripts.start(PASSIVE_SERVER)
        with client as link:
            assert link.is_connected


FORKING_SERVER = """
import os
pe = pydoca.ProgressEngine()
s = server(pe)
s.start()
say("started")
link = s.accept().wait()
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
say(child)
link.recv().wait()
"""


def test_a_forked_child_keeps_nothing_that_peers_wait_for(scripts: Scripts, host: pydoca.Device) -> None:
    """The end of the parent is the end of its links and of its name, however long the child lives."""
    first = scripts.start(FORKING_SERVER)
    assert line(first) == "started"
    with pydoca.ProgressEngine() as pe, comch.Client(pe, host, scripts.name) as link:
        child = int(line(first))
        first.kill()
        try:
            with pytest.raises(pydoca.ConnectionResetError):
                link.recv().wait(30)
            assert line(scripts.start(PASSIVE_SERVER)) == "started"
        finally:
            os.kill(child, signal.SIGKILL)


# Ctrl-C.

INTERRUPTED = """
pe = pydoca.ProgressEngine()
say("ready")
try:
    {body}
except KeyboardInterrupt:
    say("interrupted")
"""
BLOCKING = {
    "connect": "client(pe).__enter__()",
    "accept": "s = server(pe); s.start(); s.accept().wait()",
    "recv": "s = server(pe); s.start(); c = client(pe); c.__enter__().recv().wait()",
    "send": "s = server(pe, recv_queue_size=1); s.start(); c = client(pe); link = c.__enter__()\n"
    "    while True: link.send(bytes(4080)).wait()",
    "async recv": "s = server(pe); s.start(); c = client(pe); link = c.__enter__(); import asyncio\n"
    "    async def main(): await link.recv()\n"
    "    asyncio.run(main())",
}


@pytest.mark.parametrize("what", BLOCKING)
def test_ctrl_c_ends_every_wait(scripts: Scripts, what: str) -> None:
    process = scripts.start(INTERRUPTED.format(body=BLOCKING[what]))
    assert line(process) == "ready"
    wait_until_asleep(process.pid)
    process.send_signal(signal.SIGINT)
    assert line(process) == "interrupted"
    finish(process)


def wait_until_asleep(pid: int) -> None:
    """Waits until the process has slept for a while."""
    quiet = 0
    for _ in range(2000):
        quiet = quiet + 1 if state_of(pid) == "S" else 0
        if quiet == 20:
            return
        time.sleep(0.005)
    pytest.fail("the process never comes to rest")


def state_of(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


# A server that is full.

ONE_CLIENT = """
pydoca.sim.load_topology({
    "function": [
        {"name": "pf0", "pci_addr": "0b:00.0", "side": "host", "parent": "p0", "representor": "r"},
        {"name": "p0", "pci_addr": "03:00.0", "side": "dpu", "capabilities": {"comch": {"max_clients": 1}}},
    ]
})
"""
FULL = """
with pydoca.ProgressEngine() as pe, server(pe), client(pe):
    try:
        client(pe).__enter__()
    except pydoca.FullError as error:
        say(error)
"""


def test_a_full_server_says_why_it_refuses(scripts: Scripts) -> None:
    said = finish(scripts.start(ONE_CLIENT + FULL))
    assert scripts.name in said
    assert "as many clients as it takes" in said


UNACCEPTED = """
with pydoca.ProgressEngine() as pe, server(pe) as serving:
    for number in range(4):
        with client(pe) as link:
            for _ in range(3):
                link.send(str(number).encode()).wait()
    while pe.progress():
        pass
    say(serving.accept().wait().recv().wait().decode())
"""


def test_what_ended_unaccepted_is_not_kept_without_limit(scripts: Scripts) -> None:
    """And a full server has room for the next client as soon as one has left, even if messages of that one wait."""
    assert finish(scripts.start(ONE_CLIENT + UNACCEPTED)) == "3"


def test_nothing_is_left_of_a_killed_process(scripts: Scripts, host: pydoca.Device, dpu: pydoca.Device) -> None:
    """Its server's name is free at once."""
    process = scripts.start(PASSIVE_SERVER)
    assert line(process) == "started"
    process.kill()
    process.wait()
    with (
        dpu.open_representor("0b:00.0") as rep,
        pydoca.ProgressEngine() as pe,
        comch.Server(pe, dpu, rep, scripts.name) as server,
        comch.Client(pe, host, scripts.name) as link,
    ):
        link.send(b"x").wait(timeout=10)
        assert server.accept().wait(timeout=10).recv().wait(timeout=10) == b"x"


DROPPED = """
with pydoca.ProgressEngine() as pe, server(pe) as serving, client(pe) as link:
    link.send(b"x")
    assert serving.accept().wait().recv().wait() == b"x"
"""


def test_dropping_a_send_task_is_nothing_to_warn_of(scripts: Scripts) -> None:
    """Python's development mode does not warn either: a failure would show in the connection's end."""
    process = scripts.start(DROPPED, "-X", "dev")
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, "dropped" in errors) == (0, False)


def test_a_stopped_process_is_not_dead(scripts: Scripts, host: pydoca.Device) -> None:
    """A stopped process keeps its connection, and later receives the messages that were sent meanwhile."""
    process = scripts.start(
        """
        with pydoca.ProgressEngine() as pe, server(pe) as serving:
            link = serving.accept().wait()
            say(link.recv().wait().decode())
        """
    )
    with pydoca.ProgressEngine() as pe, comch.Client(pe, host, scripts.name) as link:
        process.send_signal(signal.SIGSTOP)
        link.send(b"hello").wait(timeout=10)
        with contextlib.suppress(TimeoutError):
            link.recv().wait(timeout=0.2)
            pytest.fail("nothing was sent here")
        process.send_signal(signal.SIGCONT)
        assert finish(process) == "hello"
