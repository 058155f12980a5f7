"""The DPU's half of a copy: reads memory that the host lends, by DMA. Start in any order with host.py."""

import argparse
import asyncio
import hashlib

import pydoca


async def read(dma: pydoca.Dma, dev: pydoca.Device, blob: bytes) -> bytes:
    with dev.import_mmap(blob) as remote:
        target = pydoca.alloc(len(remote))
        with pydoca.BufInventory(2) as inv, dev.mmap(target) as local:
            await dma.memcpy(inv.get_by_data(remote), inv.get_by_addr(local))
        return bytes(target)


async def serve() -> None:
    with pydoca.open_device("03:00.0", side="dpu") as dev, dev.open_representor("0b:00.0") as rep:
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.Dma(pe, dev, num_tasks=1) as dma,
            pydoca.comch.Server(pe, dev, rep, "copy") as server,
        ):
            print("waiting for host.py", flush=True)
            link = await server.accept()
            data = await read(dma, dev, await link.recv())
            print(data.decode(errors="replace"))
            await link.send(hashlib.sha256(data).hexdigest().encode())
            async for _ in link:  # ends when the host has its answer and hangs up
                pass


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(serve())
