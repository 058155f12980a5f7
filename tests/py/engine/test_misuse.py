"""DOCA's answers to misuse through Python, row by row as in tests/cpp/library/misuse_test.cpp.

Rows that need a call which Python does not have are in C++ only.
"""

import asyncio
import contextlib
import re
from pathlib import Path

import pytest

import pydoca
from pydoca import Status

CPP = Path(__file__).resolve().parents[2] / "cpp/library/misuse_test.cpp"
ONLY_IN_CPP = {
    "a_second_publisher_of_a_sync_event",  # a constructor gives both locations
}


@pytest.fixture
def host():
    with pydoca.open_device("pf0", side="host") as device:
        yield device


@pytest.fixture
def dpu():
    with pydoca.open_device("p0", side="dpu") as device:
        yield device


@pytest.fixture
def pe():
    with pydoca.ProgressEngine() as pe:
        yield pe


@pytest.fixture
def inventory():
    with pydoca.BufInventory(16) as inventory:
        yield inventory


@pytest.fixture
def memory(dpu):
    with dpu.mmap(pydoca.alloc(4096)) as mmap:
        yield mmap


@pytest.fixture
def dma(pe, dpu):
    with pydoca.Dma(pe, dpu, num_tasks=2) as dma:
        yield dma


def small_copy(dma, memory, inventory):
    """A task that was not submitted."""
    src, dst = inventory.get_by_data(memory, data_len=64), inventory.get_by_addr(memory, memory.addr + 64, 64)
    return dma.memcpy(src, dst, submit=False)


def answer_of(call):
    """The status of the error that call raises, or the status that it returns."""
    try:
        result = call()
    except pydoca.DocaError as error:
        return error.status
    return result if isinstance(result, Status) else Status.SUCCESS


def test_both_files_have_the_same_rows():
    in_cpp = set(re.findall(r'^    \{"(\w+)", Status::', CPP.read_text(), re.MULTILINE))
    here = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    here.discard("both_files_have_the_same_rows")
    assert in_cpp - ONLY_IN_CPP == here


# Contexts


def test_configure_a_context_that_is_not_idle(dma):
    assert answer_of(lambda: dma.set_memcpy_conf(None, None, 1)) is Status.BAD_STATE


def test_configure_a_sync_event_context_that_is_not_idle(pe, dpu):
    with pydoca.SyncEvent(dpu).as_context(pe) as context:
        assert answer_of(lambda: context.set_conf("get", None, None, 1)) is Status.NOT_PERMITTED


def test_configure_a_context_of_memory_advice_that_is_not_idle(pe, dpu):
    with pydoca.MmapAdvise(pe, dpu) as advise:
        assert answer_of(lambda: advise.set_invalidate_cache_conf(None, None, 1)) is Status.NOT_PERMITTED


def test_start_a_context_without_a_progress_engine(dpu):
    assert answer_of(pydoca.Dma(None, dpu).start) is Status.NOT_CONNECTED


def test_start_with_nothing_configured(pe, dpu):
    context = pydoca.SyncEvent(dpu).as_context(pe, num_tasks={})
    assert answer_of(context.start) is Status.INVALID_VALUE


def test_connect_a_context_twice(pe, dpu):
    dma = pydoca.Dma(pe, dpu)
    with pydoca.ProgressEngine() as other:
        assert answer_of(lambda: other.connect(dma)) is Status.NOT_PERMITTED


def test_connect_a_context_that_is_not_idle(dma):
    with pydoca.ProgressEngine() as other:
        assert answer_of(lambda: other.connect(dma)) is Status.BAD_STATE


def test_start_a_context_twice(dma):
    assert answer_of(dma.start) is Status.BAD_STATE


def test_destroy_a_running_dma(dma):
    assert answer_of(dma.close) is Status.IN_USE


def test_destroy_a_running_rdma(pe, dpu):
    with pydoca.Rdma(pe, dpu) as rdma:
        assert answer_of(rdma.close) is Status.BAD_STATE


def test_destroy_a_progress_engine_with_a_context(pe, dma):
    assert answer_of(pe.close) is Status.IN_USE


def test_stop_with_unfreed_tasks(dma, pe, memory, inventory):
    task = small_copy(dma, memory, inventory)
    assert answer_of(dma.stop) is Status.IN_PROGRESS
    assert dma.state is pydoca.ContextState.STOPPING
    task.free()
    while dma.state is not pydoca.ContextState.IDLE:
        pe.progress()


def test_stop_with_work(dma, pe, memory, inventory):
    task = small_copy(dma, memory, inventory)
    task.submit()
    assert answer_of(dma.stop) is Status.IN_PROGRESS
    pe.run_until(task)


def test_stop_an_idle_context(pe, dpu):
    with contextlib.closing(pydoca.Dma(pe, dpu)) as dma:
        assert answer_of(dma.stop) is Status.SUCCESS


# Tasks


