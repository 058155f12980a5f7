"""The host's half of a copy: lends its memory to the DPU until the DPU has read it. Start in any order with dpu.py."""

import asyncio
import hashlib
import sys

import pydoca


async def lend(data: bytes) -> str:
    with pydoca.open_device("0b:00.0", side="host") as dev, dev.mmap(data, access="pci_read_only") as mmap:
        async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "copy") as link:
            await link.send(mmap.export_pci())
            return (await link.recv()).decode()


if __name__ == "__main__":
    data = (sys.argv[1] if len(sys.argv) > 1 else "Hello from the host").encode()
    digest = asyncio.run(lend(data))
    print(f"the DPU read {len(data)} bytes, SHA-256 {digest}")
    sys.exit(digest != hashlib.sha256(data).hexdigest())
