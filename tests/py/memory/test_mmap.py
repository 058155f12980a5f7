"""Memory maps: configuration, states, permissions, memory of every source, and the free callback."""

import array
import ctypes
import gc
import mmap as system_mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pydoca
from pydoca import Access

BAD_STATE, NOT_PERMITTED, INVALID = pydoca.BadStateError, pydoca.NotPermittedError, pydoca.InvalidValueError


@pytest.fixture
def p0():
    with pydoca.open_device("p0") as device:
        yield device


@pytest.fixture
def pf0():
    with pydoca.open_device("pf0") as device:
        yield device


@pytest.fixture
def export(pf0):
    with pf0.mmap(pydoca.alloc(64), access="pci_read_write") as exported:
        yield exported


def test_a_map_is_made_added_and_started_in_one_call(p0):
    memory = bytearray(64)
    with p0.mmap(memory, user_data="mine") as mmap:
        assert mmap.is_started
        assert (len(mmap), mmap.len) == (64, 64)
        assert mmap.access == Access.LOCAL_READ_WRITE
        assert (mmap.user_data, mmap.memory, mmap.devices) == ("mine", memory, [p0])
        assert not mmap.is_exported
        assert not mmap.is_from_export
        assert mmap.num_bufs == 0
        assert "started" in repr(mmap)


def test_a_map_is_configured_then_started(p0, pf0):
    mmap = pydoca.Mmap(bytearray(64), devices=[p0, pf0], access="local_read_write|pci_read_only", max_num_devices=2)
    assert not mmap.is_started
    assert mmap.devices == [p0, pf0]
    assert mmap.access == Access.LOCAL_READ_WRITE | Access.PCI_READ_ONLY
    with mmap:
        assert mmap.is_started
    assert not mmap.is_started
    assert "closed" in repr(mmap)


def test_an_empty_map(p0):
    mmap = pydoca.Mmap()
    assert (mmap.addr, len(mmap), mmap.devices, mmap.memory, mmap.max_num_devices) == (0, 0, [], None, 8)
    assert mmap
    with pytest.raises(INVALID, match="range"):
        mmap.start()
    mmap.set_memrange(bytearray(8))
    with pytest.raises(INVALID, match="device"):
        mmap.start()
    mmap.add_device(p0)
    mmap.start()
    mmap.close()


def test_start_stop_start(p0):
    mmap = p0.mmap(bytearray(8))
    with pytest.raises(NOT_PERMITTED):
        mmap.start()
    mmap.stop()
    mmap.stop()
    mmap.set_permissions(Access.LOCAL_READ_ONLY)
    mmap.start()
    assert mmap.is_started
    assert mmap.access == Access.LOCAL_READ_ONLY
    mmap.close()


def test_configuration_is_refused_while_started(p0, pf0):
    with p0.mmap(bytearray(8)) as mmap:
        for change in (lambda: mmap.add_device(pf0), lambda: mmap.remove_device(p0)):
            with pytest.raises(NOT_PERMITTED, match="started"):
                change()
        for change in (
            lambda: mmap.set_memrange(bytearray(8)),
            lambda: mmap.set_permissions("local_read_only"),
            lambda: setattr(mmap, "user_data", 1),
        ):
            with pytest.raises(BAD_STATE, match="started"):
                change()
        mmap.stop()
        mmap.user_data = 1
        assert mmap.user_data == 1


def test_a_range_is_for_life(p0):
    mmap = p0.mmap(bytearray(8))
    mmap.stop()
    with pytest.raises(NOT_PERMITTED, match="range"):
        mmap.set_memrange(bytearray(8))
    assert len(mmap) == 8
    mmap.close()


def test_devices_come_and_go(p0, pf0):
    mmap = pydoca.Mmap(bytearray(8), max_num_devices=1)
    with pytest.raises(pydoca.NotFoundError, match="p0"):
        mmap.remove_device(p0)
    mmap.add_device(p0)
    with pytest.raises(pydoca.AlreadyExistError, match="p0"):
        mmap.add_device(p0)
    with pytest.raises(pydoca.NoMemoryError, match="has 1 device, as many as max_num_devices"):
        mmap.add_device(pf0)
    mmap.remove_device(p0)
    mmap.add_device(pf0)
    assert mmap.devices == [pf0]
    with pytest.raises(TypeError, match=r"pydoca\.Device .* not str"):
        mmap.add_device("p0")
    for number in (513, -1):
        with pytest.raises(INVALID, match=str(number)):
            pydoca.Mmap(max_num_devices=number)
    mmap.close()


