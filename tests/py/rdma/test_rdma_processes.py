"""RDMA between processes: examples and commands, and peers that die."""

import asyncio
import hashlib
import json
import os
import select
import signal
import sys
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pydoca
from pydoca.cli._errors import CommandError
from pydoca.cli._two_processes.rdma_link import Place, _take, reach, take_first
from pydoca.cli._two_processes.report import Terminal
from pydoca.cli.rdma._round_trips import wanted_by

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def start(start_program):
    """Starts a Python program, and kills it after the test."""
    return partial(start_program, sys.executable, "-P")


@pytest.fixture
def devices(rdma_names):
    """The options by which programs open the devices under test."""
    return [[] if name == "sim" else [name] for name in rdma_names]


def address_of(server):
    line = server.stdout.readline()
    assert line.startswith("listening at "), server.stderr.read()
    return line.split()[2].rstrip(",")


def end_of(process, patience):
    output, errors = process.communicate(timeout=patience)
    assert (process.returncode, errors) == (0, "")
    return output


def test_ping_pong_in_one_process(start, devices, patience):
    output = end_of(start(EXAMPLES / "rdma_ping_pong.py", *devices[0]), patience)
    assert "1000 round trips of 64 bytes" in output


def test_a_client_writes_into_the_servers_memory(start, devices, patience, unused_port):
    server = start(EXAMPLES / "rdma_server.py", unused_port, *devices[0])
    client = start(EXAMPLES / "rdma_client.py", address_of(server), unused_port, *devices[1])
    assert end_of(client, patience) == "read back 15 bytes\nHello over RDMA\n"
    assert end_of(server, patience) == "the client wrote Hello over RDMA and says goodbye\n"


def test_a_peer_signals_a_sync_event(start, devices, patience, unused_port):
    local = start(EXAMPLES / "rdma_event_local.py", unused_port, *devices[0])
    remote = start(EXAMPLES / "rdma_event_remote.py", address_of(local), unused_port, *devices[1])
    assert end_of(remote, patience) == "the peer answered 20\n"
    assert end_of(local, patience) == "the peer signalled 10\n"


HASTY = """
    import asyncio, sys
    import pydoca

    async def main(address, port, name=None):
        dev = pydoca.open_device(name, capability="rdma_connection_manager")
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev) as rdma:
            try:
                await asyncio.wait_for(rdma.connect(address, int(port)), 0.5)
            except TimeoutError:
                print("gave up")

    asyncio.run(main(*sys.argv[1:]))
"""


def test_a_server_goes_on_when_a_client_has_gone_before_it_was_accepted(
    start, devices, rdma_names, patience, unused_port
):
    server = start(EXAMPLES / "rdma_server.py", unused_port, *devices[0])
    place = (address_of(server), unused_port)
    server.send_signal(signal.SIGSTOP)
    assert end_of(start("-c", textwrap.dedent(HASTY), *place, *devices[1]), patience) == "gave up\n"
    client = start(EXAMPLES / "rdma_client.py", *place, *devices[1])
    server.send_signal(signal.SIGCONT)
    assert end_of(client, patience) == "read back 15 bytes\nHello over RDMA\n"
    *gone, last = end_of(server, patience).splitlines()
    assert last == "the client wrote Hello over RDMA and says goodbye"
    assert all(line.startswith("a client has gone before it was accepted: ") for line in gone)
    assert gone or rdma_names[0] == "sim"  # their listener drops such a request itself


