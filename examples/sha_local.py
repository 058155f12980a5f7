"""One process, one device, one digest: SHA-256 of a message by the SHA engine of a simulated BlueField-2."""

import argparse
import asyncio

import pydoca


async def sha256(message: bytes) -> bytes:
    digest = pydoca.alloc(32)
    with pydoca.open_device("03:00.0", capability="sha") as dev:
        async with pydoca.ProgressEngine() as pe, pydoca.Sha(pe, dev, num_tasks=1) as sha:
            with pydoca.BufInventory(2) as inv, dev.mmap(message) as src, dev.mmap(digest) as dst:
                await sha.hash(inv.get_by_data(src), inv.get_by_addr(dst), algorithm="sha256")
    return bytes(digest)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    pydoca.sim.load_topology(pydoca.sim.default_topology("bluefield2"))
    print(asyncio.run(sha256(b"abc")).hex())