@pytest.mark.parametrize(
    "memory",
    [
        bytearray(24),
        array.array("Q", range(3)),
        np.arange(3.0),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        memoryview(bytearray(24)).cast("Q"),
        system_mmap.mmap(-1, 24),
    ],
    ids=lambda memory: type(memory).__name__,
)
def test_any_writable_buffer_can_be_mapped(p0, memory):
    with p0.mmap(memory) as mmap:
        assert len(mmap) == 24
        assert bytes(mmap) == bytes(memory)
        memoryview(mmap)[0] = 5
        assert bytes(memory)[0] == 5


def test_read_only_memory_has_no_write_permission(p0):
    frozen = np.arange(8, dtype=np.uint8)
    frozen.setflags(write=False)
    for memory in (bytes(8), frozen):
        with p0.mmap(memory) as mmap:
            assert mmap.access == Access.LOCAL_READ_ONLY
            assert memoryview(mmap).readonly
        with p0.mmap(memory, access="pci_read_only") as mmap:
            assert mmap.access == Access.PCI_READ_ONLY


@pytest.mark.parametrize("access", ["local_read_write", "pci_read_write", "rdma_write", "rdma_atomic|pci_read_only"])
def test_write_permission_on_read_only_memory_is_refused(p0, access):
    with pytest.raises(INVALID, match=r"read-only.*bytearray"):
        p0.mmap(b"12345678", access=access)
    mmap = pydoca.Mmap(b"12345678")
    with pytest.raises(INVALID, match="read-only"):
        mmap.set_permissions(access)
    with pytest.raises(INVALID, match="read-only"):
        pydoca.Mmap(b"12345678", access=access)
    with pytest.raises(INVALID, match="read-only"):
        pydoca.Mmap(access=access).set_memrange(b"12345678")


def test_refused_memory_is_let_go(p0):
    mmap = pydoca.Mmap(access="local_read_write")
    with pytest.raises(INVALID):
        mmap.set_memrange(bytes(8))
    memory = bytearray(8)
    mmap.set_memrange(memory)
    with pytest.raises(NOT_PERMITTED):
        mmap.set_memrange(bytearray(8))
    with pytest.raises(BufferError):
        memory.append(1)
    mmap.close()
    memory.append(1)


@pytest.mark.parametrize(
    ("memory", "error", "says"),
    [
        (bytearray(), INVALID, "the range has 0 bytes; give 1 or more"),
        (np.arange(8)[::2], INVALID, "ascontiguousarray"),
        (np.array([object()] * 8), INVALID, "references to Python objects"),
        (np.zeros(4, dtype=[("Other", "i4"), ("a", "O")]), INVALID, "references to Python objects"),
        (memoryview(np.array([None] * 8)), INVALID, "references to Python objects"),
        ((ctypes.py_object * 4)(), INVALID, "references to Python objects"),
        (np.asfortranarray(np.ones((2, 3))), INVALID, "contiguous"),
        ([1, 2], TypeError, "buffer protocol.*'list' does not"),
        ("text", TypeError, "'str' does not"),
        (7, TypeError, "'int' does not"),
    ],
)
def test_memory_that_cannot_be_mapped(p0, memory, error, says):
    with pytest.raises(error, match=says):
        p0.mmap(memory)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy before 2.0 has no such strings")
