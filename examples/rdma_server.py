"""Serves one client over RDMA: lends it memory, reads the bytes that it wrote there, answers its messages.

rdma_server.py PORT [DEVICE]; the client needs the address that this prints: rdma_client.py ADDRESS PORT [DEVICE]
"""

import asyncio
import sys

import pydoca


async def main(port: int, name: str | None) -> None:
    dev = pydoca.open_device(name, capability="rdma_connection_manager")
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev, permissions="rdma_read|rdma_write") as rdma:
        inventory = pydoca.BufInventory(2)
        lent = dev.mmap(bytearray(64), access="local_read_write|rdma_read|rdma_write")
        into = inventory.get_by_addr(dev.mmap(bytearray(64)))
        out = dev.mmap(lent.export_rdma())

        with rdma.listen(port) as listener:
            print("listening at", dev.info.ipv4_addr, flush=True)
            async for request in listener:
                try:
                    client = await request.accept()
                    break
                except ConnectionError as error:
                    print("a client has gone before it was accepted:", error, flush=True)
        await client.send(inventory.get_by_data(out))
        await client.while_connected(rdma.receive(into))
        print("the client wrote", bytes(memoryview(lent)).rstrip(b"\0").decode(), "and says", bytes(into).decode())
        await client.ended()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
