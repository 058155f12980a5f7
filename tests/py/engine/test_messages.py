"""Every message names the object, the limit that was broken with the value, and what to do."""

import enum
import gc
import re

import pytest

import pydoca
from pydoca import Access, ContextState, LogLevel, Status, comch


class Machine:
    """Objects of both sides, in the states that the attempts below need."""

    def __init__(self) -> None:
        self.dpu = pydoca.open_device("03:00.0", side="dpu")
        self.host = pydoca.open_device("0b:00.0", side="host")
        self.rep = self.dpu.open_representor("0b:00.0")
        self.pe = pydoca.ProgressEngine()
        self.map = self.dpu.mmap(pydoca.alloc(64))
        self.stopped = pydoca.Mmap(bytearray(64), devices=[self.dpu])
        self.inventory = pydoca.BufInventory(8)
        self.list = self.inventory.get_by_data(self.map)
        self.inner = self.inventory.get_by_data(self.map)
        self.list.chain(self.inner)
        self.src = self.inventory.get_by_data(self.map)
        self.dst = self.inventory.get_by_addr(self.dpu.mmap(pydoca.alloc(64)))
        self.dma = pydoca.Dma(self.pe, self.dpu, num_tasks=2)

    def running(self) -> pydoca.Dma:
        self.dma.start()
        return self.dma

    def stopping(self) -> pydoca.Dma:
        self.kept = self.running().memcpy(self.src, self.dst, submit=False)
        self.dma.stop()
        assert self.dma.state is ContextState.STOPPING
        return self.dma

    def in_flight(self) -> pydoca.DmaMemcpyTask:
        self.kept = self.running().memcpy(self.src, self.dst, submit=False)
        self.kept.submit(pydoca.SubmitFlags.NONE)
        return self.kept

    def closed(self) -> pydoca.Dma:
        self.dma.close()
        return self.dma

    def shared(self) -> pydoca.Buf:
        self.src.inc_refcount()
        return self.src

    def exported(self) -> pydoca.Mmap:
        self.export = self.host.mmap(pydoca.alloc(64), access="pci_read_write")
        return self.export

    def closed_map(self) -> pydoca.Mmap:
        self.exported().close()
        return self.export

    def imported(self) -> pydoca.Mmap:
        return self.dpu.import_mmap(self.exported().export_pci())

    def server(self, **options: object) -> comch.Server:
        return comch.Server(self.pe, self.dpu, self.rep, "messages", **options)

    def exported_connection(self) -> pydoca.RdmaConnection:
        self.rdma = pydoca.Rdma(self.pe, self.dpu)
        self.rdma.start()
        return self.rdma.export()

    def end(self) -> None:
        self.dma.flush_tasks()
        self.pe.__exit__(None, None, None)


@pytest.fixture
def machine():
    machine = Machine()
    yield machine
    machine.end()
    del machine
    gc.collect()


MAP = r"mmap of 64 bytes at 0x[0-9a-f]+"
BUF = r"buf of 64 bytes at 0x[0-9a-f]+"
State, Value, Permitted, Use = (
    pydoca.BadStateError,
    pydoca.InvalidValueError,
    pydoca.NotPermittedError,
    pydoca.InUseError,
)

