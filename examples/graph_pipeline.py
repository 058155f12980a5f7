"""One graph, run for each message of a peer: read the message, take its digest, keep that, answer.

The host fills a buffer and publishes its number with one sync event; the DPU answers with the other. The DPU has a
graph with a node for each of the four steps. One instance runs for every message; Python hears of each run once. The
DPU is a BlueField-2, whose engine computes digests; a BlueField-3 could also wait for the message in the graph."""

import argparse
import asyncio
import hashlib
import multiprocessing
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from multiprocessing.connection import Connection

import pydoca

SPAWN = multiprocessing.get_context("spawn")  # a forked child could not use the objects of its parent


def message(number: int, size: int) -> bytes:
    return (number.to_bytes(8, "little") * (size // 8 + 1))[:size]


def produce(messages: int, size: int, pipe: Connection) -> None:
    """The host's process."""
    pydoca.sim.load_topology(pydoca.sim.default_topology("bluefield2"))
    memory = pydoca.alloc(size)
    with (
        pydoca.open_device("0b:00.0", side="host") as dev,
        dev.mmap(memory, access="pci_read_only") as mmap,
        pydoca.SyncEvent(dev, subscriber="remote_pci") as filled,
        pydoca.SyncEvent(dev, publisher="remote_pci") as drained,
    ):
        pipe.send((mmap.export_pci(), filled.export_to_remote_pci(), drained.export_to_remote_pci()))
        for number in range(1, messages + 1):
            memory[:] = message(number, size)
            filled.update_set(number)
            drained.wait_eq(number, timeout=30)
        pipe.recv()  # the peer has let go of what this process owns


class Pipeline:
    """The DPU's graph, for messages that a peer has announced."""

    def __init__(
        self, pe: pydoca.ProgressEngine, dma: pydoca.Dma, sha: pydoca.Sha, drained: pydoca.SyncEventContext
    ) -> None:
        self.digests = hashlib.sha256()  # the digest of all messages' digests
        self.graph = pydoca.Graph(pe, num_instances=1)
        self.read = self.graph.node(dma)
        self.hashed = self.graph.node(sha, after=[self.read])
        self.kept = self.graph.node(self.keep, after=[self.hashed])
        self.answered = self.graph.node(drained, after=[self.kept])

    def keep(self, bufs: tuple[pydoca.Buf, pydoca.Buf]) -> None:
        copy, digest = bufs
        self.digests.update(digest)
        for buf in (copy, digest):  # the next message has room
            buf.reset_data_len()

    async def run(
        self, data: Mapping[pydoca.GraphNode, object], messages: int, filled: pydoca.SyncEventContext
    ) -> None:
        with self.graph:
            instance = self.graph.create_instance(data)
            for number in range(messages):
                await filled.poll_until(number.__lt__)  # number < what was announced
                instance.submit()
                await instance


async def consume(messages: int, size: int, blobs: tuple[bytes, bytes, bytes]) -> str:
    """The DPU's process."""
    with (
        pydoca.open_device("03:00.0", side="dpu", capability="sha") as dev,
        dev.import_mmap(blobs[0]) as remote,
        closing(dev.import_sync_event(blobs[1])) as filled,
        closing(dev.import_sync_event(blobs[2])) as drained,
        dev.mmap(pydoca.alloc(size)) as local,
        dev.mmap(pydoca.alloc(32)) as result,
        pydoca.BufInventory(3) as inv,
    ):
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.Dma(pe, dev, num_tasks=1) as dma,
            pydoca.Sha(pe, dev, num_tasks=1) as sha,
            filled.as_context(pe) as filling,
            drained.as_context(pe) as draining,
        ):
            pipeline = Pipeline(pe, dma, sha, draining)
            copy, digest = inv.get_by_addr(local), inv.get_by_addr(result)
            tasks = {
                pipeline.read: dma.memcpy(inv.get_by_data(remote), copy, submit=False),
                pipeline.hashed: sha.hash(copy, digest, submit=False),
                pipeline.kept: (copy, digest),
                pipeline.answered: draining.notify_add(1, submit=False),
            }
            await pipeline.run(tasks, messages, filling)
            return pipeline.digests.hexdigest()


def main(messages: int, size: int) -> int:
    pydoca.sim.load_topology(pydoca.sim.default_topology("bluefield2"))
    here, there = SPAWN.Pipe()
    host = SPAWN.Process(target=produce, args=(messages, size, there), daemon=True)
    host.start()
    there.close()
    blobs = here.recv()
    start = time.perf_counter()
    seen = asyncio.run(consume(messages, size, blobs))
    seconds = time.perf_counter() - start
    here.send("done")
    host.join()
    expected = hashlib.sha256()
    for number in range(1, messages + 1):
        expected.update(hashlib.sha256(message(number, size)).digest())
    if seen != expected.hexdigest():
        print("the digests differ from those of the messages that were sent", file=sys.stderr)
        return 1
    print(f"{messages} messages of {size} bytes, SHA-256 of their digests {seen}, {seconds:.3f} s")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help="how many (%(default)s)")
    parser.add_argument("--size", type=int, default=4096, help="bytes of each message (%(default)s)")
    arguments = parser.parse_args()
    sys.exit(main(arguments.messages, arguments.size))
