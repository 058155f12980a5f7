"""A file that is cut short under a memory map: tasks fail, and the process goes on."""

import contextlib
import mmap as system_mmap
import os

import pytest

import pydoca
from pydoca import faults

PAGE = system_mmap.PAGESIZE
ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"
ENOUGH = 20.0  # seconds in which a completion must come


class MappedFile:
    """A file of two pages, mapped for a device; the second page goes when the file is cut."""

    def __init__(self, path, device, **options):
        path.write_bytes(bytes(range(256)) * (2 * PAGE // 256))
        self.path = path
        with path.open("r+b") as file:
            self.memory = system_mmap.mmap(file.fileno(), 2 * PAGE)
        self.mmap = device.mmap(self.memory, **options)

    def cut(self):
        os.truncate(self.path, PAGE)


@pytest.fixture
def p0():
    with pydoca.open_device("p0") as device:
        yield device


@pytest.fixture
def pe():
    with pydoca.ProgressEngine() as engine:
        yield engine


@pytest.fixture
def inventory():
    return pydoca.BufInventory(8)


@pytest.fixture
def file(tmp_path, p0):
    return MappedFile(tmp_path / "file", p0)


def require_gone(task, operand):
    with pytest.raises(pydoca.IoFailedError, match=f"{operand}'s memory is gone: the mapped file has become shorter"):
        task.wait(ENOUGH)


def test_a_copy_from_and_to_a_mapped_file(p0, pe, inventory, file):
    memory = bytearray(2 * PAGE)
    with pydoca.Dma(pe, p0) as dma:
        dma.memcpy(inventory.get_by_data(file.mmap), inventory.get_by_addr(p0.mmap(memory))).wait(ENOUGH)
        assert memory == file.memory[:]
        dma.memcpy(inventory.get_by_data(p0.mmap(bytes(2 * PAGE))), inventory.get_by_addr(file.mmap)).wait(ENOUGH)
    assert file.path.read_bytes() == bytes(2 * PAGE)


@pytest.mark.parametrize("reads", [True, False])
def test_a_copy_of_a_file_that_was_cut(p0, pe, inventory, file, reads):
    other = p0.mmap(bytearray(2 * PAGE))
    src, dst = (file.mmap, other) if reads else (other, file.mmap)
    with pydoca.Dma(pe, p0) as dma:
        file.cut()
        task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst))
        require_gone(task, "src" if reads else "dst")


@pytest.mark.parametrize("reads", [True, False])
def test_a_copy_with_a_planned_corruption(tmp_path, pe, inventory, reads):
    with faults.inject(faults.FaultRule("corrupt")), pydoca.open_device("p0") as device:
        file = MappedFile(tmp_path / "faulty", device)
        other = device.mmap(bytearray(2 * PAGE))
        src, dst = (file.mmap, other) if reads else (other, file.mmap)
        with pydoca.Dma(pe, device) as dma:
            file.cut()
            task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst))
            require_gone(task, "src" if reads else "dst")


def test_advice_about_a_file_that_was_cut(p0, pe, inventory, file):
    with pydoca.MmapAdvise(pe, p0) as advise:
        advise.invalidate_cache(inventory.get_by_data(file.mmap)).wait(ENOUGH)
        file.cut()
        task = advise.invalidate_cache(inventory.get_by_data(file.mmap))
        require_gone(task, "buf")


def test_digests_of_a_file_that_was_cut(bluefield2, tmp_path, pe, inventory):
    with pydoca.open_device("p0") as device, pydoca.Sha(pe, device) as sha:
        file = MappedFile(tmp_path / "hashed", device)
        result = inventory.get_by_addr(device.mmap(bytearray(64)))
        sha.hash(inventory.get_by_data(file.mmap), result, "sha256").wait(ENOUGH)
        file.cut()
        task = sha.hash(inventory.get_by_data(file.mmap), result, "sha256")
        require_gone(task, "src")


def test_an_importer_and_the_owner_outlive_the_cut(tmp_path, pe, inventory):
    with pydoca.open_device("pf0") as host, pydoca.open_device("p0") as dpu, pydoca.Dma(pe, dpu) as dma:
        file = MappedFile(tmp_path / "exported", host, access="pci_read_only")
        imported = dpu.import_mmap(file.mmap.export_pci())
        file.cut()
        task = dma.memcpy(inventory.get_by_data(imported), inventory.get_by_addr(dpu.mmap(bytearray(2 * PAGE))))
        with pytest.raises(pydoca.IoFailedError):
            task.wait(ENOUGH)


@contextlib.asynccontextmanager
async def linked(device):
    """Both ends of a connection between two contexts."""
    async with contextlib.AsyncExitStack() as stack:
        pe = await stack.enter_async_context(pydoca.ProgressEngine())
        permissions = ACCESS.removeprefix("local_read_write|")
        a, b = [await stack.enter_async_context(pydoca.Rdma(pe, device, permissions=permissions)) for _ in range(2)]
        ab, ba = a.export(), b.export()
        ab.connect(ba.details)
        ba.connect(ab.details)
        await ab.established()
        await ba.established()
        yield ab


@pytest.mark.parametrize("operation", ["read", "write", "read to a file", "write from a file", "fetch_add"])
def test_rdma_with_a_file_that_was_cut(run, tmp_path, p0, inventory, operation):
    file = MappedFile(tmp_path / "rdma", p0, access=ACCESS)
    memory = p0.mmap(bytearray(2 * PAGE), access=ACCESS)
    remote_file, remote_memory = (p0.import_mmap(each.export_rdma()) for each in (file.mmap, memory))
    data, room = inventory.get_by_data, inventory.get_by_addr

    def start(connection):
        match operation:
            case "read":
                return connection.read(data(remote_file), room(memory))
            case "write":
                return connection.write(data(memory), room(remote_file))
            case "read to a file":
                return connection.read(data(remote_memory), room(file.mmap))
            case "write from a file":
                return connection.write(data(file.mmap), room(remote_memory))
        word = data(remote_file, remote_file.addr + PAGE, 8)
        return connection.atomic_fetch_add(word, room(memory, memory.addr, 8), 2)

    async def main():
        async with linked(p0) as connection:
            file.cut()
            with pytest.raises(pydoca.IoFailedError):
                await start(connection)

    run(main())
