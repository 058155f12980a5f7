"""Memory, maps and bufs as buffers, through __array_interface__ and as DLPack tensors."""

import ctypes
import gc

import numpy as np
import pytest

import pydoca

CPU = (1, 0)


@pytest.fixture
def device():
    return pydoca.open_device("p0")


@pytest.fixture(params=["memory", "mmap", "buf"])
def exporter(request, device):
    """Something of 16 writable bytes, 0 to 15."""
    memory = pydoca.alloc(16)
    memoryview(memory)[:] = bytes(range(16))
    if request.param == "memory":
        return memory
    mmap = device.mmap(memory)
    return mmap if request.param == "mmap" else pydoca.BufInventory(1).get_by_data(mmap)


@pytest.fixture
def frozen(device):
    return device.mmap(bytes(range(16)))


def test_a_buffer(exporter):
    view = memoryview(exporter)
    assert (view.nbytes, view.format, view.itemsize, view.readonly) == (16, "B", 1, False)
    assert view.obj is exporter
    assert bytes(exporter) == bytes(range(16))
    view[3] = 99
    assert bytes(exporter)[3] == 99
    assert np.frombuffer(exporter, dtype="<u4").size == 4


def test_an_array(exporter):
    array = np.asarray(exporter)
    array[0] = 42
    assert bytes(exporter)[0] == 42


def test_the_array_interface(exporter):
    interface = exporter.__array_interface__
    address, readonly = interface["data"]
    assert (interface["shape"], interface["typestr"], interface["version"], readonly) == ((16,), "|u1", 3, False)
    assert ctypes.string_at(address, 16) == bytes(range(16))


def test_an_address_that_was_handed_out_holds_as_long_as_the_object(device):
    mmap = device.mmap(bytearray(b"held"))
    buf = pydoca.BufInventory(1).get_by_data(mmap)
    memory = pydoca.alloc(4)
    memoryview(memory)[:] = b"held"
    addresses = [thing.__array_interface__["data"][0] for thing in (mmap, buf, memory)]
    buf.close()
    mmap.close()
    memory.close()
    gc.collect()
    assert [ctypes.string_at(address, 4) for address in addresses] == [b"held"] * 3


def test_dlpack(exporter):
    assert exporter.__dlpack_device__() == CPU
    array = np.from_dlpack(exporter)
    assert (array.dtype, array.shape) == (np.uint8, (16,))
    assert array.tolist() == list(range(16))
    memoryview(exporter)[5] = 55
    assert array[5] == 55


def test_dlpack_capsules(exporter):
    assert '"dltensor"' in repr(exporter.__dlpack__())
    assert '"dltensor"' in repr(exporter.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(exporter.__dlpack__(max_version=(1, 0), dl_device=CPU, stream=None))


def test_a_dlpack_copy_is_apart(exporter):
    class Copying:
        def __dlpack_device__(self):
            return exporter.__dlpack_device__()

        def __dlpack__(self, **options):
            return exporter.__dlpack__(**{**options, "copy": True})

    array = np.from_dlpack(Copying())
    memoryview(exporter)[0] = 77
    assert array.tolist() == list(range(16))


def test_what_dlpack_cannot_give_is_refused(exporter):
    with pytest.raises(BufferError, match="device"):
        exporter.__dlpack__(dl_device=(2, 0))
    with pytest.raises(pydoca.InvalidValueError, match="stream"):
        exporter.__dlpack__(stream=1)
    with pytest.raises(TypeError):
        exporter.__dlpack__(max_version=1)


def test_read_only_memory_stays_so(frozen):
    buf = pydoca.BufInventory(1).get_by_data(frozen)
    for exporter in (frozen, buf):
        view = memoryview(exporter)
        assert view.readonly
        with pytest.raises(TypeError, match="read-only"):
            view[0] = 1
        with pytest.raises(TypeError, match="not writable"):
            (ctypes.c_char * 16).from_buffer(exporter)
        assert exporter.__array_interface__["data"][1] is True
        with pytest.raises(BufferError, match=r"max_version=\(1, 0\)"):
            exporter.__dlpack__()
        assert not np.from_dlpack(exporter).flags.writeable
        assert exporter.__dlpack__(copy=True)


def test_a_buf_shows_its_data_section(device):
    mmap = device.mmap(bytearray(range(64)))
    buf = pydoca.BufInventory(1).get_by_args(mmap, mmap.addr + 8, 32, mmap.addr + 16, 4)
    before = memoryview(buf)
    assert bytes(before) == bytes([16, 17, 18, 19])
    buf.data_len = 6
    assert bytes(buf) == bytes(range(16, 22))
    assert len(before) == 4
    buf.reset_data_len()
    assert bytes(buf) == b""
    assert np.asarray(buf).shape == (0,)
    assert np.from_dlpack(buf).shape == (0,)


def test_a_map_without_range_is_no_buffer():
    with pytest.raises(BufferError, match="set_memrange"):
        memoryview(pydoca.Mmap())
