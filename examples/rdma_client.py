"""Writes into memory that rdma_server.py lends, reads it back, and tells the server that it is done.

rdma_client.py ADDRESS PORT [DEVICE]
"""

import asyncio
import sys

import pydoca

TEXT = b"Hello over RDMA"


async def main(address: str, port: int, name: str | None) -> None:
    dev = pydoca.open_device(name, capability="rdma_connection_manager")
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev) as rdma:
        inventory = pydoca.BufInventory(6)
        blob, back = (inventory.get_by_addr(dev.mmap(bytearray(512))) for _ in range(2))
        text, bye = (inventory.get_by_data(dev.mmap(bytearray(data))) for data in (TEXT, b"goodbye"))

        described = rdma.receive(blob)
        with await rdma.connect(address, port) as server:
            await server.while_connected(described)
            with dev.import_mmap(bytes(blob)) as remote:
                await server.write(text, inventory.get_by_addr(remote))
                print("read back", await server.read(inventory.get_by_data(remote, None, len(TEXT)), back), "bytes")
                print(bytes(back).decode())
            await server.send(bye)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None))