# The attempt by its name, the error, and the patterns of its message.
MESSAGES = {
    # contexts
    "num_tasks below": (
        lambda m: pydoca.Dma(m.pe, m.dpu, num_tasks=-1),
        Value,
        [r"num_tasks must be in 1\.\.\d+, not -1"],
    ),
    "num_tasks above": (
        lambda m: pydoca.Dma(m.pe, m.dpu, num_tasks=10**9),
        Value,
        [r"num_tasks must be in 1\.\.\d+, not 1000000000"],
    ),
    "num_tasks huge": (lambda m: pydoca.Dma(m.pe, m.dpu, num_tasks=10**30), Value, ["num_tasks must be in 1"]),
    "num_tasks text": (lambda m: pydoca.Dma(m.pe, m.dpu, num_tasks="3"), TypeError, ["num_tasks must be an int"]),
    "num_tasks by name": (
        lambda m: pydoca.Rdma(m.pe, m.dpu, num_tasks={"write": -1}),
        Value,
        [r"num_tasks of write must be in 1\.\.\d+, not -1"],
    ),
    "num_tasks of an unknown task": (
        lambda m: pydoca.Rdma(m.pe, m.dpu, num_tasks={"wrte": 1}),
        Value,
        ["'wrte' does not exist", "did you mean 'write'"],
    ),
    "num_send_tasks 0": (lambda m: m.server(num_send_tasks=0), Value, [r"num_send_tasks must be in 1\.\.\d+, not 0"]),
    "export closed": (
        lambda m: m.closed_map().export_pci(),
        pydoca.NotPermittedError,
        [rf"export mmap \({MAP}\): it is closed; make another"],
    ),
    "start twice": (lambda m: m.running().start(), State, ["start dma on p0: it is running; stop it"]),
    "start while stopping": (
        lambda m: m.stopping().start(),
        State,
        ["start dma on p0: it is stopping; free its tasks, and progress until it is idle"],
    ),
    "start closed": (lambda m: m.closed().start(), State, ["start dma: it is closed; make another"]),
    "close running": (lambda m: m.running().close(), Use, ["close dma on p0: it is running; stop it"]),
    "close while stopping": (
        lambda m: m.stopping().close(),
        Use,
        ["close dma on p0: it is stopping; free its tasks, and progress"],
    ),
    "task of an idle context": (
        lambda m: m.dma.memcpy(m.src, m.dst),
        State,
        ["dma memcpy: its context is not running; start it first"],
    ),
    "task of a stopping context": (
        lambda m: m.stopping().memcpy(m.src, m.dst),
        State,
        ["its context is stopping; free its tasks, progress until it is idle, and start it again"],
    ),
    "task of a closed context": (lambda m: m.closed().memcpy(m.src, m.dst), State, ["its context is closed"]),
    "engine with contexts": (lambda m: m.pe.close(), Use, [r"1 connected context\(s\) are not closed; close them"]),
    "engine with tasks in flight": (
        lambda m: (m.in_flight(), m.pe.release_thread()),
        Use,
        [r"release_thread: 1 task\(s\) are in flight; progress"],
    ),
    "submit twice": (lambda m: m.in_flight().submit(), State, ["dma memcpy of 64 bytes", "it is in flight; wait"]),
    "free in flight": (lambda m: m.in_flight().free(), Use, ["free dma memcpy of 64 bytes: it is in flight"]),
    "no result": (lambda m: m.running().memcpy(m.src, m.dst, submit=False).result(), State, ["never submitted"]),
    # maps
    "start a started map": (lambda m: m.map.start(), Permitted, [rf"start mmap \({MAP}\): it is started; stop it"]),
    "stop a map with bufs": (lambda m: m.map.stop(), Permitted, [rf"stop mmap \({MAP}\): 3 buf\(s\)", "close them"]),
    "export a stopped map": (
        lambda m: m.stopped.export_pci(),
        Permitted,
        [rf"export mmap \({MAP}\): it is not started; start it first"],
    ),
    "export without a permission": (
        lambda m: m.map.export_pci(),
        Permitted,
        [rf"export mmap \({MAP}\): its access has neither pci_read_only nor pci_read_write; set one"],
    ),
    "export over RDMA without a permission": (
        lambda m: m.map.export_rdma(),
        Permitted,
        [rf"export mmap \({MAP}\): its access has none of rdma_read"],
    ),
    "export on another device": (
        lambda m: m.exported().export_pci(m.dpu),
        pydoca.NotFoundError,
        [rf"\({MAP}\): device p0 was not added to it; add it before the start"],
    ),
    "export what was imported": (
        lambda m: m.imported().export_pci(),
        Permitted,
        [rf"imported {MAP}", "only its exporter can export it"],
    ),
    "a device twice": (
        lambda m: m.stopped.add_device(m.dpu),
        pydoca.AlreadyExistError,
        [rf"add device p0 \({MAP}\): the map has it"],
    ),
    "a device that is not there": (
        lambda m: m.stopped.remove_device(m.host),
        pydoca.NotFoundError,
        [rf"remove device pf0 \({MAP}\): the map does not have it"],
    ),
    "a second range": (
        lambda m: m.stopped.set_memrange(bytearray(8)),
        Permitted,
        [rf"set memrange \({MAP}\): a map keeps its range for life; make another map"],
    ),
    "permissions of a started map": (
        lambda m: m.map.set_permissions("local_read_only"),
        State,
        [rf"set permissions \({MAP}\): it is started; stop it"],
    ),
    "permissions that exclude each other": (
        lambda m: m.dpu.mmap(bytearray(8), access="pci_read_only|pci_read_write"),
        Value,
        ["pci_read_only and pci_read_write exclude each other"],
    ),
    "an access that does not exist": (
        lambda m: m.dpu.mmap(bytearray(8), access="pci_readonly"),
        Value,
        ["'pci_readonly' does not exist; did you mean 'pci_read_only'"],
    ),
    # bufs
    "a buf of no address of the map": (
        lambda m: m.inventory.get_by_addr(m.map, m.map.addr + 65),
        Value,
        [rf"the address is not in the {MAP}"],
    ),
    "a buf that is too long": (
        lambda m: m.inventory.get_by_addr(m.map, m.map.addr + 4, 61),
        Value,
        ["get a buf of 61 bytes", rf"from that address on, the {MAP} has 60 bytes"],
    ),
    "a buf of 0 bytes": (
        lambda m: m.inventory.get_by_addr(m.map, m.map.addr, 0),
        Value,
        ["a buf has at least 1 byte"],
    ),
    "data outside of the buf": (
        lambda m: m.inventory.get_by_args(m.map, m.map.addr, 8, m.map.addr, 9),
        Value,
        ["the data section does not lie within the buf"],
    ),
    "a buf of a stopped map": (
        lambda m: m.inventory.get_by_addr(m.stopped),
        State,
        [rf"the {MAP} is not started; start it first"],
    ),
    "a buf of a stopped inventory": (
        lambda m: (m.inventory.stop(), m.inventory.get_by_addr(m.map)),
        State,
        ["the inventory is stopped; start it first"],
    ),
    "a buf too many": (
        lambda m: [m.inventory.get_by_addr(m.map) for _ in range(8)],
        pydoca.NoMemoryError,
        [r"all 8 elements of the inventory are out; release one, or expand\(\)"],
    ),
    "chain to itself": (
        lambda m: m.src.chain(m.src),
        Permitted,
        [rf"chain \({BUF}\): a buf cannot be chained to itself"],
    ),
    "chain to an inner element": (
        lambda m: m.inner.chain(m.src),
        Permitted,
        [rf"chain \({BUF}\): it is a later element of a list; use the list's head"],
    ),
    "chain an inner element": (
        lambda m: m.src.chain(m.inner),
        Permitted,
        [rf"chain \({BUF}\): the given {BUF} is a later element of a list"],
    ),
    "chain a shared buf": (
        lambda m: m.dst.chain(m.shared()),
        Permitted,
        [rf"the given {BUF} has 2 references, and may have 1; call its dec_refcount\(\)"],
    ),
    "chain a buf in flight": (
        lambda m: (m.in_flight(), m.list.chain(m.src)),
        Use,
        [rf"a task has the given {BUF}; wait until the task has completed"],
    ),
    "chain to a buf in flight": (
        lambda m: (m.in_flight(), m.src.chain(m.list)),
        Use,
        [rf"chain \({BUF}\): a task has it; wait"],
    ),
    "unchain a stranger": (
        lambda m: m.list.unchain(m.src),
        Value,
        [rf"unchain \({BUF}\): the given {BUF} is not a later element of this list"],
    ),
    "the length of an inner element": (
        lambda m: m.inner.list_len,
        Permitted,
        ["it is a later element of a list; use the list's head"],
    ),
    "data that is too long": (
        lambda m: setattr(m.src, "data_len", 65),
        Value,
        [rf"data_len = 65 \({BUF}\): the data section must lie within the buf's 64 bytes"],
    ),
    "a length below 0": (lambda m: setattr(m.src, "data_len", -1), Value, ["data_len must be 0 or more, not -1"]),
    "a buf in flight": (
        lambda m: (m.in_flight(), m.src.close()),
        Permitted,
        [rf"\({BUF}\): a task has it; wait until the task has completed"],
    ),
    # others
    "a device that does not exist": (lambda m: pydoca.open_device("p7"), pydoca.NotFoundError, ['"p7"', "there are: "]),
    "a device in use": (lambda m: m.dpu.close(), Use, ["close p0", "close them first"]),
    "a level that does not exist": (lambda m: pydoca.set_log_level("loud"), Value, ["'loud'", r"50 \(INFO\)"]),
    "a timeout below 0": (lambda m: m.pe.wait(-1), Value, [r"timeout is in seconds, 0 or more, .* not -1\.0"]),
    "a drain_timeout below 0": (lambda m: setattr(m.pe, "drain_timeout", -1), Value, ["drain_timeout .* not -1"]),
    "a wrong type": (lambda m: m.pe.drain("all"), TypeError, [r"^drain\(\) takes \(max: int = 256\), not \('all'\)$"]),
    "a number that no C++ type holds": (lambda m: m.pe.drain(-1), TypeError, [r"^drain\(\) takes .*, not \(-1\)$"]),
    "a wrong type by keyword": (
        lambda m: pydoca.ProgressEngine(drain_timeout="x"),
        TypeError,
        [r"^ProgressEngine\(\) takes \(\*, drain_timeout: float = 1.0, .*\), not \(drain_timeout='x'\)$"],
    ),
    "a buf that is none": (
        lambda m: m.src.chain(None),
        TypeError,
        [r"^chain\(\) takes \(other: pydoca.Buf\), not \(None\)$"],
    ),
    "a mode that is none": (
        lambda m: setattr(m.pe, "event_mode", 7),
        TypeError,
        ["event_mode must be a pydoca.EventMode, not int"],
    ),
    "export without a device": (lambda m: pydoca.Mmap().export_pci(), Value, ["without a range.*it has no device"]),
    "a connection that nobody asked for": (
        lambda m: m.exported_connection().accept(),
        State,
        ["accept connection 1: it is exported; it must be requested by a peer"],
    ),
    "a connection of an idle context": (
        lambda m: pydoca.Rdma(m.pe, m.dpu).export(),
        State,
        ["its context is not running; start it first"],
    ),
    "a time that has passed": (
        lambda m: m.pe.wait(0.01),
        pydoca.TimeOutError,
        [r"wait for the engine: the timeout has passed \(0\.01 s\)"],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_names_object_limit_and_remedy(machine, name):
    attempt, error, patterns = MESSAGES[name]
    with pytest.raises(error) as raised:
        attempt(machine)
    for pattern in patterns:
        assert re.search(pattern, str(raised.value)), str(raised.value)
    raised.value.__traceback__ = None


ENUMS = [value for name in pydoca.__all__ if isinstance(value := getattr(pydoca, name), enum.EnumMeta) and list(value)]


@pytest.mark.parametrize("cls", ENUMS, ids=lambda cls: cls.__name__)
def test_enumerators_print_their_names(cls):
    for member in cls:
        name = f"{cls.__name__}.{member.name}"
        assert (str(member), f"{member}", f"{member:s}", f"{member!s}") == (name,) * 4
        assert name in repr(member)
        assert f"{member:d}" == str(int(member))
        assert f"{member:>40}" == name.rjust(40)


def test_flags_print_all_of_their_names():
    both = Access.LOCAL_READ_WRITE | Access.PCI_READ_ONLY
    assert set(str(both).removeprefix("Access.").split("|")) == {"LOCAL_READ_WRITE", "PCI_READ_ONLY"}


def test_enumerators_are_still_numbers():
    assert Status.IO_FAILED == 17
    assert LogLevel.INFO + 10 == LogLevel.DEBUG
    assert [10, 20, 30][ContextState.STARTING] == 20
