"""Many copies in one call: Dma.memcpy_many()."""

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import pydoca
from pydoca import Status, _log, sim
from pydoca.faults import FaultRule, inject

SIZE = 64


class Batches:
    """A rig with a source of many rows, and a destination for them."""

    def __init__(self, rig, num_rows=100, size=SIZE):
        self.rig, self.dma, self.pe, self.size = rig, rig.dma, rig.pe, size
        self.data = np.random.default_rng(1).integers(0, 256, num_rows * size, dtype=np.uint8)
        self.target = np.zeros_like(self.data)
        self.src, self.dst = rig.device.mmap(self.data), rig.device.mmap(self.target)

    def rows(self, places=None):
        """Descriptors of those rows, or of all; the user data of each is its place."""
        places = np.arange(len(self.data) // self.size, dtype=np.uint64) if places is None else np.uint64(places)
        offsets = places * np.uint64(self.size)
        columns = [offsets + np.uint64(self.src.addr), offsets + np.uint64(self.dst.addr)]
        return np.column_stack([*columns, np.full_like(offsets, self.size), places])

    def begin(self, rows=None):
        return self.dma.memcpy_many(self.src, self.dst, self.rows() if rows is None else rows)


@pytest.fixture
def make(make_rig):
    return lambda num_rows=100, size=SIZE, **options: Batches(make_rig(**options), num_rows, size)


@pytest.fixture
def slow():
    """Copies take 3 ms, so that a batch is in flight for a time."""
    sim.load_config({"dma": {"latency": "3ms"}})
    yield
    sim.load_config({})


# ---- what it copies


@pytest.mark.parametrize("num_tasks", [1, 2, 7, 256])
@pytest.mark.parametrize("num_rows", [1, 2, 7, 300])
def test_every_row_is_copied(make, num_tasks, num_rows):
    many = make(num_rows, num_tasks=num_tasks)
    batch = many.begin()
    assert batch.wait(10) is batch
    assert (many.target == many.data).all()
    assert (len(batch), batch.num_done, batch.status, batch.failed_row) == (num_rows, num_rows, Status.SUCCESS, None)
    assert not any(batch.statuses)
    assert many.dma.num_inflight_tasks == 0


def test_an_await_gives_the_batch(make):
    many = make(1000, num_tasks=4)

    async def main():
        async with many.pe:
            batch = many.begin()
            assert await batch is batch
            assert await batch is batch  # again

    asyncio.run(main())
    assert (many.target == many.data).all()


def test_large_rows_go_to_the_workers(make):
    many = make(20, 300_000, num_tasks=3)
    many.begin().wait(20)
    assert (many.target == many.data).all()


def test_a_batch_without_rows_has_ended(make):
    many = make()
    batch = many.begin(np.empty((0, 4), np.uint64))
    assert (len(batch), batch.wait(0), batch.statuses.tolist(), batch.failed_row) == (0, batch, [], None)
    assert np.asarray(batch.descriptors).size == 0


def test_batches_run_beside_each_other_and_beside_tasks(make):
    many = make(400, num_tasks=8)
    tasks = [many.rig.copy() for _ in range(4)]
    halves = [many.rows(range(200)), many.rows(range(200, 400))]
    first = many.begin(halves[0])
    with pytest.raises(pydoca.NoMemoryError, match=r"8 tasks is taken.*; batches in flight have tasks until their end"):
        many.begin(halves[1])
    many.pe.run_until(tasks, 10)
    first.wait(10)
    many.begin(halves[1]).wait(10)
    assert (many.target == many.data).all()


def test_idle_tasks_that_python_keeps_are_lent_to_it(make):
    many = make(num_tasks=4)
    many.pe.run_until([many.rig.copy() for _ in range(4)], 5)  # the objects and their tasks stay in the free list
    many.begin().wait(10)
    many.pe.run_until([many.rig.copy() for _ in range(4)], 5)


def test_it_calls_no_callbacks_and_counts_its_tasks(make):
    called = []
    many = make(10, on_completion=lambda *_: called.append(1))
    before = many.dma.stats().completed
    many.begin().wait(10)
    assert not called
    assert many.dma.stats().completed == before + 10


# ---- its arrays


def test_the_statuses_are_an_array_without_a_copy(make, slow):
    many = make(3, num_tasks=1)
    batch = many.begin()
    statuses = np.asarray(batch.statuses)
    assert (statuses.dtype, statuses.tolist()) == (np.int32, [Status.IN_PROGRESS] * 3)
    assert not statuses.flags.writeable
    assert batch.status is Status.IN_PROGRESS
    batch.wait(10)
    assert statuses.tolist() == [Status.SUCCESS] * 3
    del batch
    gc.collect()
    assert statuses.tolist() == [Status.SUCCESS] * 3


def test_it_has_a_copy_of_the_descriptors(make):
    many = make(5, num_tasks=1)
    rows = many.rows()
    batch = many.begin(rows)
    expected = rows.copy()
    rows[:] = 0
    assert (np.asarray(batch.descriptors) == expected).all()
    assert batch.descriptors.readonly
    batch.wait(10)
    assert (many.target == many.data).all()


@pytest.mark.parametrize("wrap", [memoryview, bytes], ids=["memoryview", "cast bytes"])
def test_any_buffer_of_that_shape_is_taken(make, wrap):
    many = make(4)
    rows = many.rows()
    given = memoryview(rows) if wrap is memoryview else memoryview(rows.tobytes()).cast("Q", (4, 4))
    many.begin(given).wait(5)
    assert (many.target == many.data).all()


# ---- what it refuses


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda rows: rows.tolist(), TypeError, "not list"),
        (lambda rows: rows.astype(np.int64), TypeError, "are 'l'"),
        (lambda rows: rows.astype(np.uint32), TypeError, "are 'I'"),
        (lambda rows: rows.astype(">u8"), TypeError, "are '>"),
        (lambda rows: rows.astype(float), TypeError, "are 'd'"),
        (lambda rows: rows.tobytes(), TypeError, "are 'B'"),
        (lambda rows: rows[:, :3].copy(), ValueError, r"\(10, 3\)"),
        (lambda rows: rows.ravel(), ValueError, r"\(40,\)"),
        (lambda rows: rows[::2], ValueError, "ascontiguousarray"),
        (lambda rows: np.asfortranarray(rows), ValueError, "ascontiguousarray"),
    ],
)
def test_another_array_is_refused(make, change, error, text):
    many = make(10)
    with pytest.raises(error, match=text) as caught:
        many.begin(change(many.rows()))
    assert "N x 4" in str(caught.value)
    assert isinstance(caught.value, pydoca.InvalidValueError) is (error is ValueError)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (2, 0, "at least 1 byte"),
        (2, (2 << 20) + 1, "at most 2097152 bytes"),
        (2, 2**64 - 1, "at most 2097152 bytes"),
        (0, 0, "source bytes are not in src"),
        (0, 2**64 - 1, "source bytes are not in src"),
        (1, 8, "destination bytes are not in dst"),
    ],
)
def test_a_bad_row_is_named_and_nothing_was_begun(make, column, value, text):
    many = make(50)
    rows = many.rows()
    rows[[17, 30], column] = value
    before = many.dma.stats().submitted
    with pytest.raises(pydoca.InvalidValueError, match=f"row 17 of 50.*{text}"):
        many.begin(rows)
    assert many.dma.stats().submitted == before
    assert not many.target.any()
    many.begin().wait(10)


