"""Access of one process to the memory of another: pydoca's own and foreign memory."""

import os
import secrets
import signal
import subprocess
import sys

import pytest

import pydoca

EXPORTER = """
import sys, pydoca
source, access, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
memory = pydoca.alloc(size) if source == "alloc" else bytearray(size)
memoryview(memory)[:] = bytes(i % 251 for i in range(size))
device = pydoca.open_device("0b:00.0", side="host")
mmap = device.mmap(memory, access=access)
print(mmap.export_pci().hex(), mmap.addr, flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""

SIZE = 300_000
PATTERN = bytes(i % 251 for i in range(SIZE))


class Exporter:
    """A host process that has exported memory, and executes lines."""

    def __init__(self, source, access, env):
        command = [sys.executable, "-c", EXPORTER, source, access, str(SIZE)]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        blob, addr = self.process.stdout.readline().split()
        self.blob, self.addr = bytes.fromhex(blob), int(addr)

    def execute(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def fabric():
    """The environment of a fabric of its own, which this process joins."""
    before = pydoca.sim.fabric()
    name = f"test-{secrets.token_hex(8)}"
    pydoca.sim.set_fabric(name)
    yield {**os.environ, "PYDOCA_FABRIC": name}
    pydoca.sim.set_fabric(before)


@pytest.fixture(params=["alloc", "foreign"])
def source(request):
    return request.param


@pytest.fixture
def export(fabric, source):
    exporters = []

    def export(access="pci_read_only"):
        exporters.append(Exporter(source, access, fabric))
        return exporters[-1]

    yield export
    for exporter in exporters:
        exporter.process.kill()
        exporter.process.wait(20)
        exporter.process.stdin.close()
        exporter.process.stdout.close()


class Copier:
    """A DPU's Dma that copies between an imported map and local memory, in pieces that the device allows."""

    def __init__(self):
        self.device = pydoca.open_device("03:00.0", side="dpu")
        self.pe = pydoca.ProgressEngine()
        self.dma = pydoca.Dma(self.pe, self.device)
        self.dma.start()
        self.inventory = pydoca.BufInventory(8)

    def copy(self, source, target):
        src = self.inventory.get_by_data(source)
        self.dma.memcpy(src, self.inventory.get_by_addr(target)).wait(20)

    def read(self, remote):
        local = pydoca.alloc(len(remote))
        self.copy(remote, self.device.mmap(local))
        return bytes(local)

    def read_until_it_fails(self, remote):
        while True:
            self.read(remote)

    def write(self, data, remote):
        self.copy(self.device.mmap(data), remote)

    def close(self):
        self.dma.stop()
        self.dma.close()
        self.pe.close()


@pytest.fixture
def copier(fabric):
    copier = Copier()
    yield copier
    copier.close()


def test_the_importer_reads(export, copier):
    exporter = export()
    with copier.device.import_mmap(exporter.blob) as remote:
        assert (remote.addr, len(remote)) == (exporter.addr, SIZE)
        assert copier.read(remote) == PATTERN
        exporter.execute("memoryview(memory)[0] = 200")
        assert copier.read(remote)[:2] == b"\xc8\x01"


def test_the_importer_writes_where_it_may(export, copier):
    exporter = export("pci_read_write|local_read_write")
    with copier.device.import_mmap(exporter.blob) as remote:
        copier.write(PATTERN[::-1], remote)
    exporter.execute("assert bytes(memory) == bytes(i % 251 for i in range(size))[::-1]")
    exporter.end()


def test_the_importer_does_not_write_where_it_may_not(export, copier):
    exporter = export("pci_read_only")
    remote = copier.device.import_mmap(exporter.blob)
    with pytest.raises(pydoca.IoFailedError, match="dst's memory was exported without pci_read_write"):
        copier.write(PATTERN[::-1], remote)
    exporter.execute("assert bytes(memory) == bytes(i % 251 for i in range(size))")


@pytest.mark.parametrize("end", ["mmap.stop()", "mmap.close()"])
def test_a_withdrawn_export_gives_no_bytes(export, copier, end):
    exporter = export()
    remote = copier.device.import_mmap(exporter.blob)
    assert copier.read(remote) == PATTERN
    exporter.execute(end)
    exporter.execute("memoryview(memory)[:] = bytes(size)")
    with pytest.raises(pydoca.IoFailedError, match="src's memory is gone: its owner has withdrawn the export"):
        copier.read(remote)
    with pytest.raises(pydoca.NotConnectedError):
        copier.device.import_mmap(exporter.blob)
    remote.close()


def test_a_dead_exporter_is_an_error(export, copier):
    exporter = export()
    remote = copier.device.import_mmap(exporter.blob)
    exporter.process.send_signal(signal.SIGKILL)
    exporter.process.wait(20)
    with pytest.raises(pydoca.DocaError):
        copier.device.import_mmap(exporter.blob)
    with pytest.raises(pydoca.IoFailedError, match="src's memory is gone: the process that owns it has ended"):
        copier.read_until_it_fails(remote)
    remote.close()


def test_a_restarted_export_needs_its_new_blob(export, copier):
    exporter = export()
    exporter.execute("mmap.stop(); mmap.start(); blob = mmap.export_pci()")
    with pytest.raises((pydoca.NotConnectedError, pydoca.InvalidValueError)):
        copier.device.import_mmap(exporter.blob)


def test_another_fabric_has_no_such_exporter(export, copier):
    exporter = export()
    pydoca.sim.set_fabric(f"test-{secrets.token_hex(8)}")
    with pydoca.open_device("p1") as elsewhere, pytest.raises(pydoca.DocaError):
        elsewhere.import_mmap(exporter.blob)


def test_importers_leave_nothing(export, copier):
    exporter = export()
    copier.device.import_mmap(exporter.blob).close()  # this creates all objects that exist once per process
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with copier.device.import_mmap(exporter.blob) as remote:
            assert copier.read(remote) == PATTERN
    del remote
    assert sorted(os.listdir("/proc/self/fd")) == before


# ---- a map that no name holds


def test_a_temporary_map_that_was_exported_says_so_on_both_sides(caplog):
    caplog.set_level("INFO", logger="pydoca")
    with (
        pydoca.open_device("0b:00.0", side="host") as host,
        pydoca.open_device("03:00.0", side="dpu") as dpu,
    ):
        blob = host.mmap(bytearray(10), access="pci_read_only").export_pci()
        with pytest.raises(
            pydoca.NotConnectedError, match=r"what was exported is gone: its owner has .*dropped it since"
        ):
            dpu.import_mmap(blob)
        host.mmap(bytearray(1)).close()  # a call that passes the log on
    (record,) = caplog.records
    assert record.name == "pydoca.mmap"
    assert record.levelname == "INFO"
    assert "a memory map of 10 bytes was exported, and no name holds it any more" in record.getMessage()


def test_a_map_that_is_closed_or_was_not_exported_ends_in_silence(caplog):
    caplog.set_level("INFO", logger="pydoca")
    with pydoca.open_device("0b:00.0", side="host") as host:
        host.mmap(bytearray(10), access="pci_read_only")
        with host.mmap(bytearray(10), access="pci_read_only") as mmap:
            mmap.export_pci()
        del mmap
        host.mmap(bytearray(1)).close()
    assert caplog.records == []
