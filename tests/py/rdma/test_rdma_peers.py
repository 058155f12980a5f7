"""Connections with programs that do not use pydoca: one of pyverbs, and rdma-core's own examples."""

import asyncio
import contextlib
import shutil
import struct
from pathlib import Path

import pytest

import pydoca
from pydoca import rdma_bridge

pytestmark = pytest.mark.verbs

PEER = Path(__file__).with_name("pyverbs_peer.py")
GREETING = b"sixteen bytes it"  # rdma_server and rdma_client exchange as many
NOT_YET = (pydoca.NotFoundError, pydoca.ConnectionAbortedError, pydoca.TimeOutError)


def require_program(name):
    return shutil.which(name) or pytest.fail(f"{name} is not installed: apt-get install rdmacm-utils")


def end_of(process, patience):
    output, errors = process.communicate(timeout=patience)
    assert (process.returncode, errors) == (0, "")
    return output


async def connect(rdma, address, port, patience):
    """Connects as soon as the program at that address listens."""
    async with asyncio.timeout(patience):
        while True:
            try:
                return await rdma.connect(address, port)
            except NOT_YET:
                await asyncio.sleep(0.05)


async def send_to_one_that_leaves(connection, message):
    """Sends to a peer that leaves once it has the message: its acknowledgement may come too late."""
    with contextlib.suppress(pydoca.ConnectionResetError):
        await connection.send(message)


async def accept(rdma, port):
    with rdma.listen(port) as listener:
        return await (await listener.request()).accept()


async def lend(end, connection, memory):
    """Sends the peer the address and key of memory, so that the peer can read and write it."""
    mmap = end.mmap(memory)
    key = rdma_bridge.get_buf_mkey(end.data(mmap), end.device)
    await connection.send(end.data(struct.pack("!QIQ", mmap.addr, key, len(memory))))
    return mmap


@pytest.mark.parametrize("role", ["listen", "connect"])
@pytest.mark.usefixtures("system_pyverbs")
def test_a_pyverbs_peer_reads_and_writes_lent_memory(pair, run, start_program, patience, unused_port, role):
    memory = pydoca.alloc(4096)
    view = memoryview(memory)
    view[:] = content = bytes(range(256)) * 16
    address = {"listen": pair.b.address, "connect": pair.a.address}[role]

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as rdma:
            into = pair.a.room(64)
            told = rdma.receive(into)
            connection = await begin(rdma)
            lent = await lend(pair.a, connection, memory)
            await told
            assert bytes(into) == b"reversed"
            assert bytes(view) == content[::-1]
            await connection.ended()
            lent.close()

    async def begin(rdma):
        if role == "listen":
            begin.peer = start_peer()
            return await connect(rdma, address, unused_port, patience)
        accepted = asyncio.create_task(accept(rdma, unused_port))
        await asyncio.sleep(0)
        begin.peer = start_peer()
        return await accepted

    def start_peer():
        return start_program("/usr/bin/python3", PEER, role, address, unused_port)

    run(main())
    end_of(begin.peer, patience)


def test_a_client_of_rdma_server(pair, run, start_program, patience, unused_port):
    server = start_program(require_program("rdma_server"), "-s", pair.b.address, "-p", unused_port)

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as rdma:
            into = pair.a.room(64)
            answer = rdma.receive(into)
            connection = await connect(rdma, pair.b.address, unused_port, patience)
            await send_to_one_that_leaves(connection, pair.a.data(GREETING))
            assert await answer == len(bytes(into)) == len(GREETING)
            await connection.ended()

    run(main())
    assert "rdma_server: end 0" in end_of(server, patience)


def test_a_server_of_rdma_client(pair, run, start_program, patience, unused_port):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as rdma:
            into = pair.a.room(64)
            request = rdma.receive(into)
            accepted = asyncio.create_task(accept(rdma, unused_port))
            await asyncio.sleep(0)
            client = start_program(require_program("rdma_client"), "-s", pair.a.address, "-p", unused_port)
            connection = await accepted
            assert await request == len(GREETING)
            await send_to_one_that_leaves(connection, pair.a.data(GREETING))
            await connection.ended()
            return client

    assert "rdma_client: end 0" in end_of(run(main()), patience)


def test_a_message_too_long_for_rdma_server_fails_here_and_ends_both(pair, run, start_program, patience, unused_port):
    server = start_program(require_program("rdma_server"), "-s", pair.b.address, "-p", unused_port)

    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as rdma:
            connection = await connect(rdma, pair.b.address, unused_port, patience)
            with pytest.raises(pydoca.IoFailedError, match=r"17 bytes.*longer than the receive"):
                await connection.send(pair.a.data(GREETING + b"x"))
            async with asyncio.timeout(patience):
                while rdma.state is not pydoca.ContextState.IDLE:
                    await asyncio.sleep(0.001)
            rdma.start()

    run(main())
    server.communicate(timeout=patience)
