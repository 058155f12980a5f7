"""A pipeline of two processes: the host fills buffers, the DPU reads them by DMA, and two sync events pace them.

There are two buffers. The host publishes k when it has filled a buffer for the k-th time; the DPU publishes k when it
has that content, and the host may overwrite it. While the DPU copies one buffer, the host fills the other."""

import argparse
import asyncio
import hashlib
import multiprocessing
import sys
import time
from contextlib import closing
from multiprocessing.connection import Connection

import pydoca

BUFFERS = 2
NUMBER = 8  # bytes; a buffer is filled with its number, over and over
SPAWN = multiprocessing.get_context("spawn")  # a forked child could not use the objects of its parent


class Producer:
    """The host's process."""

    def __init__(self, rounds: int, size: int) -> None:
        self.rounds, self.size = rounds, size
        self.memory = pydoca.alloc(BUFFERS * size)
        self.sha256 = hashlib.sha256()
        self.answer, self.answer_end = SPAWN.Pipe(duplex=False)

    async def run(self) -> tuple[str, float]:
        """The consumer's digest and its seconds."""
        with (
            pydoca.open_device("0b:00.0", side="host") as dev,
            dev.mmap(self.memory, access="pci_read_only") as mmap,
            closing(pydoca.SyncEvent(dev, publisher="cpu", subscriber="remote_pci")) as filled,
            closing(pydoca.SyncEvent(dev, publisher="remote_pci", subscriber="cpu")) as drained,
        ):
            async with (
                pydoca.ProgressEngine() as pe,
                filled.as_context(pe, num_tasks=2) as out,
                drained.as_context(pe, num_tasks=2) as back,
            ):
                blobs = mmap.export_pci(), filled.export_to_remote_pci(), drained.export_to_remote_pci()
                consumer = Consumer(blobs, self.rounds, self.size, self.answer_end)
                process = SPAWN.Process(target=consumer.run_process)
                process.start()
                self.answer_end.close()  # the consumer has it
                async with asyncio.TaskGroup() as group:  # ends the wait if the consumer dies
                    answer = group.create_task(asyncio.to_thread(self.answer.recv))
                    group.create_task(self.produce(out, back))
                process.join()
                result: tuple[str, float] = answer.result()
                return result

    async def produce(self, filled: pydoca.SyncEventContext, drained: pydoca.SyncEventContext) -> None:
        for k in range(1, self.rounds + 1):
            content = k.to_bytes(NUMBER, "little") * (self.size // NUMBER)
            if k > BUFFERS:
                await drained.wait_neq(k - BUFFERS - 1)  # the counter grows when the buffer is free
            begin = k % BUFFERS * self.size
            memoryview(self.memory).cast("B")[begin : begin + self.size] = content
            await asyncio.gather(filled.notify_set(k), asyncio.to_thread(self.sha256.update, content))
        await drained.wait_eq(self.rounds)


class Consumer:
    """The DPU's process."""

    def __init__(self, blobs: tuple[bytes, bytes, bytes], rounds: int, size: int, answer: Connection) -> None:
        self.blobs, self.rounds, self.size, self.answer = blobs, rounds, size, answer

    def run_process(self) -> None:
        self.answer.send(asyncio.run(self.run()))

    async def run(self) -> tuple[str, float]:
        with (
            pydoca.open_device("03:00.0", side="dpu") as dev,
            dev.import_mmap(self.blobs[0]) as remote,
            closing(dev.import_sync_event(self.blobs[1])) as filled,
            closing(dev.import_sync_event(self.blobs[2])) as drained,
        ):
            memory = pydoca.alloc(BUFFERS * self.size)
            async with (
                pydoca.ProgressEngine() as pe,
                pydoca.Dma(pe, dev, num_tasks=2) as dma,
                filled.as_context(pe, num_tasks=2) as ahead,
                drained.as_context(pe, num_tasks=2) as done,
            ):
                with pydoca.BufInventory(2 * BUFFERS) as inv, dev.mmap(memory) as local:
                    return await self.consume(dma, ahead, done, *self.bufs(inv, remote, local), memory)

    def bufs(
        self, inv: pydoca.BufInventory, remote: pydoca.Mmap, local: pydoca.Mmap
    ) -> tuple[list[pydoca.Buf], list[pydoca.Buf]]:
        offsets = [index * self.size for index in range(BUFFERS)]
        sources = [inv.get_by_data(remote, remote.addr + offset, self.size) for offset in offsets]
        return sources, [inv.get_by_addr(local, local.addr + offset, self.size) for offset in offsets]

    async def consume(
        self,
        dma: pydoca.Dma,
        filled: pydoca.SyncEventContext,
        drained: pydoca.SyncEventContext,
        sources: list[pydoca.Buf],
        targets: list[pydoca.Buf],
        memory: pydoca.Memory,
    ) -> tuple[str, float]:
        sha256 = hashlib.sha256()
        await filled.wait_neq(0)
        start = time.perf_counter()
        for k in range(1, self.rounds + 1):
            index = k % BUFFERS
            targets[index].reset_data_len()
            copied = dma.memcpy(sources[index], targets[index])
            # Waits for the copy and for the next content of the other buffer at the same time.
            await asyncio.gather(copied, *([filled.wait_neq(k)] if k < self.rounds else []))
            begin = index * self.size
            content = memoryview(memory).cast("B")[begin : begin + self.size]
            await asyncio.gather(drained.notify_set(k), asyncio.to_thread(sha256.update, content))
        return sha256.hexdigest(), time.perf_counter() - start


def count_of_rounds(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rounds: it starts at 1")
    return int(text)


def size_of_buffer(text: str) -> int:
    with pydoca.open_device("03:00.0", side="dpu") as dev:
        most = pydoca.Dma.max_buf_size(dev.info)
    if not text.isdecimal() or not NUMBER <= int(text) <= most or int(text) % NUMBER:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: a multiple of {NUMBER}, {NUMBER} to {most} bytes")
    return int(text)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=count_of_rounds, default=200, help="how often a buffer is filled")
    parser.add_argument("size", nargs="?", type=size_of_buffer, default=1 << 20, help="bytes of a buffer")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse()
    rounds, size = arguments.rounds, arguments.size
    producer = Producer(rounds, size)
    digest, seconds = asyncio.run(producer.run())
    total = rounds * size
    print(f"{rounds} buffers, {total} bytes in {seconds:.3f} s: {total / seconds / 1e9:.2f} GB/s, digests included")
    print(f"SHA-256 {digest}")
    sys.exit(digest != producer.sha256.hexdigest())