@pytest.mark.parametrize("column", [0, 1])
def test_a_row_that_leaves_its_map_by_one_byte_is_refused(make, column):
    many = make(10)
    rows = many.rows()
    rows[9, column] += np.uint64(1)
    with pytest.raises(pydoca.InvalidValueError, match="row 9 of 10"):
        many.begin(rows)


def test_maps_must_be_started_and_maps(make):
    many = make()
    rows = many.rows()
    stopped = pydoca.Mmap()
    for src, dst, name in ((stopped, many.dst, "src"), (many.src, stopped, "dst")):
        with pytest.raises(pydoca.BadStateError, match=f"{name}: .* not started"):
            many.dma.memcpy_many(src, dst, rows)
    with pytest.raises(TypeError, match=r"pydoca\.Mmap"):
        many.dma.memcpy_many(many.data, many.dst, rows)


def test_a_map_that_the_device_does_not_reach_refuses_the_call(make):
    many = make(2)
    with pydoca.open_device("p1", side="dpu") as other, other.mmap(bytes(SIZE)) as foreign:
        rows = many.rows([0])
        rows[0, 0] = foreign.addr
        with pytest.raises(pydoca.InvalidValueError, match="row 0"):
            many.dma.memcpy_many(foreign, many.dst, rows)
    many.begin().wait(5)