def test_strings_of_any_length_cannot_be_mapped(p0):
    with pytest.raises(INVALID, match="references to Python objects"):
        p0.mmap(np.array(["a", "b"], dtype=np.dtypes.StringDType()))


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]", [("when", "datetime64[s]"), ("Other", "i4")]])
def test_dates_are_memory_like_numbers(p0, dtype):
    source, target = np.ones(8, dtype=dtype), np.zeros(8, dtype=dtype)
    with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, p0) as dma,
        p0.mmap(source) as src,
        p0.mmap(target) as dst,
        pydoca.BufInventory(2) as bufs,
        bufs.get_by_data(src) as data,
        bufs.get_by_addr(dst) as room,
    ):
        dma.memcpy(data, room).wait(10)
    assert (source == target).all()


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ("pci_read_write", Access.PCI_READ_WRITE),
        (" local_read_write | pci_read_only ", Access.LOCAL_READ_WRITE | Access.PCI_READ_ONLY),
        (Access.RDMA_READ | Access.RDMA_WRITE, 6),
        (33, Access.LOCAL_READ_WRITE | Access.PCI_READ_WRITE),
        (0, Access.LOCAL_READ_ONLY),
        ("local_read_only", 0),
    ],
)
def test_access_is_a_flag_a_number_or_text(p0, access, expected):
    with p0.mmap(bytearray(8), access=access) as mmap:
        assert mmap.access == expected
        assert isinstance(mmap.access, Access)


@pytest.mark.parametrize(
    ("access", "error", "says"),
    [
        ("pci_readonly", INVALID, "did you mean 'pci_read_only'"),
        ("local_read_write|", INVALID, "access '' does not exist"),
        ("", INVALID, "use one of: local_read_only"),
        ("dpu_read_only", INVALID, "write 'pci_read_only'"),
        ("PCI", INVALID, "use one of|did you mean"),
        (128, INVALID, "0x80 has undefined bits"),
        (-1, INVALID, "access must be .* not -1"),
        (1 << 70, INVALID, "access must be"),
        (48, INVALID, "exclude each other"),
        (True, TypeError, "access must be"),
        (1.0, TypeError, "access must be"),
        (object(), TypeError, "not object"),
    ],
)
def test_impossible_access_is_refused(p0, access, error, says):
    with pytest.raises(error, match=says):
        p0.mmap(bytearray(8), access=access)


def test_the_buffer_protocol_holds_the_memory(p0):
    memory = bytearray(8)
    mmap = p0.mmap(memory)
    with pytest.raises(BufferError):
        memory.append(1)
    mmap.stop()
    with pytest.raises(BufferError):
        memory.append(1)
    mmap.close()
    memory.append(1)


def test_live_bufs_keep_a_map_started(p0):
    inventory = pydoca.BufInventory(1)
    with p0.mmap(bytearray(8)) as mmap:
        buf = inventory.get_by_addr(mmap)
        assert mmap.num_bufs == 1
        for end in (mmap.stop, mmap.close):
            with pytest.raises(NOT_PERMITTED, match="1 buf"):
                end()
        assert mmap.is_started
        del buf
        assert mmap.num_bufs == 0


def test_a_map_that_cannot_end_says_which_bufs_it_waits_for(p0):
    few, many = pydoca.BufInventory(1), pydoca.BufInventory(8)
    with p0.mmap(bytearray(64)) as mmap:
        held = few.get_by_addr(mmap, mmap.addr + 8, 16)
        with pytest.raises(pydoca.NotPermittedError) as error:
            mmap.close()
        place = f"16 bytes at {mmap.addr + 8:#x} of a BufInventory of 1 elements"
        assert str(error.value).startswith(
            f"close mmap (mmap of 64 bytes at {mmap.addr:#x}): 1 buf(s) still point into the map; release them first: "
            f"{place}; "
        )
        assert "drop every reference to them (names, tasks)" in str(error.value)
        more = [many.get_by_data(mmap) for _ in range(4)]
        with pytest.raises(pydoca.NotPermittedError, match="of 8 elements and 2 more; close") as error:
            mmap.stop()
        assert place in str(error.value)
        del held
        more.clear()
    assert not mmap.is_started


def test_a_buf_is_known_by_its_inventory_that_has_no_name(p0):
    mmap = p0.mmap(bytearray(64))
    held = pydoca.BufInventory(3).get_by_addr(mmap)  # the buf keeps its inventory
    with pytest.raises(pydoca.NotPermittedError, match=r"64 bytes at .* of a BufInventory of 3 elements;"):
        mmap.close()
    held.close()
    mmap.close()


