"""Defects that tests plant in simulated devices, and the cases that must find each of them."""

import itertools
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

import pydoca
from pydoca.faults import FaultRule
from pydoca.qualify.bench import dma, maps
from qualify import plants

# A limits file as a customer writes it. It is wide enough for a healthy device on a busy machine: when the device's
# threads take part, most rounds wait for the processor, and the best ones are judged.
LIMITS = """
schema = 1
name = "planted defects"

[limit."dma.lat.64"]
unit = "us"
max = 1500
n_min = 20

[limit."dma.bw.65536"]
unit = "GB/s"
stat = "p90"
min = 0.4

[limit."dma.rate.64"]
unit = "kop/s"
stat = "p90"
min = 20

[limit."sha.bw.*"]
unit = "MB/s"
stat = "p90"
min = 30

[limit."comch.rate.64"]
unit = "msg/s"
stat = "p90"
min = 500

[limit."rdma.write.lat.64"]
unit = "us"
max = 1500
n_min = 20
"""


@dataclass(frozen=True)
class Defect:
    """A planted defect, and the cases that must fail, with a reason that names it."""

    what: str
    cases: tuple[str, ...]
    says: str  # a pattern in the reason of each case
    rules: Callable[[], tuple[FaultRule, ...]] = tuple
    timing: Mapping[str, Any] = field(default_factory=dict)
    plant: Callable[[pytest.MonkeyPatch, ExitStack], object] | None = None
    peer: str = ""  # the fault plan of the processes at the other end, a TOML file
    level: str = "smoke"
    profile: str = "bluefield3"
    patience: float = 20.0  # seconds until a case gives up; short if something never comes
    tries: int = 1  # more than one if the delays of a busy machine may hide the defect


def _fault(action: str, opcode: str, **keys: Any) -> Callable[[], tuple[FaultRule, ...]]:
    return lambda: (FaultRule(action, opcode, **keys),)


def _after(count: int, action: str, opcode: str, **keys: Any) -> Callable[[], tuple[FaultRule, ...]]:
    """A fault of every operation after the first ones, as of a hot or worn device."""

    def rules() -> tuple[FaultRule, ...]:
        numbers = itertools.count(1)
        return (FaultRule(action, opcode, when=lambda _: next(numbers) > count, **keys),)

    return rules


def _stalls(opcode: str, period: float) -> Callable[[], tuple[FaultRule, ...]]:
    """Delays the engine by 15 ms once in each period, given in seconds."""
    rule = FaultRule("delay", opcode, by="15 ms", when=lambda _: time.monotonic() % period < 0.01)
    return lambda: (rule,)


def _lie(capabilities: dict[str, Any]) -> Callable[[], tuple[FaultRule, ...]]:
    return lambda: (FaultRule("misreport_capability", capabilities=capabilities),)