def test_a_context_that_does_not_run_refuses_it(make):
    many = make()
    many.dma.stop()
    with pytest.raises(pydoca.BadStateError):
        many.begin()


def test_another_thread_is_refused(make):
    many = make(num_tasks=1)
    errors = []

    def attempt():
        with pytest.raises(pydoca.WrongThreadError) as caught:
            many.begin()
        errors.append(caught.value)

    many.rig.copy().wait(5)
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join(10)
    assert errors


# ---- failures


def test_a_row_that_fails_stops_the_context_and_flushes_the_rest(make):
    with inject(FaultRule("fail", "dma.memcpy", nth=11)):
        many = make(50, num_tasks=4)
        batch = many.begin()
        with pytest.raises(pydoca.IoFailedError, match="row 10 of 50") as caught:
            batch.wait(10)
    assert caught.value.task is batch
    assert (batch.failed_row, batch.status, batch.num_done) == (10, Status.IO_FAILED, 50)
    statuses = np.asarray(batch.statuses)
    assert (statuses[:10] == Status.SUCCESS).all()
    assert statuses[10] == Status.IO_FAILED
    assert (statuses[11:] == Status.SHUTDOWN).sum() >= 50 - 11 - 4
    assert set(statuses[11:].tolist()) <= {Status.SUCCESS, Status.SHUTDOWN}
    many.pe.run_until(lambda: many.dma.state is pydoca.ContextState.IDLE, 5)
    assert many.dma.failure is Status.IO_FAILED
    many.dma.start()
    many.begin().wait(10)
    assert (many.target == many.data).all()


def test_an_await_raises_after_all_rows_have_an_outcome(make):
    async def main():
        many = make(50, num_tasks=4)
        async with many.pe:
            batch = many.begin()
            with pytest.raises(pydoca.IoFailedError, match="row 2 of 50"):
                await batch
            assert batch.num_done == 50

    with inject(FaultRule("fail", "dma.memcpy", nth=3)):
        asyncio.run(main())


def test_memory_that_does_not_permit_the_access_fails_its_row(make):
    many = make(5)
    with many.rig.device.mmap(bytes(5 * SIZE)) as readonly:
        rows = many.rows()
        rows[:, 1] = readonly.addr
        with pytest.raises(pydoca.IoFailedError, match="row 0 of 5"):
            many.dma.memcpy_many(many.src, readonly, rows).wait(5)


def test_a_removed_device_fails_the_rows(make, slow):
    many = make(50, num_tasks=4)
    batch = many.begin()
    sim.remove_device("p0")
    try:
        with pytest.raises((pydoca.DriverError, pydoca.ShutdownError), match="of 50"):
            batch.wait(10)
    finally:
        sim.restore_device("p0")
    assert batch.num_done == 50
    assert many.dma.failure is Status.DRIVER
    assert Status.IN_PROGRESS not in batch.statuses.tolist()