def test_closing_is_idempotent_and_final(p0):
    mmap = p0.mmap(bytearray(8))
    mmap.close()
    mmap.close()
    assert (mmap.devices, mmap.memory) == ([], None)
    for use in (mmap.start, lambda: mmap.add_device(p0), lambda: memoryview(mmap), mmap.__enter__):
        with pytest.raises(BAD_STATE, match="closed"):
            use()
    for export in (mmap.export_pci, mmap.export_rdma):
        with pytest.raises(NOT_PERMITTED, match="closed"):
            export(p0)
    p0.mmap(bytearray(8)).close()


class TestExport:
    def test_needs_permission_a_started_map_and_a_capable_device(self, pf0, p0):
        mmap = pydoca.Mmap(bytearray(8), devices=[pf0])
        with pytest.raises(NOT_PERMITTED, match="start"):
            mmap.export_pci()
        mmap.start()
        with pytest.raises(NOT_PERMITTED, match="pci_read_only"):
            mmap.export_pci()
        mmap.stop()
        mmap.set_permissions("pci_read_only")
        mmap.start()
        with pytest.raises(pydoca.NotFoundError, match="p0"):
            mmap.export_pci(p0)
        assert not mmap.is_exported
        blob = mmap.export_pci(pf0)
        assert mmap.is_exported
        assert isinstance(blob, bytes)
        assert 0 < len(blob) < 512
        mmap.stop()
        assert not mmap.is_exported
        mmap.close()
        with p0.mmap(bytearray(8), access="pci_read_only") as of_dpu, pytest.raises(pydoca.NotSupportedError):
            of_dpu.export_pci()

    def test_asks_for_the_device_where_there_are_several(self, pf0, p0):
        with pydoca.Mmap(bytearray(8), devices=[pf0, p0], access="pci_read_only") as mmap:
            with pytest.raises(INVALID, match="2 devices"):
                mmap.export_pci()
            with pytest.raises(TypeError, match="not str"):
                mmap.export_pci("pf0")
            assert mmap.export_pci(pf0)

    @pytest.mark.parametrize("allocate", [pydoca.alloc, bytearray])
    def test_is_imported_by_the_other_side(self, pf0, p0, allocate):
        memory = allocate(64)
        exported = pf0.mmap(memory, access="pci_read_write")
        imported = p0.import_mmap(exported.export_pci(), user_data="there")
        assert imported.is_from_export
        assert imported.is_started
        assert (imported.addr, len(imported)) == (exported.addr, 64)
        assert Access.PCI_READ_WRITE in imported.access
        assert (imported.user_data, imported.devices) == ("there", [p0])
        assert "imported" in repr(imported)

    def test_an_imported_map_is_not_configurable(self, export, p0, pf0):
        with p0.import_mmap(export.export_pci()) as imported:
            for change in (
                lambda: imported.add_device(pf0),
                lambda: imported.remove_device(p0),
                lambda: imported.set_memrange(bytearray(8)),
                lambda: imported.set_permissions("local_read_only"),
                lambda: setattr(imported, "user_data", 1),
                lambda: imported.export_pci(),
                imported.start,
            ):
                with pytest.raises(NOT_PERMITTED, match="export"):
                    change()

    def test_imported_memory_is_not_the_cpus(self, export, p0):
        with p0.import_mmap(export.export_pci()) as imported:
            buf = pydoca.BufInventory(1).get_by_data(imported)
            for exporter in (imported, buf):
                with pytest.raises(BufferError, match="tasks only"):
                    memoryview(exporter)
                with pytest.raises(BufferError, match="tasks only"):
                    _ = exporter.__array_interface__
                with pytest.raises(BufferError, match="tasks only"):
                    exporter.__dlpack__()
            del exporter, buf

    def test_the_wrong_device_is_refused(self, export, pf0):
        with pytest.raises(pydoca.NotSupportedError, match="pf0"):
            pf0.import_mmap(export.export_pci())
        with pydoca.open_device("p1") as p1, pytest.raises(NOT_PERMITTED):
            p1.import_mmap(export.export_pci())
        with pytest.raises(INVALID, match="7 bytes are not an export"):
            pf0.import_mmap(b"garbage")

    def test_a_withdrawn_export_is_refused(self, export, p0):
        blob = export.export_pci()
        export.stop()
        with pytest.raises((BAD_STATE, pydoca.NotConnectedError)):
            p0.import_mmap(blob)

    def test_a_damaged_blob_is_refused(self, export, p0):
        blob = export.export_pci()
        refusals = (INVALID, pydoca.UnsupportedVersionError)
        for length in range(len(blob)):
            with pytest.raises(refusals):
                p0.import_mmap(blob[:length])
        with pytest.raises(refusals):
            p0.import_mmap(blob + b"\0")
        for bit in range(8 * len(blob)):
            damaged = bytearray(blob)
            damaged[bit // 8] ^= 1 << bit % 8
            with pytest.raises(refusals):
                p0.import_mmap(damaged)
        with pytest.raises(TypeError):
            p0.import_mmap("text")
        p0.import_mmap(memoryview(blob)).close()


class TestFreeCallback:
    def test_runs_once_with_the_memory_when_all_is_let_go(self, p0):
        calls = []
        memory = bytearray(8)

        def freed(given):
            given.append(1)  # raises BufferError while a view of it exists
            calls.append(given)

        mmap = p0.mmap(memory, free_callback=freed)
        mmap.stop()
        assert calls == []
        mmap.close()
        mmap.close()
        del mmap
        assert len(calls) == 1
        assert calls[0] is memory

    def test_runs_when_the_map_is_dropped(self, p0):
        calls = []
        mmap = p0.mmap(bytearray(8), free_callback=calls.append)
        del mmap
        assert calls == [bytearray(8)]

    def test_waits_for_the_last_buf(self, p0):
        calls = []
        buf = pydoca.BufInventory(1).get_by_addr(p0.mmap(bytearray(8), free_callback=calls.append))
        gc.collect()
        assert calls == []
        del buf
        assert calls == [bytearray(8)]

    def test_does_not_run_for_a_map_that_was_never_started(self, p0):
        calls = []
        pydoca.Mmap(bytearray(8), devices=[p0], free_callback=calls.append).close()
        assert calls == []

    def test_what_it_raises_comes_out_of_close(self, p0):
        def freed(memory):
            raise ZeroDivisionError

        mmap = p0.mmap(bytearray(8), free_callback=freed)
        with pytest.raises(ZeroDivisionError):
            mmap.close()
        mmap.close()

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_what_it_raises_in_a_dropped_map_is_reported(self, p0, monkeypatch):
        import sys

        seen = []
        monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_type))

        def freed(memory):
            raise ZeroDivisionError

        mmap = p0.mmap(bytearray(8), free_callback=freed)
        del mmap
        assert seen == [ZeroDivisionError]

    def test_runs_for_a_map_in_a_cycle(self, p0):
        calls = []

        def make():
            mmap = p0.mmap(bytearray(8), free_callback=lambda memory: calls.append((memory, mmap is not None)))

        gc.collect()
        make()
        assert calls == []
        gc.collect()
        assert calls == [(bytearray(8), True)]

    def test_is_set_and_taken_back_while_the_map_is_stopped(self, p0):
        first, second = [], []
        mmap = pydoca.Mmap(bytearray(8), devices=[p0], free_callback=first.append)
        assert mmap.free_callback == first.append
        mmap.start()
        with pytest.raises(BAD_STATE, match="stop it first"):
            mmap.free_callback = None
        mmap.stop()
        mmap.free_callback = second.append
        mmap.start()
        mmap.close()
        assert (first, second) == ([], [bytearray(8)])
        with pytest.raises(BAD_STATE, match="closed"):
            mmap.free_callback = None

    def test_does_not_run_for_a_map_that_was_not_started_after_it_was_set(self, p0):
        calls = []
        mmap = p0.mmap(bytearray(8))
        mmap.stop()
        mmap.free_callback = calls.append
        mmap.close()
        assert calls == []


