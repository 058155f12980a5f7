"""Serves one client, rdma_client.py: lends it memory, reads the bytes that it wrote there, answers its messages."""

import argparse
import asyncio

import pydoca


async def accepted(listener: pydoca.RdmaListener) -> pydoca.RdmaConnection:
    """The first client that is still there when it is accepted."""
    while True:
        request = await listener.request()
        try:
            return await request.accept()
        except ConnectionError as error:
            print("a client has gone before it was accepted:", error, flush=True)


async def main(port: int, name: str | None) -> None:
    dev = pydoca.open_device(name, capability="rdma_connection_manager")
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev, permissions="rdma_read|rdma_write") as rdma:
        inventory = pydoca.BufInventory(2)
        lent = dev.mmap(bytearray(64), access="local_read_write|rdma_read|rdma_write")
        into = inventory.get_by_addr(dev.mmap(bytearray(64)))
        out = dev.mmap(lent.export_rdma())

        with rdma.listen(port) as listener:
            address = dev.info.ipv4_addr
            print(f"listening at {address}, for rdma_client.py {address} {port}", flush=True)
            client = await accepted(listener)
        await client.send(inventory.get_by_data(out))
        await client.while_connected(rdma.receive(into))
        print("the client wrote", bytes(memoryview(lent)).rstrip(b"\0").decode(), "and says", bytes(into).decode())
        await client.ended()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("device", nargs="?", help="unless told, the first that can listen")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.port, arguments.device))
