"""The delay by a load for others of its engine: round trips of comch beside a coroutine that awaits RDMA writes.

The floor are the same round trips without the load, in the same process and run.
"""

import asyncio
import os
import statistics
import sys
import time

from print_report import Figure, arguments_of, print_report

import pydoca

TARGET = 2000.0  # microseconds that the load may add
PORT = 4791
NAME = f"benchmark-{os.getpid()}"


class Load:
    """Writes again and again, and pauses for other coroutines only."""

    def __init__(self, pe: pydoca.ProgressEngine) -> None:
        self._pe = pe
        self.turns = 0
        self.stopped = False

    async def run(self) -> None:
        device = pydoca.open_device("p0", side="dpu")
        access = "rdma_write"
        async with (
            pydoca.Rdma(self._pe, device, permissions=access) as a,
            pydoca.Rdma(self._pe, device, permissions=access) as b,
        ):
            with b.listen(PORT) as listener:
                attempt = a.connect(device.info.ipv4_addr, PORT)
                await (await listener.request()).accept()
                connection = await attempt
            into = device.mmap(pydoca.alloc(64), access="local_read_write|rdma_write")
            inventory = pydoca.BufInventory(2)
            src = inventory.get_by_data(device.mmap(pydoca.alloc(64)))
            dst = inventory.get_by_addr(device.import_mmap(into.export_rdma()))
            while not self.stopped:
                await connection.write(src, dst)
                dst.reset_data_len()
                await asyncio.sleep(0)
                self.turns += 1


async def round_trips(link: pydoca.comch.Connection, count: int) -> list[float]:
    """The microseconds of each round trip, the shortest first."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        await link.send(b"ping")
        await link.recv()
        times.append((time.perf_counter() - begin) * 1e6)
    return sorted(times)


async def measure(count: int) -> tuple[float, float]:
    """The 99th percentiles in microseconds: without the load, and beside it."""
    dpu, host = pydoca.open_device("03:00.0", side="dpu"), pydoca.open_device("0b:00.0", side="host")
    async with (
        pydoca.ProgressEngine() as pe,
        pydoca.comch.Server(pe, dpu, dpu.open_representor("0b:00.0"), NAME) as server,
        pydoca.comch.Client(pe, host, NAME) as link,
    ):
        served = await server.accept()

        async def echo() -> None:
            async for message in served:
                await served.send(message)

        echoing = asyncio.create_task(echo())
        alone = await round_trips(link, count)
        load = Load(pe)
        loading = asyncio.create_task(load.run())
        while load.turns == 0:
            await asyncio.sleep(0)
        loaded = await round_trips(link, count)
        load.stopped = True
        await loading
        echoing.cancel()
    last = count * 99 // 100
    return alone[last], loaded[last]


def main() -> int:
    parser = arguments_of(__doc__, repetitions=1)
    parser.add_argument("--count", type=int, default=1000, help="round trips without the load, and beside it")
    arguments = parser.parse_args()
    pairs = [asyncio.run(measure(arguments.count)) for _ in range(arguments.repetitions)]
    alone, loaded = (statistics.median(values) for values in zip(*pairs, strict=True))
    name = "99th percentile of a comch round trip beside RDMA writes, above that without"
    return print_report([Figure(name, "us", loaded, alone, TARGET, compared="difference")], arguments)


if __name__ == "__main__":
    sys.exit(main())
