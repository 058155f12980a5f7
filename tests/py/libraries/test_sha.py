"""Digests by the SHA engine of a simulated BlueField-2, beside hashlib's."""

import asyncio
import contextlib
import gc
import hashlib
import random

import pytest

import pydoca
from pydoca import Status, sim

ALGORITHMS = ["sha1", "sha256", "sha512"]


class ShaRig:
    """A device with a SHA engine, a progress engine, a running Sha, and messages for it."""

    def __init__(self, **options):
        self.device = pydoca.open_device("03:00.0", side="dpu")
        self.pe = pydoca.ProgressEngine()
        self.sha = pydoca.Sha(self.pe, self.device, **{"num_tasks": 64, **options})
        self.inventory = pydoca.BufInventory(1024)
        self.sha.start()

    def source(self, message):
        if message:
            return self.inventory.get_by_data(self.device.mmap(message))
        return self.inventory.get_by_addr(self.device.mmap(bytearray(1)))

    def target(self, size=64):
        memory = pydoca.alloc(size)
        return self.inventory.get_by_addr(self.device.mmap(memory)), memory

    def digest(self, message, algorithm):
        dst, memory = self.target()
        self.sha.hash(self.source(message), dst, algorithm).wait(20)
        return bytes(memory)[: dst.data_len].hex()


@pytest.fixture
def sha_rig(bluefield2):
    rig = ShaRig()
    yield rig
    rig.pe.__exit__(None, None, None)
    gc.collect()  # an error that a test looked at refers to its task
    rig.device.close()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_length_up_to_a_page_has_hashlibs_digest(sha_rig, algorithm):
    message = random.Random(algorithm).randbytes(4096)
    src, (dst, memory) = sha_rig.source(message), sha_rig.target()
    for size in range(len(message) + 1):
        src.set_data(src.head, size)
        dst.reset_data_len()
        sha_rig.sha.hash(src, dst, algorithm).wait(20)
        assert bytes(memory)[: dst.data_len] == hashlib.new(algorithm, message[:size]).digest(), size


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_digests_are_those_of_hashlib(sha_rig, algorithm):
    randomness = random.Random(algorithm)
    sizes = [
        0,
        1,
        55,
        56,
        63,
        64,
        65,
        111,
        112,
        127,
        128,
        8192,
        8193,
        *(randomness.randrange(1 << 20) for _ in range(20)),
    ]
    for size in sizes:
        message = randomness.randbytes(size)
        assert sha_rig.digest(message, algorithm) == hashlib.new(algorithm, message).hexdigest(), size


def test_a_million_times_a(sha_rig):
    assert sha_rig.digest(b"a" * 1_000_000, "sha1") == "34aa973cd4c4daa4f61eeb2bdbad27316534016f"


def test_a_list_is_one_message(sha_rig):
    parts = [b"Hello ", b"world ", b"of lists" * 10_000]
    src = sha_rig.source(parts[0])
    for part in parts[1:]:
        src.chain(sha_rig.source(part))
    dst, memory = sha_rig.target(32)
    sha_rig.sha.hash(src, dst).wait(5)
    assert bytes(memory) == hashlib.sha256(b"".join(parts)).digest()


def test_many_at_once(sha_rig):
    messages = [bytes([i]) * (i * 2000 + 1) for i in range(64)]
    targets = [sha_rig.target(32) for _ in messages]
    tasks = [sha_rig.sha.hash(sha_rig.source(m), dst) for m, (dst, _) in zip(messages, targets, strict=True)]
    with pytest.raises(pydoca.NoMemoryError, match="num_tasks"):
        sha_rig.sha.hash(sha_rig.source(b"one more"), sha_rig.target()[0])
    sha_rig.pe.run_until(tasks, 20)
    assert [bytes(memory) for _, memory in targets] == [hashlib.sha256(m).digest() for m in messages]


def test_tasks_are_awaited(run, bluefield2):
    async def main():
        with pydoca.open_device("03:00.0", capability="sha") as dev:
            async with pydoca.ProgressEngine() as pe, pydoca.Sha(pe, dev, num_tasks=2) as sha:
                memory = pydoca.alloc(64)
                with pydoca.BufInventory(2) as inv, dev.mmap(b"a" * 100_000) as message, dev.mmap(memory) as digest:
                    src, dst = inv.get_by_data(message), inv.get_by_addr(digest)
                    assert await sha.hash(src, dst, algorithm="sha512") is None
                    assert bytes(memory) == hashlib.sha512(b"a" * 100_000).digest()
                    del src, dst

    run(main())