def test_allocate_beyond_num_tasks(dma, memory, inventory):
    bufs = inventory.get_by_data(memory, data_len=64), inventory.get_by_addr(memory, memory.addr + 64)
    tasks = [dma.memcpy(*bufs, submit=False) for _ in range(2)]
    assert answer_of(lambda: dma.memcpy(*bufs)) is Status.NO_MEMORY
    del tasks


def test_allocate_from_a_context_that_does_not_run(pe, dpu):
    with contextlib.closing(pydoca.Dma(pe, dpu)) as dma:
        assert answer_of(lambda: dma.memcpy(None, None)) is Status.BAD_STATE


def test_submit_a_task_of_a_stopping_context(dma, memory, inventory):
    task = small_copy(dma, memory, inventory)
    dma.stop()
    assert answer_of(task.submit) is Status.BAD_STATE
    task.free()


def test_submit_a_task_twice(dma, pe, memory, inventory):
    task = small_copy(dma, memory, inventory)
    task.submit()
    assert answer_of(task.submit) is Status.BAD_STATE
    pe.run_until(task)


def test_free_a_task_in_flight_while_its_context_runs(dma, pe, memory, inventory):
    task = small_copy(dma, memory, inventory)
    task.submit()
    assert answer_of(task.free) is Status.IN_USE
    pe.run_until(task)


def test_free_a_task_in_flight_while_its_context_stops(dma, pe, memory, inventory):
    task = small_copy(dma, memory, inventory)
    called = []
    task.add_done_callback(called.append)
    task.submit()
    dma.stop()
    assert answer_of(task.free) is Status.SUCCESS
    while dma.state is not pydoca.ContextState.IDLE:
        pe.progress()
    assert called == [], "a freed task has no callback"


def test_try_submit_without_bufs(dma):
    assert answer_of(dma.memcpy(None, None, submit=False).try_submit) is Status.INVALID_VALUE


def large_copy(dma, device, inventory):
    size = pydoca.Dma.max_buf_size(device.info) + 1
    mmap = device.mmap(pydoca.alloc(2 * size))
    src, dst = inventory.get_by_data(mmap, data_len=size), inventory.get_by_addr(mmap, mmap.addr + size)
    return dma.memcpy(src, dst, submit=False)


def test_try_submit_of_an_oversized_dma(dma, dpu, inventory):
    assert answer_of(large_copy(dma, dpu, inventory).try_submit) is Status.INVALID_VALUE


def failure_of(task, pe):
    """The status of a task's completion when submit() does not validate the task."""
    task.submit()
    return answer_of(lambda: pe.run_until(task))


def test_submit_an_oversized_dma(dma, dpu, pe, inventory):
    assert failure_of(large_copy(dma, dpu, inventory), pe) is Status.IO_FAILED
    assert dma.state is not pydoca.ContextState.RUNNING


def test_submit_a_dma_of_an_empty_source(dma, pe, memory, inventory):
    empty = small_copy(dma, memory, inventory)
    empty.src.reset_data_len()
    assert failure_of(empty, pe) is Status.IO_FAILED
    assert dma.state is not pydoca.ContextState.RUNNING


def test_write_without_the_exporters_permission(dma, host, dpu, pe, memory, inventory):
    with host.mmap(pydoca.alloc(4096), access="local_read_write|pci_read_only") as owned:
        remote = dpu.import_mmap(owned.export_pci())
        task = dma.memcpy(inventory.get_by_data(memory, data_len=64), inventory.get_by_addr(remote), submit=False)
        assert failure_of(task, pe) is Status.IO_FAILED


def test_read_after_the_exporter_stopped(dma, host, dpu, pe, memory, inventory):
    with host.mmap(pydoca.alloc(64), access="local_read_write|pci_read_only") as owned:
        remote = dpu.import_mmap(owned.export_pci())
        task = dma.memcpy(inventory.get_by_data(remote), inventory.get_by_addr(memory), submit=False)
        owned.stop()
        assert failure_of(task, pe) is Status.IO_FAILED


# Memory


def test_export_a_map_without_permission(host):
    with host.mmap(pydoca.alloc(64)) as mmap:
        assert answer_of(mmap.export_pci) is Status.NOT_PERMITTED


def test_export_a_map_that_is_not_started(host):
    with host.mmap(pydoca.alloc(64), access="pci_read_only") as mmap:
        mmap.stop()
        assert answer_of(mmap.export_pci) is Status.NOT_PERMITTED


@pytest.fixture
def imported(host, dpu):
    with (
        host.mmap(pydoca.alloc(64), access="pci_read_only") as mmap,
        dpu.import_mmap(mmap.export_pci()) as imported,
    ):
        yield imported


def test_export_an_imported_map(imported):
    assert answer_of(imported.export_pci) is Status.NOT_PERMITTED


def test_export_a_map_with_a_foreign_device(host):
    with (
        pydoca.open_device("pf1", side="host") as other,
        host.mmap(pydoca.alloc(64), access="pci_read_only") as mmap,
    ):
        assert answer_of(lambda: mmap.export_pci(other)) is Status.NOT_FOUND


def test_set_the_range_of_a_map_twice(memory):
    memory.stop()
    assert answer_of(lambda: memory.set_memrange(bytearray(8))) is Status.NOT_PERMITTED


