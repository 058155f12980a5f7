"""A test that catches a planted fault: a copy that checks its result notices a bit that the device flips.

python examples/faults_local.py
"""

import argparse
import asyncio
import hashlib

import pydoca
from pydoca.faults import FaultRule, inject


async def copy(data: bytes, verify: bool) -> bytes:
    """Copies by the DMA engine; verify: compares digests, and copies again while they differ."""
    device = pydoca.open_device("03:00.0", side="dpu")
    async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device) as dma:
        inventory = pydoca.BufInventory(2)
        src, target = device.mmap(data), pydoca.alloc(len(data))
        dst = device.mmap(target)
        while True:
            with inventory.get_by_data(src) as source, inventory.get_by_addr(dst) as sink:
                await dma.memcpy(source, sink)
            if not verify or hashlib.sha256(target).digest() == hashlib.sha256(data).digest():
                return bytes(target)
            print("a copy was wrong, and is repeated")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    data = bytes(range(256)) * 16
    rule = FaultRule("corrupt", "dma.memcpy", device="p0", nth=1)
    with inject(rule, seed=7) as plan:
        print("without a check: the copy is", "sound" if asyncio.run(copy(data, verify=False)) == data else "wrong")
    print(plan)
    with inject(plan):
        assert asyncio.run(copy(data, verify=True)) == data, "the check does not catch the fault"
    print("with a check: the copy is sound")


if __name__ == "__main__":
    main()
