"""Functions with plain arguments that the process at the other end imports and runs."""

from __future__ import annotations

import hashlib
import time
from typing import Any, Literal

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.messages import check, message
from pydoca.qualify.bench.origins import ORIGINS
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand

_Side = Literal["host", "dpu"]
_LEAVE = 2**64 - 1
_kept: dict[str, Any] = {}  # objects that stay between two calls


def answer_pings(device: str, side: _Side, ping: bytes, pong: bytes) -> int:
    """Answers each change of the first event by the same value of the second one, until it is told to leave."""
    value = 0
    with (
        pydoca.open_device(device, side=side) as dev,
        dev.import_sync_event(ping) as asked,
        dev.import_sync_event(pong) as answered,
    ):
        while True:
            asked.wait_neq_yield(value, timeout=waiting.PATIENCE)
            before, value = value, asked.get()
            if value == before:
                raise DeviceFault(f"a wait for another value than {value} has ended, and the value is the same")
            if value == _LEAVE:
                return value
            answered.update_set(value)


def lend_event(device: str, side: _Side) -> bytes:
    """Exports an event that only the other side changes. It stays until this process ends."""
    dev = pydoca.open_device(device, side=side)
    event = pydoca.SyncEvent(dev, publisher="remote_pci", subscriber="cpu")
    event.start()
    _kept["event"] = dev, event
    return event.export_to_remote_pci()


def lend_rdma(device: str, side: _Side, size: int) -> tuple[bytes, bytes]:
    """Exports a connection and memory for it. Both stay until this process ends; connect_rdma() is the next call."""
    dev = pydoca.open_device(device, side=side)
    pe, memory = pydoca.ProgressEngine(), pydoca.alloc(size)
    lent = dev.mmap(memory, access="local_read_write|rdma_read|rdma_write")
    rdma = pydoca.Rdma(pe, dev, permissions="rdma_read|rdma_write")
    rdma.start()
    _kept["rdma"] = dev, pe, memory, lent, rdma, (link := rdma.export())
    return link.details, lent.export_rdma()


def connect_rdma(details: bytes) -> None:
    """Connects to the other end."""
    link = _kept["rdma"][-1]
    link.connect(details)
    link.established().wait(timeout=waiting.PATIENCE)


def add_many(device: str, side: _Side, blob: bytes, count: int) -> None:
    """Adds to an event, as one of several writers."""
    with pydoca.open_device(device, side=side) as dev, dev.import_sync_event(blob) as event:
        for _ in range(count):
            event.update_add(1)


def lend(device: str, size: int, seed: int, origin: str = "pydoca.alloc") -> tuple[bytes, str]:
    """Exports memory of the host with a pattern; returns its description and digest. It stays until give_back()."""
    dev = pydoca.open_device(device, side="host")
    memory = ORIGINS[origin](size)
    view(memory)[:] = prbs31(size, seed)
    lent = dev.mmap(memory, access="local_read_write|pci_read_write")
    _kept["lent"] = dev, memory, lent
    return lent.export_pci(), hashlib.sha256(memory).hexdigest()


def digest_of_lent() -> str:
    return hashlib.sha256(_kept["lent"][1]).hexdigest()


def give_back() -> None:
    dev, memory, lent = _kept.pop("lent")
    lent.close()
    if isinstance(memory, pydoca.Memory):
        memory.close()
    dev.close()


def serve_messages(device: str, representor: str, name: str, count: int) -> int:
    """Runs a comch server of the DPU that compares each message of one client and sends it back.

    Returns how many there were, at most count: an empty message is the last one.
    """
    with Stand() as stand:
        dev = stand.enter_context(pydoca.open_device(device, side="dpu"))
        rep = stand.enter_context(dev.open_representor(representor))
        server = stand.enter_context(comch.Server(stand.engine(), dev, rep, name))
        link = server.accept().wait(timeout=waiting.PATIENCE)
        for number in range(count):
            text = link.recv().wait(timeout=waiting.PATIENCE)
            if not text:
                return number
            check(text, message(number, len(text)), f"message {number} at the DPU")
            link.send(text).wait(timeout=waiting.PATIENCE)
    return count


def ask(device: str, name: str, count: int, size: int, seconds: float = 20.0) -> list[float]:
    """Microseconds of `count` messages of a comch client of the host and their answers, each compared.

    It ends earlier after the given seconds: on a busy machine each message waits for both processes to run.
    """
    times: list[float] = []
    end = time.monotonic() + seconds
    with Stand() as stand:
        dev = stand.enter_context(pydoca.open_device(device, side="host"))
        client = comch.Client(stand.engine(), dev, name, timeout=waiting.PATIENCE)
        link = stand.enter_context(client)
        for number in range(count):
            text = message(number, size)
            begin = time.perf_counter_ns()
            link.send(text)
            answer = link.recv().wait(timeout=waiting.PATIENCE)
            times.append((time.perf_counter_ns() - begin) / 1e3)
            check(answer, text, f"the answer to message {number}")
            if time.monotonic() > end and len(times) < count:
                link.send(b"").wait(timeout=waiting.PATIENCE)
                break
    return times


def copy_much(device: str, seed: int, seconds: float) -> tuple[int, int]:
    """Runs as one of several processes that use a device; returns the copies and the wrong bytes."""
    from pydoca.qualify.bench import dma

    copies = damaged = 0
    end = time.monotonic() + seconds
    with pydoca.open_device(device) as dev:
        while time.monotonic() < end:
            for damage in dma.integrity(dev, dma.fitting(dev, [64, 4096, 65536]), seed=seed + copies):
                copies += 1
                damaged += bool(damage)
    return copies, damaged


def set_later(device: str, side: _Side, blob: bytes, value: int, seconds: float) -> None:
    """Sets an event of the other side, after some time."""
    with pydoca.open_device(device, side=side) as dev, dev.import_sync_event(blob) as event:
        time.sleep(seconds)
        event.update_set(value)