def _leak_descriptors(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    opened = pydoca.open_device

    def leaking(*arguments: Any, **options: Any) -> pydoca.Device:
        stack.callback(os.close, os.dup(0))
        return opened(*arguments, **options)

    patch.setattr(pydoca, "open_device", leaking)


def _creep(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Makes each copy take longer than the one before."""
    run_one, numbers = dma.Copies.run_one, itertools.count()

    def longer(copies: dma.Copies) -> int:
        taken, end = run_one(copies), time.perf_counter_ns() + 4 * next(numbers)
        begin = time.perf_counter_ns()
        while (now := time.perf_counter_ns()) < end:
            pass
        return taken + now - begin

    patch.setattr(dma.Copies, "run_one", longer)


def _leak_contexts(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Makes each context of RDMA keep a descriptor."""

    class Leaking(pydoca.Rdma):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            stack.callback(os.close, os.dup(0))

    patch.setattr(pydoca, "Rdma", Leaking)


def _leak_exports(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Makes each cycle of export and import keep memory."""
    cycle = maps.export_cycle

    def leaking(sides: Any, size: int = 4096) -> None:
        cycle(sides, size)
        stack.enter_context(pydoca.alloc(size))

    patch.setattr(maps, "export_cycle", leaking)


def _grant_too_much(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Lets the other side write memory that it may only read."""
    lend = maps.lend

    def generous(device: pydoca.Device, memory: Any, access: pydoca.Access) -> pydoca.Mmap:
        if pydoca.Access.PCI_READ_ONLY in access:
            access = access & ~pydoca.Access.PCI_READ_ONLY | pydoca.Access.PCI_READ_WRITE
        return lend(device, memory, access)

    patch.setattr(maps, "lend", generous)


class _Unordered(pydoca.Dma):
    """An engine that takes the setting, but does not follow it."""

    ordered_completions = property(lambda self: True, lambda self, value: None)  # type: ignore[assignment]


def _ignore_order(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    patch.setattr(pydoca, "Dma", _Unordered)


def _end_waits_early(patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    """Makes one wait of 100 return at once."""
    wait, numbers = pydoca.SyncEvent.wait_eq_yield, itertools.count(1)

    def early(event: pydoca.SyncEvent, *operands: int, **options: Any) -> None:
        if next(numbers) % 100:
            wait(event, *operands, **options)

    patch.setattr(pydoca.SyncEvent, "wait_eq_yield", early)


WRONG = r"wrong bits|differs|instead of|outside"
LOST = r"no answer|within|lost|arrived|DEADLOCK|timed? ?out"

DEFECTS = {
    # ---- the copy engine
    "dma_bit": Defect("one bit of one copy flips", ("DMA-1",), "1 wrong bits", _fault("corrupt", "dma.memcpy", nth=7)),
    "dma_bit_rate": Defect(
        "a bit flips in one of 100 copies",
        ("DMA-1", "DMA-ORD", "RND-1", "BUF-2"),
        "wrong|must be|violations|invisible",
        _fault("corrupt", "dma.memcpy", probability=0.01),
    ),
    "dma_rare_bit": Defect(
        "a bit flips in one of 100 copies, while only speed is measured",
        ("DMA-LAT", "DMA-BW"),
        "wrong bits",
        _fault("corrupt", "dma.memcpy", every=100),
        level="quick",
    ),
    "dma_late": Defect(
        "one copy of 100 comes 5 ms late",
        ("DMA-LAT",),
        r"dma.late.\d+: 0.0\d+ is above",
        _fault("delay", "dma.memcpy", every=100, by="5 ms"),
        tries=3,
        level="quick",
    ),
    "dma_creeps": Defect(
        "each copy takes 4 ns longer than the one before",
        ("DMA-DRIFT",),
        "drift",
        plant=_creep,
        level="quick",
    ),
    "dma_stuck_byte": Defect(
        "the first byte of each copy is stuck at 255",
        ("DMA-1", "GRF-1"),
        "wrong bits",
        _fault("corrupt", "dma.memcpy", data="byte", offset=0, value=255),
    ),
    "dma_stale": Defect(
        "a copy succeeds, and nothing was written",
        ("DMA-1", "BUF-2"),
        "wrong",
        _fault("corrupt", "dma.memcpy", data="stale", every=3),
    ),
    "dma_short": Defect(
        "a copy stops in the middle, and says so",
        ("DMA-1",),
        "says that it copied|wrong bits",
        _fault("misreport_length", "dma.memcpy", every=50),
    ),
    "dma_fails": Defect(
        "one copy fails", ("DMA-1", "PE-3"), "IO_FAILED|io_failed|failed", _fault("fail", "dma.memcpy", nth=100)
    ),
    "dma_lost_completion": Defect(
        "the completion of one copy never comes",
        ("DMA-ORD", "PE-3", "DMA-1"),
        "no answer",
        _fault("drop", "dma.memcpy", nth=40),
        patience=0.5,
    ),
    "dma_lost_notification": Defect(
        "the device does not wake a sleeping engine",
        ("PE-1",),
        "woken",
        _fault("lose_notification", "dma.memcpy", nth=5),
        patience=0.5,
    ),
    "dma_full": Defect(
        "the queue takes fewer tasks than the device says",
        ("DMA-ORD",),
        "full|queue",
        _fault("full", "dma.memcpy", every=40),
    ),
    "dma_shallow_queue": Defect(
        "the queue is shallower than the number of tasks",
        ("DMA-ORD", "PE-3"),
        "full|queue",
        timing={"dma": {"latency": "20us", "queue_depth": 16}},
    ),
    "dma_disorder": Defect(
        "copies complete out of order",
        ("DMA-ORD",),
        "violations",
        timing={
            "seed": 3,
            "dma": {"latency": "20us", "reorder_window": 16, "jitter": {"distribution": "uniform", "spread": "50us"}},
        },
        plant=_ignore_order,
    ),
    "dma_slow": Defect(
        "each copy takes 3 ms", ("DMA-LAT",), "above max", timing={"dma": {"latency": "3ms"}}, level="quick"
    ),
    "dma_narrow": Defect(
        "copies move 0.1 GB/s", ("DMA-BW",), "below min", timing={"dma": {"bandwidth": "0.1GB/s"}}, level="quick"
    ),
    "dma_low_rate": Defect(
        "the engine takes 2,000 copies a second",
        ("DMA-QD",),
        "below min",
        timing={"dma": {"rate": "2k/s"}},
        level="quick",
    ),
    "dma_throttles": Defect(
        "the engine is a hundred times slower once it is hot",
        ("DMA-DRIFT",),
        "dma.lat.step",
        _after(5000, "delay", "dma.memcpy", by="2 ms"),
        level="quick",
    ),
    "dma_remote_bit": Defect(
        "one bit of one copy across the PCIe link flips",
        ("DMA-PCI",),
        "of the host: copy .* 1 wrong bits",
        _fault("corrupt", "dma.memcpy", nth=70),
    ),
    "dma_between_hosts": Defect(
        "copies from memory of the host to memory of the host leave out the last eight bytes",
        ("DMA-PCI",),
        "of the host: copy .* wrong bits",
        plant=plants.short_between_hosts,
    ),
    "dma_any_memory": Defect(
        "a bit flips in one of 900 copies from memory of any origin",
        ("MEM-7",),
        "wrong bits",
        _fault("corrupt", "dma.memcpy", every=900),
        level="quick",
    ),
    "dma_appended": Defect(
        "a copy that appends says another length",
        ("BUF-4",),
        "data_len has grown|wrong bits",
        _fault("misreport_length", "dma.memcpy", nth=5),
    ),
    "dma_overwritten_full_buf": Defect(
        "a copy to a list whose first buf is full overwrites that buf's data",
        ("BUF-4",),
        "copy to 0 bytes behind .* wrong bits",
        plant=plants.overwritten_full_bufs,
    ),
    "dma_stalls": Defect(
        "the engine stands still for 15 ms, three times a second",
        ("PE-4",),
        r"pe\.late\.",
        _stalls("dma.memcpy", 0.3),
        level="quick",
    ),
    "event_leaves_thread": Defect(
        "each sync event leaves a thread",
        ("INV-6",),
        "inv.sync_event.threads",
        plant=plants.events_leave_threads,
    ),
    "event_leaves_memory": Defect(
        "each sync event leaves 12 KiB of memory",
        ("INV-6",),
        "inv.sync_event.resident",
        plant=plants.events_leave_memory,
        level="quick",
    ),
    "same_address": Defect(
        "both ports of the host have one MAC address", ("INV-7",), "same MAC address", plant=plants.same_address
    ),
    "representor_type": Defect(
        "representors of virtual functions say that they are of physical ones",
        ("INV-4",),
        "tells the func_type",
        plant=plants.same_type,
    ),
    "clock_jumps": Defect("the counter of cycles jumps by 3 ms", ("INV-8",), "have passed", plant=plants.clock_jumps),
    # ---- capabilities, memory, the device
    "lying_size": Defect(
        "the device claims twice the size that it copies",
        ("CAP-1", "CAP-2"),
        "max_buf_size|one more|a copy of",
        _lie({"dma": {"max_buf_size": 1 << 22}}),
        level="quick",
    ),
    "lying_list": Defect(
        "the device claims longer lists than it takes",
        ("CAP-1", "CAP-2", "BUF-2"),
        "max_buf_list_len|list|elements",
        _lie({"dma": {"max_buf_list_len": 128}}),
        level="quick",
    ),
    "lying_expansions": Defect(
        "the device claims longer lists of compressed data than it takes",
        ("CAP-1", "CAP-2"),
        "list",
        _lie({"compress": {"decompress_deflate_max_buf_list_len": 256}}),
        level="quick",
    ),
    "fewer_receives": Defect(
        "a context has fewer receives than the device tells",
        ("CAP-1",),
        "take 32768 receives",
        plant=plants.fewer_receives,
        level="quick",
    ),
    "missing_engine": Defect(
        "the device does not show an engine that it has",
        ("CAP-2",),
        "sync_event",
        _lie({"sync_event": False}),
    ),
    "removed": Defect(
        "the device disappears during a copy",
        ("DMA-1",),
        "removed",
        _fault("remove_device", "dma.memcpy", nth=50),
    ),
    "permission": Defect(
        "memory that is exported to be read can be written",
        ("MEM-2",),
        "is allowed",
        plant=_grant_too_much,
        level="quick",
    ),
    "leaking_open": Defect("each opening leaks a descriptor", ("INV-1",), "descriptors", plant=_leak_descriptors),
    "leaking_export": Defect(
        "each export keeps its memory", ("MEM-6",), "descriptors|mappings", plant=_leak_exports, level="quick"
    ),
    # ---- SHA
    "sha_bit": Defect(
        "one bit of one digest flips",
        ("SHA-1",),
        "wrong bits",
        _fault("corrupt", "sha.hash", nth=20),
        profile="bluefield2",
    ),
    "sha_stale": Defect(
        "a digest is not written",
        ("SHA-1", "RND-1"),
        "wrong bits",
        _fault("corrupt", "sha.hash", data="stale", every=10),
        profile="bluefield2",
    ),
    "sha_pieces_bit": Defect(
        "a bit of the digest of a message in pieces flips",
        ("SHA-2",),
        "wrong bits",
        _fault("corrupt", "sha.partial_hash", every=20),
        profile="bluefield2",
    ),
    "sha_fails": Defect(
        "one digest fails", ("SHA-1",), "failed", _fault("fail", "sha.hash", nth=9), profile="bluefield2"
    ),
    "dma_slow_new_map": Defect(
        "the first copy from each memory map takes 5 ms longer",
        ("PE-5",),
        r"pe\.usual\.copy\.new_map",
        plant=plants.slow_new_maps,
    ),
    "dma_slow_large_copies": Defect(
        "copies of 1 MiB and more take 20 ms longer",
        ("PE-9",),
        r"pe\.size\.copy\.1048576: .* is above",
        plant=plants.slow_large_copies,
    ),
    "sha_slow_other_algorithm": Defect(
        "a digest by another algorithm than the one before takes 5 ms longer",
        ("PE-5",),
        r"pe\.usual\.digest\.other",
        plant=plants.slow_other_algorithms,
        profile="bluefield2",
    ),
    "sync_slow_reading_across": Defect(
        "each reading of an imported sync event takes 2 ms longer",
        ("PE-5",),
        r"pe\.usual\.reading\.across",
        plant=plants.slow_readings_across,
    ),
    "rdma_kept_memory": Defect(
        "each connection leaves 1 MiB of memory in use, up to 500 MiB",
        ("INV-6",),
        "resident",
        level="quick",
        plant=plants.kept_memory,
    ),
    "map_slow_start": Defect(
        "a map takes 4 ms longer for each MiB", ("PE-7",), r"pe\.setup\.large_map", plant=plants.slow_large_maps
    ),
    "engine_late_wake_up": Defect(
        "waits of engines that have slept end 10 ms late", ("SYN-WAKE",), "pe.woken", plant=plants.late_wake_ups
    ),
    "cache_lost_line": Defect(
        "one invalidation in four brings bytes back that were overwritten",
        ("API-1",),
        "memory that was written before",
        plant=plants.lost_line,
    ),
    "sha_lost": Defect(
        "the completion of one digest never comes",
        ("SHA-1",),
        "no answer",
        _fault("drop", "sha.hash", nth=30),
        profile="bluefield2",
        patience=0.5,
    ),
    "sha_slow": Defect(
        "the SHA engine hashes 5 MB/s",
        ("SHA-BW",),
        "below min",
        timing={"sha": {"bandwidth": "5MB/s"}},
        level="quick",
        profile="bluefield2",
    ),
    # ---- sync events
    "event_lost_add": Defect(
        "one addition has no effect", ("SYN-1",), "must be", _fault("drop", "sync_event.add", nth=50)
    ),
    "event_double_add": Defect(
        "one addition is done twice",
        ("SYN-1", "RND-1"),
        "must be|no answer",
        _fault("duplicate", "sync_event.add", nth=50),
        patience=0.5,
    ),
    "event_corrupt_set": Defect(
        "a bit of a value that is set flips",
        ("SYN-1",),
        "must be|no answer",
        _fault("corrupt", "sync_event.set", nth=50),
        patience=0.5,
    ),
    "event_lost_signal": Defect(
        "signals of the other side have no effect",
        ("SYN-WAKE",),
        "not woken",
        _fault("drop", "sync_event.set", device="pf0"),
        patience=1.0,
    ),
    "event_lost_remote_add": Defect(
        "one addition of the other side has no effect", ("SYN-5",), "must be", _fault("drop", "sync_event.add", nth=50)
    ),
    "event_narrow_mask": Defect(
        "wait tasks ignore the lowest byte of their mask", ("SYN-TASK",), "mask", plant=plants.narrow_mask, patience=0.5
    ),
    # ---- comch
    "message_lost": Defect("one message is lost", ("COM-2",), LOST, _fault("drop", "comch.send", nth=11), patience=0.5),
    "message_double": Defect(
        "one message comes twice", ("COM-2",), "instead of|arrived", _fault("duplicate", "comch.send", nth=11)
    ),
    "message_bit": Defect(
        "a bit of one message flips", ("COM-2",), "instead of", _fault("corrupt", "comch.send", nth=60)
    ),
    "message_cut": Defect(
        "one message is cut", ("COM-2",), "instead of", _fault("misreport_length", "comch.receive", nth=60)
    ),
    "message_refused": Defect("messages are never taken", ("COM-2",), LOST, _fault("full", "comch.send"), patience=0.5),
    "message_not_told": Defect(
        "the arrival of one message is not told",
        ("COM-2", "COM-RATE"),
        LOST,
        _fault("lose_notification", "comch.receive", nth=32),
        level="quick",
        patience=0.5,
    ),
    "message_to_another": Defect(
        "one message of 70 of a server goes to another client",
        ("COM-4",),
        "answer",
        plant=plants.wrong_client,
        level="quick",
        patience=1.0,
    ),
    "message_names": Defect(
        "functions of a card cannot have servers of one name at a time",
        ("COM-6",),
        "beside 1 of the same name",
        plant=plants.names_of_the_card,
        level="quick",
    ),
    "connect_fails": Defect(
        "connections fail, after some time", ("COM-1",), "connection", _after(20, "fail", "comch.connect"), patience=2.0
    ),
    "link_down": Defect(
        "the link goes down for good",
        ("COM-1",),
        "connection|message",
        _fault("link_down", "comch.send", nth=20),
        patience=1.0,
    ),
    "comch_slow": Defect(
        "each message arrives 100 ms late",
        ("COM-RATE",),
        "below min",
        _fault("delay", "comch.receive", by="100 ms"),
        level="quick",
    ),
    # ---- RDMA
    "rdma_write_bit": Defect(
        "a bit of one write flips", ("RDMA-1",), "wrong bits", _fault("corrupt", "rdma.write", nth=33)
    ),
    "rdma_read_stale": Defect(
        "a read brings nothing", ("RDMA-1",), "wrong bits", _fault("corrupt", "rdma.read", data="stale", nth=33)
    ),
    "rdma_double_atomic": Defect(
        "an atomic is done twice", ("RDMA-3",), "must be", _fault("duplicate", "rdma.atomic_fetch_add", nth=33)
    ),
    "rdma_lost_message": Defect(
        "a message is lost", ("RDMA-2",), "no answer", _fault("drop", "rdma.send_imm", nth=33), patience=0.5
    ),
    "rdma_short_message": Defect(
        "a message is cut", ("RDMA-2",), "arrived|wrong", _fault("misreport_length", "rdma.receive", nth=33)
    ),
    "rdma_late": Defect(
        "one write of 400 comes 4 ms late",
        ("RDMA-LAT", "PE-4"),
        "late",
        _fault("delay", "rdma.write", every=400, by="4 ms"),
        tries=3,
        level="quick",
    ),
    "rdma_atomics_for_writers": Defect(
        "a peer that may write may also add",
        ("RDMA-4",),
        "addition with .* is allowed|exchange with .* is allowed",
        plant=plants.atomics_for_writers,
        level="quick",
    ),
    "rdma_narrow_compare": Defect(
        "an exchange writes the lower 32 bits of its number only", ("RDMA-3",), "must be", plant=plants.narrow_compare
    ),
    "rdma_swap_not_stored": Defect(
        "one exchange in 32 stores nothing", ("RDMA-3",), "must be", plant=plants.swap_not_stored
    ),
    "rdma_narrow_number": Defect(
        "the number with a message has 31 bits", ("RDMA-2",), "arrived, instead of", plant=plants.narrow_number
    ),
    "rdma_wrong_peer": Defect(
        "one message of eleven goes to another peer",
        ("RDMA-5",),
        "message (to|from) peer|the data for peer",
        plant=plants.wrong_peer,
        patience=0.5,
    ),
    "rdma_event_bit": Defect(
        "a bit of the value of a peer's event flips",
        ("RDMA-6",),
        "must be",
        _fault("corrupt", "rdma.remote_net_sync_event_get", nth=20),
    ),
    "rdma_cut_read": Defect(
        "a read into a buf that is too short brings what fits",
        ("BUF-5",),
        "too short",
        plant=plants.cut_reads,
        level="quick",
    ),
    "rdma_slow": Defect(
        "each write takes 3 ms", ("RDMA-LAT",), "above max", timing={"rdma_write": {"latency": "3ms"}}, level="quick"
    ),
    "rdma_link_down": Defect(
        "the link goes down", ("RDMA-1",), "", _fault("link_down", "rdma.write", nth=33), patience=1.0
    ),
    "early_wait": Defect(
        "one wait of 100 ends before its value has come",
        ("SYN-1",),
        "the value that ended wait",
        plant=_end_waits_early,
    ),
    "early_wait_of_peer": Defect(
        "one wait of 100 for the other process ends before its value has come",
        ("SYN-2",),
        "the value that ended wait",
        plant=_end_waits_early,
        level="quick",
        tries=3,
    ),
    "rdma_leak": Defect(
        "each context of RDMA keeps a descriptor",
        ("INV-6",),
        r"inv.rdma.descriptors: \d+ is above",
        plant=_leak_contexts,
    ),
    # ---- everything at once
    "graph_copy": Defect(
        "a copy of a graph has wrong data", ("GRF-1",), "wrong bits", _fault("corrupt", "dma.memcpy", every=30)
    ),
    "silent_job_failure": Defect(
        "the event of a job that has failed tells success",
        ("API-5",),
        "the event of a job that fails",
        plant=plants.silent_job_failures,
    ),
    "wrong_adler": Defect(
        "the Adler-32 of long data has a wrong bit", ("CMP-1",), "the Adler-32 is", plant=plants.wrong_adler
    ),
    "wrong_expansion": Defect(
        "a bit of expanded data flips",
        ("CMP-1",),
        "wrong bits",
        _fault("corrupt", "compress.decompress_deflate", nth=7),
    ),
    "spinning_waits": Defect(
        "waits of an engine never sleep", ("PE-2",), r"pe.idle_cpu.wait: .* is above", plant=plants.spinning_waits
    ),
    # ---- flags, notifications, seconds of a kind, limits
    "dma_unwritten_optimized": Defect(
        "one copy in eight with OPTIMIZE_REPORTS writes nothing",
        ("CTX-4",),
        "copy .* has completed, and its data|changed since",
        plant=plants.unwritten_optimized,
    ),
    "dma_exchanged_lines": Defect(
        "copies of memory that was lent with relaxed ordering have two lines exchanged",
        ("MEM-2",),
        "pci_relaxed_ordering: .* wrong bits",
        plant=plants.exchanged_lines,
        level="quick",
    ),
    "engine_deaf_to_the_past": Defect(
        "a completion that is there when a notification is requested brings none",
        ("PE-6",),
        "was not woken",
        plant=plants.deaf_to_the_past,
        patience=1.0,
    ),
    "swapped_gids": Defect(
        "each port has the GIDs of the other one", ("INV-7",), "and the GIDs", plant=plants.swapped_gids
    ),
    "stale_greetings": Defect(
        "the first message of a connection comes behind the last one of the connection before",
        ("COM-1",),
        "the answer of connection",
        plant=plants.stale_greetings,
    ),
    "rdma_long_gid_table": Defect(
        "the GID table is one entry shorter than its size",
        ("API-8",),
        "last entry of the GID table",
        plant=plants.long_gid_table,
    ),
    "rdma_kept_compare": Defect(
        "an exchange keeps the number that it was made with", ("API-7",), "cmp_data", plant=plants.kept_compare
    ),
    "rdma_only_ipv4": Defect(
        "a peer is found by its IPv4 address only", ("API-8",), "the ipv6 address", plant=plants.only_ipv4
    ),
    # ---- the DPA
    "dpa_early_signal": Defect(
        "a launch signals its end when the first of its threads has ended",
        ("OBJ-10",),
        "of which . threads of 4 have ended",
        plant=plants.early_signals,
    ),
    "dpa_silent_failure": Defect(
        "a kernel that fails counts as one that has ended",
        ("OBJ-10",),
        "a kernel that fails",
        plant=plants.silent_kernels,
        patience=2.0,
    ),
    "dpa_fewer_threads": Defect(
        "the DPA has one thread less than it claims", ("OBJ-10",), "no thread left", plant=plants.fewer_threads
    ),
    # ---- the other process
    "event_of_the_dead": Defect(
        "an event whose owner's process has died can still be read",
        ("SYN-8",),
        "get of an event .* no ConnectionResetError",
        plant=plants.readings_of_the_dead,
        level="quick",
        patience=1.0,
    ),
    "peer_killed": Defect(
        "the process at the other end is killed",
        ("SYN-2",),
        "gone|reset|ended",
        peer='[[rule]]\naction = "kill"\nopcode = "sync_event.set"\nnth = 50\n',
        level="quick",
    ),
    "peer_frozen": Defect(
        "the process at the other end stands still",
        ("SYN-2",),
        "no answer",
        peer='[[rule]]\naction = "freeze"\nopcode = "sync_event.set"\nnth = 50\n',
        level="quick",
        patience=1.5,
    ),
    "peer_bit": Defect(
        "a bit of a message of the other process flips",
        ("COM-RTT",),
        "instead of",
        peer='[[rule]]\naction = "corrupt"\nopcode = "comch.send"\nnth = 50\n',
        level="quick",
    ),
}