def test_a_cancelled_await_ends_when_the_device_has_let_go(run, sha_rig):
    async def main():
        dst, memory = sha_rig.target(32)
        task = sha_rig.sha.hash(sha_rig.source(b"abc"), dst, submit=False)
        task.submit(pydoca.SubmitFlags.NONE)
        waiting = asyncio.ensure_future(task)
        await asyncio.sleep(0)
        waiting.cancel()
        sha_rig.sha.flush_tasks()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert task.done
        assert bytes(memory) == hashlib.sha256(b"abc").digest()

    run(main())


def test_operands_can_be_looked_at_and_changed(sha_rig):
    src, (dst, _) = sha_rig.source(b"abc"), sha_rig.target(128)
    task = sha_rig.sha.hash(src, dst, algorithm="sha1", user_data="mine", submit=False)
    assert (task.src, task.dst, task.algorithm, task.user_data) == (src, dst, "sha1", "mine")
    task.algorithm = "sha512"
    task.submit(pydoca.SubmitFlags.NONE)
    with pytest.raises(pydoca.InUseError, match="in flight"):
        task.algorithm = "sha1"
    sha_rig.sha.flush_tasks()
    task.wait(5)
    assert dst.data_len == 64
    assert "sha hash of 3 bytes" in repr(task)
    task.free()
    assert (task.src, task.dst, task.algorithm) == (None, None, "sha512")


@pytest.mark.parametrize(
    ("algorithm", "error", "words"),
    [
        ("md5", pydoca.InvalidValueError, "sha1, sha256, sha512"),
        ("sha255", ValueError, "sha256"),
        (1, TypeError, "str"),
    ],
)
def test_only_known_algorithms_are_taken(sha_rig, algorithm, error, words):
    with pytest.raises(error, match=words):
        sha_rig.sha.hash(None, None, algorithm)
    with pytest.raises(error, match=words):
        pydoca.Sha.min_dst_buf_size(sha_rig.device.info, algorithm)


def test_try_submit_refuses_what_would_fail(sha_rig):
    src, (dst, _), (small, _) = sha_rig.source(b"abc"), sha_rig.target(), sha_rig.target(31)
    for wrong in [(None, dst), (src, None), (src, small)]:
        with pytest.raises(pydoca.InvalidValueError):
            sha_rig.sha.hash(*wrong)
    with pytest.raises(pydoca.InvalidValueError, match="dst has 31 bytes of tailroom, and a digest of sha256 has 32"):
        sha_rig.sha.hash(src, small)
    task = sha_rig.sha.hash(src, small, submit=False)
    task.submit()
    with pytest.raises(
        pydoca.IoFailedError, match=r"sha hash of 3 bytes.*31 bytes of tailroom.*context stops"
    ) as raised:
        task.wait(5)
    assert raised.value.task is task
    assert task.status is Status.IO_FAILED


def test_a_released_buf_is_noticed(sha_rig):
    src, (dst, _) = sha_rig.source(b"abc"), sha_rig.target()
    task = sha_rig.sha.hash(src, dst, submit=False)
    src.dec_refcount()
    with pytest.raises(pydoca.BadStateError):
        task.try_submit()


def test_capabilities(sha_rig):
    info = sha_rig.device.info
    assert pydoca.Sha.is_supported(info)
    assert all(pydoca.Sha.is_algorithm_supported(info, algorithm) for algorithm in ALGORITHMS)
    assert [pydoca.Sha.min_dst_buf_size(info, algorithm) for algorithm in ALGORITHMS] == [20, 32, 64]
    assert pydoca.Sha.max_list_buf_num_elem(info) == info.capabilities.sha.max_list_buf_num_elem == 128
    assert pydoca.Sha.max_src_buf_size(info) == (1 << 31) - 1
    assert pydoca.Sha.max_num_tasks(info) == 65536


def test_a_bluefield3_has_no_engine_and_says_so():
    device = pydoca.open_device("p1")
    assert device.info.capabilities.sha is None
    assert device.info.why_unsupported("sha") == "only a BlueField-2 has a SHA engine"
    with pytest.raises(pydoca.NotSupportedError, match="only a BlueField-2 has a SHA engine"):
        pydoca.Sha(pydoca.ProgressEngine(), device)
    with pytest.raises(pydoca.NotSupportedError, match="only a BlueField-2"):
        pydoca.open_device("p1", capability="sha")
    with pytest.raises(pydoca.NotFoundError, match="only a BlueField-2"):
        pydoca.open_device(capability="sha")


def test_tasks_in_flight_fail_when_the_device_is_removed(sha_rig):
    message = sha_rig.source(bytes(8 << 20))
    tasks = [sha_rig.sha.hash(message, sha_rig.target()[0]) for _ in range(16)]
    sim.remove_device("p0")
    try:
        for task in tasks:
            with contextlib.suppress(pydoca.DocaError):
                task.wait(20)
        with pytest.raises((pydoca.DriverError, pydoca.ShutdownError)):
            tasks[-1].result()
    finally:
        sim.restore_device("p0")
    assert sha_rig.sha.failure is Status.DRIVER
