"""Memory, and memory maps with their permissions, devices, exports and bufs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydoca._core import Access, Memory, Mmap
from pydoca._display.frame import svg
from pydoca._display.frame.panel import Code, Fact, Panel, Part, Picture, State, Table, Tone, Value
from pydoca._display.frame.reading import ABSENT, call, read
from pydoca._display.frame.values import address, clip, code, flags, mark, plural, size

MOST_BUFS = 24
_Section = tuple[int, int, int, int, bool]  # head, len, data, data_len, in flight

_TONES: dict[str, Tone] = {"started": "good", "imported": "good"}
_WIDTH, _LANE, _LANES = 440.0, 12.0, 4


def memory_panel(memory: Memory) -> Panel:
    addr = read(memory, "addr")
    length = call(len, memory)
    if not addr:
        return Panel("Memory", "", State("closed"))
    facts: list[Fact] = [("address", address(addr)), ("size", size(length or 0)), ("bytes", length or 0)]
    return Panel("Memory", f"{size(length or 0)} at {addr:#x}", State("allocated", "good"), facts)


def mmap_panel(mmap: Mmap) -> Panel:
    state, exports, bufs = call(mmap._snapshot, MOST_BUFS, default=("unknown", [], []))
    addr, length = read(mmap, "addr", 0), read(mmap, "len", 0)
    facts: list[Fact] = [
        ("range", address(addr)),
        ("end", address(addr and addr + length)),
        ("size", size(length)),
        ("devices", _devices(mmap)),
        ("exports", _exports(exports)),
        ("bufs", read(mmap, "num_bufs", 0)),
        ("memory", _memory(mmap)),
    ]
    if read(mmap, "is_thread_safe"):
        facts.append(("threads", "several"))
    name = f"{size(length)} at {addr:#x}" if addr else "no range yet"
    names = set(flags(read(mmap, "access", Access.LOCAL_READ_ONLY)))
    parts: list[Part] = [_rights(names) if read(mmap, "is_from_export") else _permissions(names)]
    if bufs and length:
        parts.append(_picture(addr, length, bufs))
        parts.append(bufs_table(bufs, read(mmap, "num_bufs", 0), addr))
    return Panel("Mmap", name, State(state, _TONES.get(state, "quiet")), facts, parts)


def _devices(mmap: Mmap) -> Value:
    names = [f"{device.name} ({device.side.name.lower()})" for device in read(mmap, "devices", [])]
    return Code(clip(", ".join(names))) if names else ABSENT


def _exports(exports: Iterable[tuple[str, str]]) -> str:
    ways = {"pci": "over PCIe", "rdma": "over RDMA"}
    return ", ".join(f"{ways.get(how, how)} on {device}" for how, device in exports) or "none"


def _memory(mmap: Mmap) -> Value:
    if read(mmap, "is_from_export"):
        return "of the exporter; tasks reach it, the CPU does not"
    memory = read(mmap, "memory")
    if memory is None:
        return ABSENT
    return code(f"{type(memory).__module__}.{type(memory).__name__}".removeprefix("builtins."))


def _rights(names: set[str]) -> Table:
    """The permissions of this side for the memory of a peer."""
    may_read = names & {"pci_read_only", "pci_read_write", "rdma_read"}
    may_write = names & {"pci_read_write", "rdma_write"}
    row = ("tasks of this side", mark(may_read), mark(may_write), mark("rdma_atomic" in names))
    return Table("Permissions", ("who", "read", "write", "atomic"), [row])


def _permissions(names: set[str]) -> Table:
    """The permissions of each party; the local device may always read."""
    local = "local_read_write" in names
    pci_read, pci_write = names & {"pci_read_only", "pci_read_write"}, "pci_read_write" in names
    rows: list[list[Value]] = [
        ["devices of the map", mark(True), mark(local), ABSENT],
        ["other side of PCIe", mark(pci_read), mark(pci_write), ABSENT],
        ["RDMA peers", *(mark(f"rdma_{what}" in names) for what in ("read", "write", "atomic"))],
    ]
    return Table("Permissions", ("who", "read", "write", "atomic"), rows)


def bufs_table(bufs: list[_Section], count: int, base: int = 0) -> Table:
    """Bufs that the program holds; base: the address of their map, 0 for bufs of several maps."""
    heads = ("address", *([">offset"] if base else []), ">bytes", ">headroom", ">data", ">tailroom", "state")
    rows: list[list[Value]] = []
    for head, length, data, data_len, in_flight in bufs:
        offset: list[Value] = [head - base] if base else []
        room = (data - head, data_len, head + length - data - data_len)
        state = State("in flight", "busy") if in_flight else State("idle")
        rows.append([address(head), *offset, length, *room, state])
    return Table("Bufs", heads, rows, max(0, count - len(bufs)), "bufs")


def _picture(base: int, length: int, bufs: list[_Section]) -> Picture:
    lanes = _lanes(bufs)
    count = 1 + max((lane for lane, _ in lanes), default=0)
    height = 40 + count * _LANE
    scale = (_WIDTH - 2) / length

    def draw(prefix: str) -> Iterator[str]:
        pattern = f"{prefix}-hatch"
        yield svg.hatch(pattern)
        yield svg.text(1, 12, f"{base:#x}", faint=True, size=11)
        yield svg.text(_WIDTH - 1, 12, f"{base + length:#x}", anchor="end", faint=True, size=11)
        yield svg.box(1, 18, _WIDTH - 2, 12 + count * _LANE)
        for lane, (head, size_of, data, data_len, in_flight) in lanes:
            x, width, y = 1 + (head - base) * scale, max(size_of * scale, 2), 24 + lane * _LANE
            shapes = svg.bar(x, y, width, _LANE - 2, "quiet", 0.25)
            shapes += svg.bar(1 + (data - base) * scale, y, data_len * scale, _LANE - 2, "accent", 0.75)
            shapes += svg.hatched(x, y, width, _LANE - 2, pattern) if in_flight else ""
            tip = f"buf of {size_of} bytes at {head:#x}, data {data_len} bytes{', in flight' if in_flight else ''}"
            yield svg.group(shapes, tip)

    title = f"{plural(len(bufs), 'buf')} in a memory map of {size(length)}: data solid, in flight hatched"
    return Picture(title, _WIDTH, height, draw)


def _lanes(bufs: list[_Section]) -> list[tuple[int, _Section]]:
    """Each buf in the first lane that is free there; the last lane takes what overlaps still."""
    ends: list[int] = []
    placed = []
    for buf in sorted(bufs):
        lane = next((index for index, end in enumerate(ends) if end <= buf[0]), min(len(ends), _LANES - 1))
        ends[lane : lane + 1] = [max(buf[0] + buf[1], ends[lane] if lane < len(ends) else 0)]
        placed.append((lane, buf))
    return placed