def test_the_limit_of_devices_is_set_before_the_first_start(p0, pf0):
    mmap = pydoca.Mmap(bytearray(8), devices=[p0])
    mmap.max_num_devices = 1
    assert mmap.max_num_devices == 1
    with pytest.raises(pydoca.NoMemoryError, match="it has 1 device, as many as max_num_devices"):
        mmap.add_device(pf0)
    for number in (0, 513, -1):
        with pytest.raises(INVALID, match=str(number)):
            mmap.max_num_devices = number
    mmap.start()
    with pytest.raises(NOT_PERMITTED):
        mmap.max_num_devices = 2
    mmap.stop()
    with pytest.raises(NOT_PERMITTED, match="before the first start"):
        mmap.max_num_devices = 2
    mmap.close()


class TestThreadSafety:
    def test_a_map_is_closed_while_bufs_are_out_and_released_after_them(self, p0):
        calls = []
        mmap = pydoca.Mmap(bytearray(8), devices=[p0], free_callback=calls.append, thread_safety=True)
        assert mmap.is_thread_safe
        mmap.start()
        inventory = pydoca.BufInventory(2)
        buf = inventory.get_by_data(mmap)
        with pytest.raises(NOT_PERMITTED):
            mmap.stop()
        mmap.close()
        assert not mmap.is_started
        assert "closed" in repr(mmap)
        with pytest.raises(BAD_STATE):
            inventory.get_by_data(mmap)
        del mmap
        assert calls == []
        buf.close()
        del buf
        gc.collect()
        assert calls == [bytearray(8)]

    def test_a_second_close_releases_the_memory(self, p0):
        calls = []
        mmap = pydoca.Mmap(bytearray(8), devices=[p0], free_callback=calls.append)
        mmap.enable_thread_safety()
        mmap.start()
        buf = pydoca.BufInventory(1).get_by_data(mmap)
        mmap.close()
        assert (calls, mmap.num_bufs) == ([], 1)
        buf.close()
        mmap.close()
        assert calls == [bytearray(8)]
        assert mmap.devices == []

    def test_several_threads_take_bufs(self, p0):
        mmap = pydoca.Mmap(bytearray(64), devices=[p0], thread_safety=True)
        mmap.start()

        def take(_):
            inventory = pydoca.BufInventory(1)
            for _ in range(200):
                inventory.get_by_data(mmap).close()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(take, range(4)))
        assert mmap.num_bufs == 0
        mmap.close()

    def test_is_enabled_while_the_map_is_stopped(self, p0, export):
        mmap = p0.mmap(bytearray(8))
        with pytest.raises(NOT_PERMITTED, match="stop it first"):
            mmap.enable_thread_safety()
        assert not mmap.is_thread_safe
        with p0.import_mmap(export.export_pci()) as remote, pytest.raises(NOT_PERMITTED):
            remote.enable_thread_safety()


