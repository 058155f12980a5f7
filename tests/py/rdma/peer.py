"""The other end of a connection, in a process of its own that can be killed.

usage: peer.py DEVICE listen PORT accept|hold|leave|late|outlive
       peer.py DEVICE connect PORT ADDRESS
       peer.py DEVICE details

It prints a line when it is ready, then serves its memory until it is killed. Its first message is the memory's
blob. hold answers no request; leave disconnects and dies in the same moment; late maps its memory when connected, so
that the system takes it away first; outlive gives its sockets to a child, so that the system closes them late.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

import pydoca

SIZE = 1 << 20


def say(*words: object) -> None:
    print(*words, flush=True)


async def listen(rdma: pydoca.Rdma, address: str, port: str, then: str) -> pydoca.RdmaConnection | None:
    with rdma.listen(int(port)) as listener:
        say("listening", address)
        request = await listener.request()
        if then != "hold":
            return await request.accept()
    say("holding")
    await asyncio.sleep(1000)
    return None


async def connect(rdma: pydoca.Rdma, port: str, there: str) -> pydoca.RdmaConnection:
    attempt = rdma.connect(there, int(port))
    say("connecting")
    return await attempt


async def exchange(rdma: pydoca.Rdma) -> pydoca.RdmaConnection:
    connection = rdma.export()
    say(connection.details.hex())
    connection.connect(bytes.fromhex(sys.stdin.readline()))
    await connection.established()
    return connection


def give_sockets_to_child() -> int:
    for fd in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                os.set_inheritable(fd, True)
    return subprocess.Popen(["sleep", "100"], close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid


async def main(device: str, role: str, *options: str) -> None:
    dev = pydoca.open_device("p1", side="dpu") if device == "sim" else pydoca.open_device(device)
    permissions = "rdma_read|rdma_write"
    settings: dict[str, Any] = {"permissions": permissions, "connection_request_timeout": 60000}
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev, **settings) as rdma:

        def lend() -> pydoca.Mmap:
            return dev.mmap(bytearray(SIZE), access=f"local_read_write|{permissions}")

        mmap = None if options[-1:] == ("late",) else lend()
        inventory = pydoca.BufInventory(2)
        if role == "listen":
            connection = await listen(rdma, dev.info.ipv4_addr, *options)
        else:
            connection = await (connect(rdma, *options) if role == "connect" else exchange(rdma))
        assert connection is not None
        mmap = mmap or lend()
        await connection.send(inventory.get_by_data(dev.mmap(mmap.export_rdma())))
        say("connected")
        if options[-1:] == ("outlive",):
            say(give_sockets_to_child())
        if options[-1:] == ("leave",):
            sys.stdin.readline()
            connection.disconnect()
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(1000)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
