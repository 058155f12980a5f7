"""Maps, bufs and allocated memory have a length, and give and take bytes by index and slice."""

import array

import pytest

import pydoca


@pytest.fixture(params=["Memory", "Mmap", "Buf"])
def hello(request, make_rig):
    """Twelve writable bytes."""
    rig = make_rig()
    memory = pydoca.alloc(12)
    memoryview(memory)[:] = b"Hello, DOCA!"
    mmap = rig.device.mmap(memory)
    return {"Memory": memory, "Mmap": mmap, "Buf": rig.inventory.get_by_data(mmap)}[request.param]


def test_an_index_gives_a_byte_and_a_slice_gives_bytes(hello):
    assert len(hello) == 12
    assert (hello[0], hello[-1]) == (ord("H"), ord("!"))
    assert hello[:5] == b"Hello"
    assert type(hello[:5]) is bytes
    assert hello[-5::2] == b"DC!"
    assert hello[5:2] == b""


def test_an_index_and_a_slice_take_bytes(hello):
    hello[0] = ord("h")
    hello[7:11] = b"doca"
    hello[4:6] = array.array("H", [0x2E6F])
    assert bytes(hello) == b"hello. doca!"


@pytest.mark.parametrize("index", [12, -13])
def test_an_index_beyond_the_end_is_an_index_error(hello, index):
    with pytest.raises(IndexError):
        hello[index]
    with pytest.raises(IndexError):
        hello[index] = 0


def test_the_length_cannot_be_changed(hello):
    with pytest.raises(ValueError, match="3 bytes cannot replace 5: the memory's length is fixed"):
        hello[:5] = b"Bye"
    with pytest.raises((TypeError, AttributeError)):
        del hello[0]


@pytest.mark.parametrize("key", ["a", 1.5, None, (0, 1)])
def test_another_key_is_a_type_error(hello, key):
    with pytest.raises((TypeError, NotImplementedError)):
        hello[key]


def test_read_only_memory_takes_nothing(rig):
    with rig.device.mmap(b"fixed") as mmap:
        assert mmap[1:3] == b"ix"
        with pytest.raises(TypeError, match="read-only"):
            mmap[0] = 0


def test_the_length_of_a_buf_is_that_of_its_data(rig):
    _, dst, _ = rig.bufs()
    assert (len(dst), dst.len, bool(dst)) == (0, 64, True)
    dst.set_data(dst.head, 10)
    assert len(dst) == len(bytes(dst)) == 10


def test_imported_memory_has_a_length_and_no_bytes():
    with (
        pydoca.open_device("0b:00.0", side="host") as host,
        pydoca.open_device("03:00.0", side="dpu") as dpu,
        host.mmap(b"lent", access="pci_read_only") as lent,
        dpu.import_mmap(lent.export_pci()) as remote,
        pydoca.BufInventory(1) as inventory,
        inventory.get_by_data(remote) as buf,
    ):
        for imported in (remote, buf):
            assert len(imported) == 4
            with pytest.raises(BufferError, match="imported memory is reachable by tasks only"):
                imported[0]


def test_a_closed_map_and_a_released_buf_say_so(hello):
    hello.close()
    with pytest.raises(pydoca.BadStateError, match=r"closed|released"):
        hello[0]