MORTAL = """
    import asyncio, sys
    import pydoca

    async def main(address, port, name=None):
        dev = pydoca.open_device(name, capability="rdma_connection_manager")
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev) as rdma:
            into = pydoca.BufInventory(1).get_by_addr(dev.mmap(bytearray(512)))
            described = rdma.receive(into)
            with await rdma.connect(address, int(port)) as peer:
                await peer.while_connected(described)
                print("connected", flush=True)
                await peer.ended()

    asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("example", ["rdma_server.py", "rdma_event_local.py"])
def test_an_example_ends_with_an_error_when_its_peer_is_killed(start, devices, patience, unused_port, example):
    server = start(EXAMPLES / example, unused_port, *devices[0])
    client = start("-c", textwrap.dedent(MORTAL), address_of(server), unused_port, *devices[1])
    assert client.stdout.readline() == "connected\n"
    client.kill()
    _, errors = server.communicate(timeout=patience)
    assert (server.returncode, errors.splitlines()[-1].split(":")[0].split(".")[-1]) == (1, "ConnectionResetError")


@pytest.mark.verbs
def test_a_program_of_pyverbs_shares_its_domain(start, devices, patience, pyverbs_path, commands):
    env = {**commands.env, "PYTHONPATH": str(pyverbs_path)}
    output = end_of(start(EXAMPLES / "rdma_bridge.py", *devices[0], env=env), patience)
    assert output == "pydoca's memory: Hello from a queue pair of pyverbs\n"


def options(names, listener):
    """The options of the commands: the backend, and the device unless it is a simulated one."""
    name = names[0 if listener else 1]
    return ["--backend", "sim"] if name == "sim" else ["--backend", "verbs", "--device", name]


def address(names):
    if names[0] == "sim":
        return pydoca.open_device(capability="rdma_connection_manager").info.ipv4_addr
    return pydoca.open_device(names[0]).info.ipv4_addr


@pytest.mark.parametrize("size", [0, 1, 3_000_001])
def test_a_file_is_copied(commands, rdma_names, patience, unused_port, tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "into").mkdir()
    over = ["copy", "--transport", "rdma", "--json"]
    reader = commands.start(*over, *options(rdma_names, True), "--listen", unused_port, "into")
    place = f"{address(rdma_names)}:{unused_port}"
    lender = commands.start(*over, *options(rdma_names, False), "--connect", place, "file")
    lent, read = (json.loads(end_of(process, patience)) for process in (lender, reader))
    digest = hashlib.sha256(content).hexdigest()
    assert (lent["sha256"], read["sha256"], read["bytes"]) == (digest, digest, size)
    assert (tmp_path / "into" / "file").read_bytes() == content


@pytest.mark.parametrize("killed", ["reader", "lender"])
def test_a_half_that_dies_ends_the_other(commands, rdma_names, patience, unused_port, tmp_path, killed):
    os.mkfifo(tmp_path / "slow")
    hold = os.open(tmp_path / "slow", os.O_RDWR)  # no process reads it
    (tmp_path / "file").write_bytes(bytes(64 << 20))
    over = ["copy", "--transport", "rdma"]
    place = f"{address(rdma_names)}:{unused_port}"
    halves = {
        "reader": commands.start(*over, *options(rdma_names, True), "--listen", unused_port, "slow"),
        "lender": commands.start(*over, *options(rdma_names, False), "--connect", place, "file"),
    }
    commands.wait_until(lambda: select_readable(hold), "the first bytes")
    victim = halves.pop(killed)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    [(_, other)] = halves.items()
    output, errors = other.communicate(timeout=patience)
    os.close(hold)
    assert (other.returncode, output) == (1, "")
    assert "ended before the copy was complete" in errors


def select_readable(fd):
    return select.select([fd], [], [], 0)[0]


def test_ping_pong_between_two_commands(commands, rdma_names, patience, unused_port):
    command = ["rdma", "ping-pong", "--json"]
    place = f"{address(rdma_names)}:{unused_port}"
    server = commands.start(*command, *options(rdma_names, True), "--listen", unused_port)
    client = commands.start(*command, *options(rdma_names, False), "--connect", place, "--count", 200, "--size", "4K")
    played, served = (json.loads(end_of(process, patience)) for process in (client, server))
    assert (played["count"], played["size"]) == (served["count"], served["size"]) == (200, 4096)
    assert 0 < played["round_trip_us"]["min"] <= played["round_trip_us"]["median"] <= played["round_trip_us"]["max"]


@pytest.mark.parametrize("place", ["localhost", "127.0.0.1"])
def test_two_commands_meet_at_localhost(commands, rdma_names, patience, unused_port, place):
    command = ["rdma", "ping-pong", "--json", *options(rdma_names, True)]
    server = commands.start(*command, "--listen", unused_port)
    client = commands.start(*command, "--connect", f"{place}:{unused_port}", "--count", 10)
    played, served = (json.loads(end_of(process, patience)) for process in (client, server))
    assert played["count"] == served["count"] == 10


def test_a_command_does_not_wait_for_a_name_that_is_none(commands, rdma_names):
    line = ["rdma", "ping-pong", *options(rdma_names, True), "--timeout", 1000, "--connect", "two..dots:5000"]
    done = commands.run(*line)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'connect to "two..dots"' in done.stderr


def test_ping_pong_in_one_command(commands, rdma_names):
    done = commands.run("rdma", "ping-pong", "--count", "100", *options(rdma_names, True))
    assert (done.returncode, done.stderr) == (0, "")
    assert "100 round trips of 64 bytes: median" in done.stdout


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (["copy", "--transport", "rdma", "a"], "--listen PORT"),
        (["copy", "--transport", "rdma", "--listen", "1", "--connect", "a:1", "x"], "two halves"),
        (["copy", "--transport", "rdma", "--listen", "0", "x"], "not a port"),
        (["copy", "--transport", "rdma", "--connect", "nowhere", "x"], "ADDRESS:PORT"),
        (["copy", "--transport", "rdma", "--connect", "[::1:5000", "x"], "ADDRESS:PORT"),
        (["copy", "--transport", "rdma", "--listen", "5000", "x", "y"], "DST, and no SRC"),
        (["copy", "--transport", "rdma", "--listen", "5000", "--side", "dpu", "x"], "--side"),
        (["copy", "--listen", "5000", "x"], "--transport rdma"),
        (["rdma", "ping-pong", "--listen", "1", "--connect", "a:1"], "two halves"),
        (["rdma", "ping-pong", "--listen", "1", "--size", "64"], "--size goes with --connect: the half that connects"),
        (["rdma", "ping-pong", "--listen", "1", "--count", "9"], "--count goes with --connect: the half that connects"),
    ],
)
def test_what_does_not_fit_together_is_refused(commands, line, text):
    done = commands.run(*line)
    assert done.returncode == 2
    assert text in done.stderr


def test_a_half_that_has_ended_already_is_reported(pair, run, unused_port):
    class Told(Terminal):
        def waiting(self, what):
            told.append(what)

    class Gone:
        private_data = b"pydoca copy"

        def accept(self):
            raise pydoca.ConnectionAbortedError("the peer has gone")

    class Listener:
        async def request(self):
            return requests.pop()

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            with b.listen(unused_port) as listener:
                attempt = a.connect(pair.b.address, unused_port, private_data=b"pydoca copy")
                requests[:] = [await listener.request(), Gone()]
                taken = await _take(Listener(), b"pydoca copy", Told(quiet=True))
                assert (await attempt).is_connected
                assert taken.is_connected

    told: list[str] = []
    requests: list[Any] = []
    run(main())
    assert told == ["the process that connected has ended (the peer has gone); waiting for the next one"]


def test_no_process_connects(commands, rdma_names, unused_port):
    done = commands.run("rdma", "ping-pong", "--listen", unused_port, "--timeout", "0.2", *options(rdma_names, True))
    assert done.returncode == 1
    assert "no process connected to" in done.stderr
    assert "--connect" in done.stderr


def test_halves_of_different_commands_do_not_meet(pair, run, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
            reporter = Terminal(quiet=True)
            to_copy, to_ping = (Place(name, pair.b.address, unused_port, 2.0) for name in ("copy", "rdma ping-pong"))
            taken = asyncio.create_task(take_first(b, replace(to_copy, timeout=30.0), "", reporter))
            with pytest.raises(CommandError, match="`pydoca rdma ping-pong` is not the command that listens at"):
                await reach(a, to_ping, "", reporter)
            await reach(a, replace(to_copy, timeout=30.0), "", reporter)
            assert (await taken).private_data == b"pydoca copy"

    run(main())


PEER = """
    import asyncio, sys
    import pydoca

    async def main():
        dev = pydoca.open_device({name!r} or None, capability="rdma_connection_manager")
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev, permissions="rdma_read|rdma_write") as rdma:
            inventory = pydoca.BufInventory(2)
            mmap = dev.mmap(bytearray(4096), access="local_read_write|rdma_read|rdma_write")
            with rdma.listen({port}) as listener:
                print("listening at", dev.info.ipv4_addr, flush=True)
                peer = await (await listener.request()).accept()
            await peer.send(inventory.get_by_data(dev.mmap(mmap.export_rdma())))
            await asyncio.sleep(1000)

    asyncio.run(main())
