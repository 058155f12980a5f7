"""One process, one device, one copy: an array to another through the DMA engine."""

import argparse
import asyncio

import pydoca


async def copy(data: bytes) -> bytes:
    target = pydoca.alloc(len(data))
    with pydoca.open_device("03:00.0") as dev:
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev, num_tasks=1) as dma:
            with pydoca.BufInventory(2) as inv, dev.mmap(data) as src, dev.mmap(target) as dst:
                await dma.memcpy(inv.get_by_data(src), inv.get_by_addr(dst))
    return bytes(target)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(asyncio.run(copy(b"Hello from the source buffer")).decode())
