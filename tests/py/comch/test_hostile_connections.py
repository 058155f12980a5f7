"""Peers that connect and say nothing, and a process without descriptors: others are served, and are told why not."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pydoca
from conftest import SLOWNESS

# Connects without a word to the sockets of its arguments, again and again, until its input ends. It keeps the newest.
ATTACK = """
import collections, select, socket, sys, time
kept, count = collections.deque(maxlen=700), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    for name in sys.argv[1:]:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.setblocking(False)
        try:
            peer.connect(name)
        except BlockingIOError:  # the backlog is full
            continue
        kept.append(peer)
        count += 1
        if count == 1000:
            print("begun", flush=True)
        time.sleep(0.0005 if count > 1000 else 0)  # tests beside this one have work to do
print(count, flush=True)
"""


@pytest.fixture(autouse=True)
def own_fabric():
    """A fabric of the test's own, since tests beside this one use the same ports."""
    gc.collect()  # a device that another test has left belongs to another fabric
    before, fabric = pydoca.sim.fabric(), f"test-{secrets.token_hex(8)}"
    pydoca.sim.set_fabric(fabric)
    yield
    pydoca.sim.set_fabric(before)


def listening():
    """The files of the sockets in this fabric; all of them are this process's."""
    directory = fabric_directory()
    return {str(path) for path in directory.iterdir()} if directory.exists() else set()


def fabric_directory():
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", "/missing"))
    base = runtime / "pydoca" if runtime.exists() else Path(f"/tmp/pydoca-{os.geteuid()}")
    return base / pydoca.sim.fabric()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def attack(names):
    assert names
    process = subprocess.Popen(
        [sys.executable, "-c", ATTACK, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
        output, _ = process.communicate(timeout=20 * SLOWNESS)
        assert int(output.split()[-1]) >= 1000
    finally:
        process.kill()
        process.wait()


async def begun(process):
    """Waits until the attack has begun; the loop accepts meanwhile."""
    assert await asyncio.to_thread(process.stdout.readline) == "begun\n"


async def left_alone(quiet):
    """Waits until the silent peers are closed. A few descriptors of others, such as this loop's, may be new."""
    end = time.monotonic() + 20 * SLOWNESS
    while descriptors() > quiet + 12 and time.monotonic() < end:
        await asyncio.sleep(0.01)
    assert descriptors() <= quiet + 12


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_another_user_can_neither_reach_a_server_nor_take_its_place(run, ends):
    """A directory that the other user opened before does not help either."""
    program = """
import os, socket, sys
directory = os.open(os.path.dirname(sys.argv[1]), os.O_PATH)
os.setuid(65534)
paths = [sys.argv[1], f"/proc/self/fd/{directory}/{os.path.basename(sys.argv[1])}"]
for act in (socket.socket.connect, socket.socket.bind):
    for path in paths:
        try:
            act(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), path)
        except PermissionError:
            print("refused")
"""

    async def main():
        async with pydoca.ProgressEngine() as pe:
            before = listening()
            async with ends.server(pe):
                names = listening() - before
                kinds = {os.path.basename(name).split("-")[0] for name in names}
                assert len(kinds - {"trace"}) == 1  # a tracer's way to this process may be new
                for name in names:
                    process = subprocess.run([sys.executable, "-c", program, name], capture_output=True, text=True)
                    assert (process.stdout.split(), process.stderr) == (["refused"] * 4, "")
                async with ends.client(pe):
                    pass

    run(main())


def test_silent_importers_keep_nobody_out():
    with pydoca.open_device("pf0", side="host") as host, pydoca.open_device("p0", side="dpu") as dpu:
        before = listening()
        mmap = host.mmap(bytearray(b"here"), access="pci_read_only")
        blob = mmap.export_pci()
        quiet = descriptors()
        with attack(listening() - before) as attacker:
            attacker.stdout.readline()
            for _ in range(50):
                with dpu.import_mmap(blob) as imported:
                    assert imported.len == 4
        asyncio.run(left_alone(quiet))


def test_silent_clients_keep_nobody_out(run, ends):
    async def main():
        async with pydoca.ProgressEngine() as pe:
            before = listening()
            async with ends.server(pe):
                quiet = descriptors()
                with attack(listening() - before) as attacker:
                    await begun(attacker)
                    for _ in range(20):
                        async with ends.client(pe):
                            pass
                await left_alone(quiet)

    run(main())


def test_silent_requesters_keep_nobody_out(run):
    device = pydoca.open_device("p0", side="dpu")

    async def main():
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.Rdma(pe, device, max_num_connections=32) as a,
            pydoca.Rdma(pe, device, max_num_connections=32) as b,
        ):
            before = listening()
            with b.listen(4791) as listener:
                quiet = descriptors()
                with attack(listening() - before) as attacker:
                    await begun(attacker)
                    for _ in range(10):
                        attempt = a.connect(device.info.ipv4_addr, 4791)
                        accepted = await (await listener.request()).accept()
                        connection = await attempt
                        assert accepted.state is connection.state is pydoca.RdmaConnectionState.ESTABLISHED
                        connection.disconnect()
                await left_alone(quiet)

    with device:
        run(main())


@contextlib.asynccontextmanager
async def no_descriptors():
    """Takes all descriptors of this process, and every one that becomes free."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []

    async def take():
        while True:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.dup(0))
            await asyncio.sleep(0.001)

    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() + 40, hard))
    taking = asyncio.create_task(take())
    try:
        await asyncio.sleep(0)
        yield
    finally:
        taking.cancel()
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


REQUESTER = """
import asyncio, sys, pydoca
async def main():
    device = pydoca.open_device("p0", side="dpu")
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device) as rdma:
        try:
            await rdma.connect(device.info.ipv4_addr, int(sys.argv[1]))
            print("connected")
        except pydoca.DocaError as error:
            print(type(error).__name__, error)
asyncio.run(main())
"""


@pytest.mark.skipif(descriptors() > 900, reason="needs room below the limit")
def test_a_listener_without_descriptors_turns_away_and_works_afterwards(run, caplog):
    device = pydoca.open_device("p0", side="dpu")
    line = [sys.executable, "-c", REQUESTER, "4792"]

    async def requester():
        return await asyncio.create_subprocess_exec(*line, stdout=subprocess.PIPE)

    async def main():
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device) as rdma:
            with rdma.listen(4792) as listener:
                process = await requester()
                async with no_descriptors():
                    output, _ = await process.communicate()
                assert output.split()[0] == b"ConnectionAbortedError", output
                process = await requester()
                accepting = asyncio.gather((await listener.request()).accept(), return_exceptions=True)
                output, _ = await process.communicate()
                assert output.split() == [b"connected"]
                await accepting

    with device, caplog.at_level(logging.WARNING, "pydoca"):
        run(main())
    assert "out of file descriptors" in caplog.text
