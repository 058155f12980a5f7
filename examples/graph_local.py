"""One graph: a copy and a digest run side by side, then a function checks that both saw the same message."""

import argparse
import asyncio
import hashlib

import pydoca


async def copy_and_hash(message: bytes) -> bytes:
    copied, digest = pydoca.alloc(len(message)), pydoca.alloc(32)

    def check(expected: str) -> None:
        if hashlib.sha256(copied).hexdigest() != expected or bytes(digest).hex() != expected:
            raise ValueError("the copy and the digest do not agree")

    with pydoca.open_device("03:00.0", capability="sha") as dev:
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.Dma(pe, dev, num_tasks=1) as dma,
            pydoca.Sha(pe, dev, num_tasks=1) as sha,
        ):
            graph = pydoca.Graph(pe)
            copying = graph.node(dma)
            hashing = graph.node(sha)
            checking = graph.node(check, after=[copying, hashing])
            with (
                pydoca.BufInventory(3) as inv,
                dev.mmap(message) as src,
                dev.mmap(copied) as dst,
                dev.mmap(digest) as result,
                graph,
            ):
                source = inv.get_by_data(src)
                await graph.run(
                    {
                        copying: dma.memcpy(source, inv.get_by_addr(dst), submit=False),
                        hashing: sha.hash(source, inv.get_by_addr(result), submit=False),
                        checking: hashlib.sha256(message).hexdigest(),
                    }
                )
    return bytes(digest)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    pydoca.sim.load_topology(pydoca.sim.default_topology("bluefield2"))
    print(asyncio.run(copy_and_hash(b"abc")).hex())
