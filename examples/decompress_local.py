"""One process, one device, one stream: DEFLATE data expanded by the compression engine of a simulated BlueField."""

import argparse
import asyncio
import zlib

import pydoca


async def expand(deflate: bytes, room: int) -> tuple[bytes, int]:
    """The plain data and its CRC-32."""
    plain = pydoca.alloc(room)
    with pydoca.open_device("03:00.0", capability="compress") as dev:
        async with pydoca.ProgressEngine() as pe, pydoca.Compress(pe, dev, num_tasks=1) as compress:
            with pydoca.BufInventory(2) as inv, dev.mmap(deflate) as src, dev.mmap(plain) as dst:
                to = inv.get_by_addr(dst)
                task = compress.decompress_deflate(inv.get_by_data(src), to)
                await task
                return bytes(plain)[: to.data_len], task.crc_cs


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = b"Twinkle, twinkle, little star, how I wonder what you are! " * 3
    packer = zlib.compressobj(wbits=-15)  # raw: without the header and trailer of zlib
    expanded, crc = asyncio.run(expand(packer.compress(text) + packer.flush(), 4096))
    print(expanded.decode())
    print(f"CRC-32 {crc:#010x}, zlib's {zlib.crc32(text):#010x}")
