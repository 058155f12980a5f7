"""Writes into memory that rdma_server.py lends, reads it back, and tells the server that it is done."""

import argparse
import asyncio

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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="the one that rdma_server.py prints")
    parser.add_argument("port", type=int)
    parser.add_argument("device", nargs="?", help="unless told, the first that can connect")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.address, arguments.port, arguments.device))
