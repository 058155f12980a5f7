"""The host's half of a copy: lends its memory to the DPU until the DPU has read it. Start in any order with dpu.py."""

import argparse
import asyncio
import hashlib
import sys

import pydoca


async def lend(data: bytes) -> str:
    with pydoca.open_device("0b:00.0", side="host") as dev, dev.mmap(data, access="pci_read_only") as mmap:
        print("waiting for dpu.py", flush=True)
        async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "copy") as link:
            await link.send(mmap.export_pci())
            return (await link.recv()).decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="Hello from the host", help="what the DPU is to read")
    data = parser.parse_args().text.encode()
    digest = asyncio.run(lend(data))
    print(f"the DPU read {len(data)} bytes, SHA-256 {digest}")
    sys.exit(digest != hashlib.sha256(data).hexdigest())