def test_a_failure_that_nobody_asks_for_is_logged(make, caplog):
    caplog.set_level(logging.ERROR, logger="pydoca")
    with inject(FaultRule("fail", "dma.memcpy", nth=2)):
        many = make(5)
        batch = many.begin()
        many.pe.run_until(lambda: many.dma.num_inflight_tasks == 0, 5)
    assert batch.num_done == 5
    assert not caplog.records
    del batch
    gc.collect()
    _log.drain()
    (record,) = caplog.records
    assert "row 1 of 5" in record.getMessage()


# ---- ends


def test_cancel_leaves_out_what_was_not_submitted(make, slow):
    many = make(20, num_tasks=3)
    batch = many.begin()
    assert batch.cancel() == 17
    assert batch.cancel() == 0
    assert batch.num_done == 17
    with pytest.raises(pydoca.ShutdownError, match=r"row 3 of 20.*cancelled"):
        batch.wait(10)
    assert batch.statuses.tolist() == [Status.SUCCESS] * 3 + [Status.SHUTDOWN] * 17
    assert batch.cancel() == 0
    assert many.dma.state is pydoca.ContextState.RUNNING
    many.begin(many.rows([0])).wait(5)


def test_the_cancellation_of_one_await_leaves_the_batch_to_another(make, slow):
    many = make(6, num_tasks=2)

    async def main():
        async with many.pe:
            batch = many.begin()
            first, second = (asyncio.ensure_future(batch) for _ in range(2))
            await asyncio.sleep(0.001)
            first.cancel()
            assert await second is batch
            with pytest.raises(asyncio.CancelledError):
                await first

    asyncio.run(main())
    assert (many.target == many.data).all()


def test_a_cancelled_await_cancels_the_rest(make, slow):
    many = make(200, num_tasks=2)

    async def main():
        async with many.pe:
            batch = many.begin()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(batch, 0.001)
            assert batch.num_done == 200
            assert batch.statuses.tolist().count(Status.SHUTDOWN) > 100

    asyncio.run(main())


def test_a_stop_ends_the_batch(make, slow):
    many = make(20, num_tasks=2)
    batch = many.begin()
    many.dma.stop()
    with pytest.raises(pydoca.ShutdownError, match="context stopped"):
        batch.wait(10)
    assert batch.num_done == 20
    many.pe.run_until(lambda: many.dma.state is pydoca.ContextState.IDLE, 5)
    with pytest.raises(pydoca.InUseError):
        many.pe.close()
    many.dma.close()
    many.pe.close()


def test_the_end_of_a_block_ends_the_batch(make, slow):
    many = make(20, num_tasks=2)

    async def main():
        async with many.pe, many.dma:
            batch = many.begin()
        assert batch.num_done == 20

    many.dma.stop()
    asyncio.run(main())


# Python's development mode warns of the dropped batch.
@pytest.mark.filterwarnings("ignore:.*dropped in flight:ResourceWarning")
def test_a_dropped_batch_goes_on(make, slow):
    many = make(20, num_tasks=10)
    watched = weakref.ref(many.begin())
    gc.collect()
    assert watched() is not None
    many.pe.run_until(lambda: many.dma.num_inflight_tasks == 0, 10)
    gc.collect()
    assert watched() is None
    assert (many.target == many.data).all()


def test_it_keeps_the_memory_until_its_end(make, slow):
    many = make(20, num_tasks=2)
    batch = many.begin()
    with pytest.raises(pydoca.NotPermittedError):
        many.dst.stop()
    batch.wait(10)
    many.dst.stop()  # the bufs are back


def test_a_wait_that_a_signal_ends_can_be_repeated(make, slow):
    many = make(40, num_tasks=2)
    batch = many.begin()
    timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        batch.wait(10)
    timer.join()
    assert batch.num_done < 40
    batch.wait(10)
    assert (many.target == many.data).all()