def test_memory_of_another_driver_is_refused_by_a_capability(p0):
    assert not pydoca.Mmap.is_dmabuf_supported(p0.info)
    assert "DMA-BUF" in p0.info.why_unsupported("mmap_dmabuf")
    mmap = pydoca.Mmap(devices=[p0])
    with pytest.raises(pydoca.NotSupportedError, match="capability mmap_dmabuf"):
        mmap.set_dmabuf_memrange(0, 4096, 0, 64)
    for bad in [(-1, 4096, 0, 64), (0, 0, 0, 64), (0, 4096, 0, 0)]:
        with pytest.raises(INVALID):
            mmap.set_dmabuf_memrange(*bad)
    with p0.mmap(bytearray(8)) as started, pytest.raises(BAD_STATE):
        started.set_dmabuf_memrange(0, 4096, 0, 64)


def test_a_free_callback_can_be_called(p0):
    for make in (p0.mmap, pydoca.Mmap):
        with pytest.raises(TypeError, match="free_callback must be callable, or None, not int"):
            make(bytearray(4), free_callback=5)


def test_an_error_within_with_is_not_hidden_by_a_buf_with_a_name(p0):
    bufs = []

    def fail():
        with pydoca.BufInventory(2) as inventory, p0.mmap(bytearray(10)) as mmap:
            bufs.append(inventory.get_by_addr(mmap))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert bufs[0].is_released
