"""DEFLATE data expanded by a simulated card, beside zlib."""

import asyncio
import gc
import random
import zlib

import pytest

import pydoca
from pydoca import sim


def deflate(plain, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, strategy=strategy)
    return packer.compress(plain) + packer.flush()


def text(size, seed=0):
    words = [b"device", b"map", b"buf", b"task", b"engine", b"context", b"host"]
    randomness = random.Random(seed)
    return b" ".join(randomness.choice(words) for _ in range(size // 4 + 1))[:size]


class CompressRig:
    """A device, a progress engine, a running Compress, and memory for it."""

    def __init__(self, **options):
        self.device = pydoca.open_device("p0", side="dpu")
        self.pe = pydoca.ProgressEngine()
        self.compress = pydoca.Compress(self.pe, self.device, **{"num_tasks": 64, **options})
        self.inventory = pydoca.BufInventory(1024)
        self.compress.start()

    def start_again(self):
        """Restarts the context after a failed task."""
        self.pe.run_until(lambda: self.compress.state is pydoca.ContextState.IDLE, 10)
        self.compress.start()

    def source(self, data):
        return self.inventory.get_by_data(self.device.mmap(data))

    def target(self, size):
        memory = pydoca.alloc(size)
        return self.inventory.get_by_addr(self.device.mmap(memory)), memory

    def expand(self, data, room):
        dst, memory = self.target(room)
        task = self.compress.decompress_deflate(self.source(data), dst)
        try:
            task.wait(20)
        except pydoca.DocaError:
            task.free()  # the context stops, and waits until the task is freed
            raise
        return bytes(memory)[: dst.data_len], task


@pytest.fixture
def rig():
    rig = CompressRig()
    yield rig
    rig.pe.__exit__(None, None, None)
    gc.collect()  # an error that a test looked at refers to its task
    rig.device.close()


@pytest.mark.parametrize("level", range(10))
def test_plain_data_and_checksums_are_those_of_zlib(rig, level):
    for size in (0, 1, 100, 4096, 65536, 1_000_000):
        plain = text(size, seed=level)
        data, task = rig.expand(deflate(plain, level), size + 1)
        assert data == plain
        assert (task.crc_cs, task.adler_cs) == (zlib.crc32(plain), zlib.adler32(plain))


@pytest.mark.parametrize("strategy", [zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE])
def test_data_of_every_strategy_is_expanded(rig, strategy):
    for plain in (text(50_000), random.Random(1).randbytes(50_000), bytes(300_000)):
        assert rig.expand(deflate(plain, 9, strategy), len(plain))[0] == plain


def test_a_stream_with_flushes_in_it_is_expanded(rig):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    plain = text(100_000)
    parts = [
        packer.compress(plain[at : at + 10_000]) + packer.flush(zlib.Z_SYNC_FLUSH) for at in range(0, 100_000, 10_000)
    ]
    assert rig.expand(b"".join(parts) + packer.flush(), len(plain))[0] == plain


def test_a_destination_may_be_filled_to_its_end(rig):
    for size in [*range(1, 300), 65536, 262_144, 262_145, 500_000]:
        plain = text(size)
        assert rig.expand(deflate(plain), size)[0] == plain


def test_lists_are_one_stream_and_one_destination(rig):
    randomness = random.Random(3)
    plain = text(400_000)
    data = deflate(plain)
    source_map, memory = rig.device.mmap(data), pydoca.alloc(len(plain) + 100)
    target_map = rig.device.mmap(memory)

    def pieces_of(mmap, size, count, get):
        cuts = sorted(randomness.sample(range(1, size), count - 1))
        bufs = [get(mmap, mmap.addr + a, b - a) for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
        for buf in bufs[1:]:
            bufs[0].chain(buf)
        return bufs[0]

    for _ in range(20):
        src = pieces_of(source_map, len(data), 50, rig.inventory.get_by_data)
        dst = pieces_of(target_map, len(plain) + 100, 50, rig.inventory.get_by_addr)
        rig.compress.decompress_deflate(src, dst).wait(20)
        assert sum(buf.data_len for buf in dst) == len(plain)
        assert bytes(memory)[: len(plain)] == plain
        src.close()
        dst.close()


def test_many_awaits_at_a_time(rig):
    async def expand(number):
        plain = text(1000 * (number + 1), seed=number)
        dst, memory = rig.target(len(plain))
        task = rig.compress.decompress_deflate(rig.source(deflate(plain)), dst)
        await task
        assert bytes(memory)[: dst.data_len] == plain
        assert task.crc_cs == zlib.crc32(plain)

    async def main():
        async with asyncio.TaskGroup() as group:
            for number in range(60):
                group.create_task(expand(number))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("spoil", "room", "reason"),
    [
        (lambda data: zlib.compress(text(1000)), 2000, "are not raw DEFLATE data (RFC 1951); leave out a header"),
        (lambda data: data[:-3], 2000, "end before the last block of their DEFLATE data does"),
        (lambda data: data, 999, "expand to more than the 999 bytes of tailroom that dst has"),
    ],
)
def test_what_cannot_be_expanded_says_why(rig, spoil, room, reason):
    data = spoil(deflate(text(1000)))
    with pytest.raises(pydoca.IoFailedError, match="decompress_deflate") as caught:
        rig.expand(data, room)
    assert reason in str(caught.value)
    rig.start_again()
    assert rig.expand(deflate(text(1000)), 1000)[0] == text(1000)


def zlibs_answer(data, room):
    """The data that zlib expands a stream to, or None if the stream is spoiled or cut short."""
    unpacker = zlib.decompressobj(-15)
    try:
        plain = unpacker.decompress(data, room)
    except zlib.error:
        return None
    return plain if unpacker.eof else None


def test_spoiled_streams_fail_or_give_what_zlib_gives(rig):
    randomness = random.Random(7)
    good = deflate(text(3000))
    answers = []
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(randomness.randrange(1, 4)):
            data[randomness.randrange(len(data))] = randomness.randrange(256)
        answers.append(zlibs_answer(bytes(data), 20_000))
        if answers[-1] is not None:
            assert rig.expand(data, 20_000)[0] == answers[-1]
            continue
        with pytest.raises(pydoca.IoFailedError):
            rig.expand(data, 20_000)
        rig.start_again()
    assert 10 < answers.count(None) < 1490


def test_checksums_stay_readable_when_the_slot_is_gone(rig):
    plain = text(500)
    _, task = rig.expand(deflate(plain), 500)
    assert rig.compress.decompress_deflate(None, None, submit=False).crc_cs == 0
    task.free()
    assert task.crc_cs == zlib.crc32(plain)


@pytest.fixture
def without_engine():
    before = sim.topology()
    machine = sim.default_topology()
    for function in machine["function"]:
        function["capabilities"] = {"compress": False}
    sim.load_topology(machine)
    with pydoca.open_device("p0", side="dpu") as device:
        yield device
    sim.load_topology(before)


def test_a_device_without_the_engine_says_so(without_engine):
    info = without_engine.info
    assert not pydoca.Compress.is_supported(info)
    assert info.why_unsupported("compress") == "it has no compression engine"
    with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.NotSupportedError, match="it has no compression engine"):
        pydoca.Compress(pe, without_engine)
    with pytest.raises(pydoca.NotSupportedError, match="p0"):
        pydoca.Compress.max_num_tasks(info)


def test_capabilities_name_the_limits():
    with pydoca.open_device("p0", side="dpu") as device:
        assert device.info.capabilities.compress.to_dict() == {
            "decompress_deflate_max_buf_size": 2 << 20,
            "decompress_deflate_max_buf_list_len": 128,
            "max_num_tasks": 65536,
        }