def test_a_wait_has_a_time_limit(make, slow):
    many = make(4, num_tasks=1)
    batch = many.begin()
    with pytest.raises(pydoca.TimeOutError):
        batch.wait(0)
    batch.wait(10)


def test_a_callback_may_begin_one(make):
    begun = []
    many = make(5, on_completion=lambda *_: begun.append(many.begin()))
    many.rig.copy().wait(5)
    begun[0].wait(5)
    assert (many.target == many.data).all()


# ---- other processes


FORK = """
import array, os, sys, pydoca
pydoca.sim.load_config({"dma": {"latency": "3ms"}})
device = pydoca.open_device("03:00.0", side="dpu")
pe = pydoca.ProgressEngine()
dma = pydoca.Dma(pe, device, num_tasks=2)
dma.start()
src, dst = device.mmap(b"12345678"), device.mmap(pydoca.alloc(8))
rows = array.array("Q", [word for i in range(8) for word in (src.addr + i, dst.addr + i, 1, 0)])
rows = memoryview(rows).cast("B").cast("Q", (8, 4))
batch = dma.memcpy_many(src, dst, rows)
child = os.fork()
if child == 0:
    for call in (batch.wait, batch.cancel, lambda: dma.memcpy_many(src, dst, rows)):
        try:
            call()
        except pydoca.ForkedError:
            continue
        os._exit(1)
    del batch
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
batch.wait(10)
print(bytes(dst).decode())
"""


def test_a_forked_child_is_refused_and_the_parent_goes_on():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "12345678\n", "")


OWNER = """
import sys, pydoca
device = pydoca.open_device("0b:00.0", side="host")
memory = pydoca.alloc(6400)
memoryview(memory)[:] = bytes(range(64)) * 100
mmap = device.mmap(memory, access="pci_read_only")
print(mmap.export_pci().hex(), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True], ids=["alive", "killed"])
def test_imported_memory_and_the_death_of_its_owner(make, slow, killed):
    many = make(100, num_tasks=2)
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        with many.rig.device.import_mmap(bytes.fromhex(owner.stdout.readline())) as remote:
            rows = many.rows()
            rows[:, 0] = np.uint64(remote.addr) + rows[:, 3] * np.uint64(SIZE)
            batch = many.dma.memcpy_many(remote, many.dst, rows)
            if killed:
                owner.kill()
                owner.wait(10)
                with pytest.raises(pydoca.IoFailedError, match="of 100"):
                    batch.wait(20)
            else:
                batch.wait(20)
                assert bytes(many.target) == bytes(range(64)) * 100
            assert batch.num_done == 100
    finally:
        owner.kill()
        owner.communicate()


# ---- time and traces


async def copy_ten_bytes():
    """The time of the loop that it takes."""
    with pydoca.open_device("p0", side="dpu") as dev:
        src, dst = dev.mmap(b"0123456789"), dev.mmap(pydoca.alloc(10))
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev, num_tasks=2) as dma:
            rows = np.array([(src.addr + at, dst.addr + at, 1, 0) for at in range(10)], np.uint64)
            begin = asyncio.get_running_loop().time()
            await dma.memcpy_many(src, dst, rows)
            assert bytes(dst) == b"0123456789"
            return asyncio.get_running_loop().time() - begin


def test_in_virtual_time_it_takes_the_devices_time():
    sim.load_config({"dma": {"latency": "1ms"}})
    try:
        with sim.virtual_time(seed=1) as time:
            assert 0.005 <= time.run(copy_ten_bytes()) < 0.02
    finally:
        sim.load_config({})


def test_a_trace_has_its_tasks(make):
    many = make(10, num_tasks=2)
    with pydoca.trace() as trace:
        many.begin().wait(5)
    assert [event.nbytes for event in trace.events if event.kind == "submit"] == [SIZE] * 10
