"""Objects that no model knows: any verb, with any argument, in any state. The rules require only a proper refusal."""

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import Status, comch, workq
from soak.rules.graphs import Graphs
from soak.world import COUNTS, NUMBER, callbacks_may_raise, step

REFUSALS = (
    pydoca.DocaError,
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
    BufferError,
    LookupError,
    StopIteration,
)
# Verbs that would wait for ever without a time limit, and the limit that they get.
WAITING = {"wait": {"timeout": 0}, "run_until": {"timeout": 0}}
WAITING |= {f"wait_{verb}{how}": {"timeout": 0} for verb in ("gt", "eq", "neq") for how in ("", "_yield")}


def verbs_of(thing: Any) -> list[str]:
    return [name for name in dir(type(thing)) if not name.startswith("_")]


class Strays(Graphs):
    def stray_kinds(self) -> list[Callable[[], list[Any]]]:
        return [
            self.stray_memory,
            self.stray_bufs,
            self.stray_dma,
            self.stray_sha,
            self.stray_event,
            self.stray_ends,
            self.stray_rdma,
            self.stray_graph,
            self.stray_queue,
        ]

    def stray_memory(self) -> list[Any]:
        device = pydoca.open_device("p1" if not self.is_removed else "p0", side="dpu")
        memory = pydoca.alloc(64)
        return [device, memory, device.mmap(memory), pydoca.Mmap(), pydoca.Clock(device)]

    def stray_bufs(self) -> list[Any]:
        mmap = self.dpu.mmap(bytearray(64))
        inventory = pydoca.BufInventory(4)
        pool = pydoca.BufPool(2, 32, mmap)
        return [inventory, pool, pool.alloc(), inventory.get_by_data(mmap), inventory.get_by_addr(mmap)]

    def stray_context(self, context: Any) -> Any:
        if self.random.random() < 0.7:
            context.start()
        return context

    def stray_dma(self) -> list[Any]:
        pe = pydoca.ProgressEngine()
        dma = pydoca.Dma(pe, self.dpu, num_tasks=4)
        dma.start()
        bufs = self.stray_bufs()
        return [pe, dma, dma.memcpy(bufs[3], bufs[4], submit=self.random.random() < 0.5), *bufs]

    def stray_sha(self) -> list[Any]:
        if not pydoca.Sha.is_supported(self.dpu.info):
            return self.stray_bufs()
        pe = pydoca.ProgressEngine()
        sha = pydoca.Sha(pe, self.dpu)
        sha.start()
        bufs = self.stray_bufs()
        return [pe, sha, sha.hash(bufs[3], bufs[4]), sha.partial_hash(bufs[3], bufs[2], "sha1", submit=False)]

    def stray_event(self) -> list[Any]:
        pe = pydoca.ProgressEngine()
        sync, context = (pydoca.SyncEvent(self.dpu, publisher="remote_net", subscriber="cpu") for _ in range(2))
        sync.start()
        as_context = context.as_context(pe, 4)
        as_context.start()
        waits = [self.attempt({Status.NOT_SUPPORTED}, as_context.wait_neq, 0)]
        return [pe, sync, context, as_context, as_context.notify_add(1, submit=False), *filter(None, waits)]

    def stray_ends(self) -> list[Any]:
        pe = pydoca.ProgressEngine()
        name = f"stray-{self.random.getrandbits(60)}"
        server = self.stray_context(comch.Server(pe, self.dpu, self.rep, name))
        client = self.stray_context(comch.Client(pe, self.host, name, timeout=0.001))
        for _ in range(50):
            pe.progress()
        return [pe, server, client, *server.connections]

    def stray_rdma(self) -> list[Any]:
        pe = pydoca.ProgressEngine()
        rdma = self.stray_context(pydoca.Rdma(pe, self.dpu, num_tasks=2, permissions="rdma_read|rdma_write"))
        return [pe, rdma, *([rdma.export(), rdma.receive(None)] if rdma.state is pydoca.ContextState.RUNNING else [])]

    def stray_graph(self) -> list[Any]:
        pe, dma, task, *_ = self.stray_dma()
        graph = pydoca.Graph(pe, num_instances=2)
        node = graph.node(dma)
        graph.start()
        return [pe, dma, graph, node, graph.create_instance({node: task})]

    def stray_queue(self) -> list[Any]:
        queue = workq.WorkQueue(2)
        dma = pydoca.Dma(None, self.dpu)
        queue.add(dma)
        return [queue, dma]

    # ---- actions on them

    def argument(self, things: list[Any]) -> Any:
        plain = [None, -1, 0, 1, 7, 1 << 63, 1 << 64, 1.5, "", "x" * 300, b"", b"\xff" * 100, object(), [], {}, print]
        return self.random.choice([*plain, *things])

    def call_anything(self, things: list[Any]) -> None:
        thing = self.random.choice(things)
        name = self.random.choice(verbs_of(thing))
        COUNTS["operations"] += 1
        arguments = [self.argument(things) for _ in range(self.random.choice((0, 0, 1, 1, 2, 3)))]
        with contextlib.suppress(*REFUSALS), callbacks_may_raise():
            if callable(getattr(type(thing), name)):
                result = getattr(thing, name)(*arguments, **WAITING.get(name, {}))
                if inspect.iscoroutine(result):
                    result.close()
            elif arguments:
                setattr(thing, name, arguments[0])
            else:
                getattr(thing, name)

    @step(kind=NUMBER, times=st.integers(1, 40))
    def abuse(self, kind: int, times: int) -> None:
        kinds = self.stray_kinds()
        things = kinds[kind % len(kinds)]()
        for _ in range(times):
            self.call_anything(things)
        self.random.shuffle(things)
        while things:
            things.pop()