"""


@pytest.mark.parametrize("signal_sent", [signal.SIGKILL, signal.SIGINT])
def test_tasks_and_waits_end_with_the_peer(pair, start, run, rdma_names, unused_port, signal_sent):
    name = "" if rdma_names[0] == "sim" else rdma_names[0]
    peer = start("-c", textwrap.dedent(PEER.format(name=name, port=unused_port)), env=dict(os.environ))
    where = address_of(peer)

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a:
            blob = pair.a.room(512)
            described = a.receive(blob)
            connection = await a.connect(where, unused_port)
            await described
            remote = pair.a.device.import_mmap(bytes(blob))
            await connection.write(pair.a.data(b"x"), pair.a.room(remote))
            peer.send_signal(signal_sent)

            async def write_on():
                while True:
                    await connection.write(pair.a.data(b"x"), pair.a.room(remote))
                    await asyncio.sleep(0.001)

            with pytest.raises((pydoca.ConnectionResetError, pydoca.NotConnectedError, pydoca.ShutdownError)):
                await write_on()
            await asyncio.wait_for(connection.ended(), 20)
            remote.close()

    run(main())


@pytest.mark.parametrize("count", [1, 100, 256, 65536])
def test_ping_pong_reads_what_a_device_has_cut_the_zeros_of(count):
    said = (4096).to_bytes(8, "big") + count.to_bytes(8, "big")
    assert wanted_by(said.rstrip(b"\0")) == (4096, count)
