"""A message to and fro between two contexts of one process, and its round-trip time."""

import argparse
import asyncio
import time

import pydoca

ROUNDS = 1000


async def main(name: str | None) -> None:
    async with asyncio.TaskGroup() as group, pydoca.ProgressEngine() as pe:
        dev = pydoca.open_device(name, capability="rdma")
        async with pydoca.Rdma(pe, dev) as ours, pydoca.Rdma(pe, dev) as theirs:
            here, there = ours.export(), theirs.export()
            here.connect(there.details)  # details may travel to another host by any means
            there.connect(here.details)

            # Two bufs per side: without a posted receive, a message waits for the device's retries.
            inventory = pydoca.BufInventory(5)
            first, second, third, fourth = (inventory.get_by_addr(dev.mmap(pydoca.alloc(64))) for _ in range(4))
            ball = inventory.get_by_data(dev.mmap(pydoca.alloc(64)))
            echo = group.create_task(return_balls(theirs, there, [first, second]))

            receives = aiter(ours.receives([third, fourth]))
            begin = time.perf_counter()
            for _ in range(ROUNDS):
                await here.send(ball)
                await anext(receives)
            micros = (time.perf_counter() - begin) / ROUNDS * 1e6
            await echo
            print(f"{dev.name}: {ROUNDS} round trips of 64 bytes, {micros:.1f} us each")


async def return_balls(rdma: pydoca.Rdma, connection: pydoca.RdmaConnection, bufs: list[pydoca.Buf]) -> None:
    rounds = 0
    async for message in rdma.receives(bufs):
        await connection.send(message.dst)
        rounds += 1
        if rounds == ROUNDS:
            break


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device", nargs="?", help="such as rxe0; unless told, a simulated one")
    asyncio.run(main(parser.parse_args().device))