def test_set_the_range_of_a_started_map(memory):
    assert answer_of(lambda: memory.set_memrange(bytearray(8))) is Status.BAD_STATE


def test_start_a_map_twice(memory):
    assert answer_of(memory.start) is Status.NOT_PERMITTED


def test_start_an_imported_map(imported):
    assert answer_of(imported.start) is Status.NOT_PERMITTED


def test_add_a_device_twice(memory, dpu):
    memory.stop()
    assert answer_of(lambda: memory.add_device(dpu)) is Status.ALREADY_EXIST


def test_add_a_device_to_a_started_map(memory, host):
    assert answer_of(lambda: memory.add_device(host)) is Status.NOT_PERMITTED


def test_set_max_num_devices_of_a_started_map(memory):
    assert answer_of(lambda: setattr(memory, "max_num_devices", 4)) is Status.NOT_PERMITTED


def test_remove_a_device_from_a_started_map(memory, dpu):
    assert answer_of(lambda: memory.remove_device(dpu)) is Status.NOT_PERMITTED


def test_stop_a_map_with_live_bufs(memory, inventory):
    with inventory.get_by_addr(memory):
        assert answer_of(memory.stop) is Status.NOT_PERMITTED


def test_destroy_a_map_with_live_bufs(memory, inventory):
    with inventory.get_by_addr(memory):
        assert answer_of(memory.close) is Status.NOT_PERMITTED


def test_exhaust_an_inventory(memory):
    with pydoca.BufInventory(1) as one, one.get_by_addr(memory):
        assert answer_of(lambda: one.get_by_addr(memory)) is Status.NO_MEMORY


def test_get_a_buf_outside_its_map(memory, inventory):
    assert answer_of(lambda: inventory.get_by_addr(memory, memory.addr + 4000, 97)) is Status.INVALID_VALUE


def test_count_references_of_an_inner_element(memory, inventory):
    with inventory.get_by_addr(memory, len=64) as head:
        inner = inventory.get_by_addr(memory, len=64)
        head.chain(inner)
        assert answer_of(inner.inc_refcount) is Status.NOT_PERMITTED
        assert answer_of(inner.dec_refcount) is Status.NOT_PERMITTED


def test_chain_a_shared_list(memory, inventory):
    with inventory.get_by_addr(memory, len=64) as head, inventory.get_by_addr(memory, len=64) as shared:
        shared.inc_refcount()
        assert answer_of(lambda: head.chain(shared)) is Status.NOT_PERMITTED


# Libraries


def test_stop_a_sync_event_before_its_start(dpu):
    with contextlib.closing(pydoca.SyncEvent(dpu)) as event:
        assert answer_of(event.stop) is Status.INVALID_VALUE


def test_export_a_sync_event_before_its_start(host):
    with contextlib.closing(pydoca.SyncEvent(host, publisher="remote_pci")) as event:
        assert answer_of(event.export_to_remote_pci) is Status.INVALID_VALUE


def test_a_comch_message_that_is_too_long(pe, host, dpu):
    with (
        dpu.open_representor("0b:00.0") as rep,
        pydoca.comch.Server(pe, dpu, rep, "misuse"),
        pydoca.comch.Client(pe, host, "misuse") as client,
    ):
        assert answer_of(lambda: client.send(bytes(client.max_msg_size + 1))) is Status.INVALID_VALUE


def test_a_comch_client_without_a_server(pe, host):
    client = pydoca.comch.Client(pe, host, "misuse")
    assert answer_of(client.start) is Status.IN_PROGRESS
    for _ in range(100):
        pe.progress()
    assert client.state is pydoca.ContextState.STARTING, "it retries"
    assert client.stop() is Status.SUCCESS
    client.close()


@pytest.fixture
def rdma(pe, dpu):
    with pydoca.Rdma(pe, dpu, max_num_connections=1) as rdma:
        yield rdma


def test_export_an_rdma_connection_too_many(rdma):
    rdma.export()
    assert answer_of(rdma.export) is Status.FULL


def test_connect_an_rdma_connection_too_many(rdma):
    async def connect():
        await rdma.connect("127.0.0.1", 13579)

    connection = rdma.export()
    assert answer_of(lambda: asyncio.run(connect())) is Status.CONNECTION_ABORTED
    assert not connection.is_connected


def test_listen_to_a_port_twice(rdma):
    with rdma.listen(13579):
        assert answer_of(lambda: rdma.listen(13579)) is Status.BAD_STATE


def test_listen_to_a_port_that_another_context_has(rdma, pe, dpu):
    with pydoca.Rdma(pe, dpu) as other, rdma.listen(13579):
        assert answer_of(lambda: other.listen(13579)) is Status.CONNECTION_ABORTED


def test_rdma_permissions_with_a_pci_flag(pe, dpu):
    assert answer_of(lambda: pydoca.Rdma(pe, dpu, permissions="pci_read_write")) is Status.INVALID_VALUE


def test_close_a_device_in_use(dpu, dma):
    assert answer_of(dpu.close) is Status.IN_USE
