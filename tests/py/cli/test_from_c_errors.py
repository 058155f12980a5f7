"""The errors that the table of DOCA's names states: calls that provoke them."""

import contextlib
import gc
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pydoca
from pydoca import comch, sim
from pydoca.cli.explain._table import load

ENTRIES = load().entries


class Machine:
    """A host, a DPU and an engine; makes what the calls need."""

    def __init__(self) -> None:
        self.host = pydoca.open_device("0b:00.0", side="host")
        self.dpu = pydoca.open_device("03:00.0", side="dpu")
        self.pe = pydoca.ProgressEngine()
        self.inventory = pydoca.BufInventory(3)

    def stopped_map(self) -> pydoca.Mmap:
        return pydoca.Mmap(bytearray(64), devices=[self.dpu])

    def map(self) -> pydoca.Mmap:
        return self.dpu.mmap(bytearray(64))

    def exported(self) -> pydoca.Mmap:
        return self.host.mmap(pydoca.alloc(64), access="pci_read_write")

    def imported(self) -> pydoca.Mmap:
        self.kept = self.exported()
        return self.dpu.import_mmap(self.kept.export_pci())

    def withdrawn(self) -> bytes:
        exported = self.exported()
        blob = exported.export_pci()
        exported.stop()
        return blob

    def buf(self) -> pydoca.Buf:
        return self.inventory.get_by_data(self.map())

    def list_of_two(self) -> tuple[pydoca.Buf, pydoca.Buf]:
        head, inner = self.buf(), self.buf()
        head.chain(inner)
        return head, inner

    def dma(self, **options: Any) -> pydoca.Dma:
        dma = pydoca.Dma(self.pe, self.dpu, num_tasks=1, **options)
        dma.start()
        return dma

    def task(self, **options: Any) -> pydoca.DmaMemcpyTask:
        self.context = self.dma(**options)
        source, target = self.buf(), self.buf()
        target.reset_data_len()
        return self.context.memcpy(source, target, submit=False)

    def submitted(self) -> pydoca.DmaMemcpyTask:
        task = self.task()
        task.submit()
        return task

    def representor(self) -> pydoca.Representor:
        return self.dpu.open_representor("0b:00.0")

    def event(self, **options: Any) -> pydoca.SyncEvent:
        return pydoca.SyncEvent(self.host, **options)

    def started(self, **options: Any) -> pydoca.SyncEvent:
        event = self.event(**options)
        event.start()
        return event

    def events(self) -> pydoca.SyncEventContext:
        events = pydoca.SyncEvent(self.dpu).as_context(self.pe, num_tasks=1)
        events.start()
        return events

    def rdma(self, **options: Any) -> pydoca.Rdma:
        return pydoca.Rdma(self.pe, self.dpu, **options)

    def running_rdma(self) -> pydoca.Rdma:
        rdma = self.rdma(num_tasks=1)
        rdma.start()
        return rdma

    def connection(self) -> pydoca.RdmaConnection:
        self.context = self.running_rdma()
        return self.context.export()

    def client(self, **options: Any) -> comch.Client:
        return comch.Client(self.pe, self.host, "name", **options)

    def server(self, name: str) -> comch.Server:
        return comch.Server(self.pe, self.dpu, self.representor(), name)


@pytest.fixture
def machine() -> Iterator[Machine]:
    machine = Machine()
    yield machine
    end_all(machine)


def end_all(machine: Machine) -> None:
    """The engine's end takes tasks in flight back; exceptions hold objects in cycles."""
    with contextlib.suppress(pydoca.DocaError):
        machine.pe.__exit__(None, None, None)
    vars(machine).clear()
    gc.collect()


def timer_of_a_card_without_a_dpa() -> None:
    sim.load_topology(sim.default_topology("bluefield2"))
    try:
        pydoca.Clock(pydoca.open_device("p0")).timestamp("nic_dpa_timer")
    finally:
        sim.load_topology(sim.default_topology())


def twice(call: Callable[[], object]) -> None:
    call()
    call()


def in_another_thread(call: Callable[[], object]) -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except pydoca.DocaError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    raise caught[0]


def in_a_callback(machine: Machine, call: Callable[[], object]) -> None:
    caught: list[BaseException] = []

    def run(*_: object) -> None:
        try:
            call()
        except pydoca.DocaError as error:
            caught.append(error)

    machine.task(on_completion=run).submit()
    machine.pe.run_until(lambda: caught, timeout=5)
    raise caught[0]


def two_servers(machine: Machine) -> None:
    name = secrets.token_hex(8)
    first, second = machine.server(name), machine.server(name)
    first.start()
    try:
        second.start()
    finally:
        first.stop()
        machine.pe.run_until(lambda: first.state == pydoca.ContextState.IDLE, timeout=5)


def close_used_representor(machine: Machine) -> None:
    representor = machine.representor()
    server = comch.Server(machine.pe, machine.dpu, representor, "name")
    try:
        representor.close()
    finally:
        server.close()


def import_from_stopped_owner(machine: Machine) -> None:
    event = machine.started(subscriber="remote_pci")
    blob = event.export_to_remote_pci()
    event.stop()
    machine.dpu.import_sync_event(blob)


def keep(held: Any, call: Callable[..., object]) -> object:
    """Calls while the caller's reference to held lives, which makes the call fail."""
    return call(held)


def keep_blob(machine: Machine) -> bytes:
    machine.kept = machine.exported()
    return machine.kept.export_pci()


def own_thread_first(machine: Machine) -> None:
    machine.pe.progress()
    in_another_thread(machine.pe.progress)


def set_mode(pe: pydoca.ProgressEngine) -> None:
    pe.event_mode = pydoca.EventMode.PROGRESS_ALL


def without_source(machine: Machine) -> None:
    task = machine.task()
    task.src = None
    task.try_submit()


def no_slot(events: pydoca.SyncEventContext) -> None:
    first = events.wait_eq(9)
    try:
        events.wait_eq(9)
    finally:
        first.cancel()


CLAIMS: list[tuple[str, str, Callable[[Machine], object]]] = [
    ("doca_log_level_set_global_sdk_limit", "INVALID_VALUE", lambda _: pydoca.set_sdk_log_level(55)),
    ("doca_dev_open", "NOT_FOUND", lambda _: pydoca.open_device("99:00.0")),
    ("doca_dev_open", "NOT_SUPPORTED", lambda _: pydoca.open_device("p0", capability="sha")),
    ("doca_dev_close", "IN_USE", lambda m: keep(m.map(), lambda _: m.dpu.close())),
    ("doca_devinfo_rep_create_list", "NOT_SUPPORTED", lambda m: m.host.representors()),
    ("doca_dev_rep_open", "NOT_FOUND", lambda m: m.dpu.open_representor("none")),
    ("doca_dev_rep_close", "IN_USE", close_used_representor),
    ("doca_devinfo_is_equal_pci_addr", "INVALID_VALUE", lambda m: m.dpu.info.is_equal_pci_addr("none")),
    ("doca_devinfo_get_sf_index", "NOT_SUPPORTED", lambda m: m.dpu.info.sf_index),
    ("doca_devinfo_get_lid", "NOT_SUPPORTED", lambda m: m.dpu.info.lid),
    ("doca_mmap_create", "INVALID_VALUE", lambda _: pydoca.Mmap(b"")),
    ("doca_mmap_create", "INVALID_VALUE", lambda m: m.dpu.mmap(b"read", access="pci_read_write")),
    ("doca_mmap_destroy", "NOT_PERMITTED", lambda m: keep(m.buf(), lambda buf: buf.mmap.close())),
    ("doca_mmap_start", "NOT_PERMITTED", lambda m: m.map().start()),
    ("doca_mmap_start", "INVALID_VALUE", lambda _: pydoca.Mmap(bytearray(8)).start()),
    ("doca_mmap_start", "NOT_PERMITTED", lambda m: m.imported().start()),
    ("doca_mmap_stop", "NOT_PERMITTED", lambda m: keep(m.buf(), lambda buf: buf.mmap.stop())),
    ("doca_mmap_add_dev", "NOT_PERMITTED", lambda m: m.map().add_device(m.host)),
    ("doca_mmap_add_dev", "ALREADY_EXIST", lambda m: m.stopped_map().add_device(m.dpu)),
    ("doca_mmap_add_dev", "NOT_PERMITTED", lambda m: m.imported().add_device(m.host)),
    ("doca_mmap_add_dev", "NO_MEMORY", lambda m: pydoca.Mmap(devices=[m.dpu], max_num_devices=1).add_device(m.host)),
    ("doca_mmap_rm_dev", "NOT_FOUND", lambda m: m.stopped_map().remove_device(m.host)),
    ("doca_mmap_export_pci", "NOT_PERMITTED", lambda m: m.map().export_pci()),
    ("doca_mmap_export_pci", "NOT_PERMITTED", lambda m: m.stopped_map().export_pci()),
    ("doca_mmap_export_pci", "NOT_PERMITTED", lambda m: m.imported().export_pci()),
    ("doca_mmap_export_pci", "NOT_FOUND", lambda m: m.exported().export_pci(m.dpu)),
    ("doca_mmap_export_pci", "NOT_SUPPORTED", lambda m: m.dpu.mmap(bytearray(8), access="pci_read_only").export_pci()),
    ("doca_mmap_export_rdma", "NOT_PERMITTED", lambda m: m.map().export_rdma()),
    ("doca_mmap_create_from_export", "INVALID_VALUE", lambda m: m.dpu.import_mmap(b"none")),
    ("doca_mmap_create_from_export", "NOT_SUPPORTED", lambda m: m.host.import_mmap(m.exported().export_pci())),
    ("doca_mmap_create_from_export", "NOT_PERMITTED", lambda m: pydoca.open_device("p1").import_mmap(keep_blob(m))),
    ("doca_mmap_create_from_export", "NOT_CONNECTED", lambda m: m.dpu.import_mmap(m.withdrawn())),
    ("doca_mmap_set_memrange", "BAD_STATE", lambda m: m.map().set_memrange(bytearray(8))),
    ("doca_mmap_set_memrange", "NOT_PERMITTED", lambda m: m.stopped_map().set_memrange(bytearray(8))),
    ("doca_mmap_set_user_data", "BAD_STATE", lambda m: setattr(m.map(), "user_data", 1)),
    ("doca_mmap_set_max_num_devices", "INVALID_VALUE", lambda _: pydoca.Mmap(max_num_devices=513)),
    ("doca_mmap_set_permissions", "BAD_STATE", lambda m: m.map().set_permissions("rdma_read")),
    ("doca_mmap_set_permissions", "NOT_PERMITTED", lambda m: m.imported().set_permissions("rdma_read")),
    (
        "doca_mmap_set_permissions",
        "INVALID_VALUE",
        lambda m: m.stopped_map().set_permissions("pci_read_only|pci_read_write"),
    ),
    ("doca_mmap_set_max_num_devices", "NOT_PERMITTED", lambda m: setattr(m.map(), "max_num_devices", 4)),
    ("doca_mmap_set_free_cb", "BAD_STATE", lambda m: setattr(m.map(), "free_callback", print)),
    ("doca_mmap_set_dmabuf_memrange", "NOT_SUPPORTED", lambda _: pydoca.Mmap().set_dmabuf_memrange(0, 4096, 0, 64)),
    ("doca_mmap_enable_thread_safety", "NOT_PERMITTED", lambda m: m.map().enable_thread_safety()),
    ("doca_mmap_advise_create", "NOT_SUPPORTED", lambda m: pydoca.MmapAdvise(m.pe, m.host)),
    (
        "doca_mmap_advise_task_invalidate_cache_alloc_init",
        "BAD_STATE",
        lambda m: pydoca.MmapAdvise(m.pe, m.dpu).invalidate_cache(m.buf()),
    ),
    ("doca_clock_get_timestamp", "NOT_SUPPORTED", lambda _: timer_of_a_card_without_a_dpa()),
    (
        "doca_clock_get_crosstimestamp",
        "INVALID_VALUE",
        lambda m: pydoca.Clock(m.dpu).crosstimestamp("host_real_time", "host_monotonic"),
    ),
    ("doca_dev_accelerate_resource_reclaim", "NOT_SUPPORTED", lambda m: m.dpu.accelerate_resource_reclaim()),
    ("doca_buf_inc_refcount", "NOT_PERMITTED", lambda m: m.list_of_two()[1].inc_refcount()),
    ("doca_buf_dec_refcount", "NOT_PERMITTED", lambda m: m.list_of_two()[1].dec_refcount()),
    ("doca_buf_dec_refcount", "NOT_PERMITTED", lambda m: keep(m.submitted(), lambda task: task.dst.dec_refcount())),
    ("doca_buf_dec_refcount", "BAD_STATE", lambda m: twice(m.buf().dec_refcount)),
    ("doca_buf_set_data_len", "INVALID_VALUE", lambda m: setattr(m.buf(), "data_len", 65)),
    ("doca_buf_set_data_len", "IN_USE", lambda m: keep(m.submitted(), lambda task: setattr(task.dst, "data_len", 1))),
    ("doca_buf_set_data", "INVALID_VALUE", lambda m: m.buf().set_data(0, 1)),
    ("doca_buf_get_list_len", "NOT_PERMITTED", lambda m: m.list_of_two()[1].list_len),
    ("doca_buf_chain_list", "NOT_PERMITTED", lambda m: (lambda head, inner: head.chain(inner))(*m.list_of_two())),
    ("doca_buf_chain_list", "IN_USE", lambda m: keep(m.submitted(), lambda task: task.dst.chain(m.buf()))),
    ("doca_buf_chain_list_tail", "NOT_PERMITTED", lambda m: m.buf().chain_tail(m.buf(), m.buf())),
    ("doca_buf_unchain_list", "INVALID_VALUE", lambda m: m.buf().unchain(m.buf())),
    ("doca_buf_inventory_create", "INVALID_VALUE", lambda _: pydoca.BufInventory(0)),
    ("doca_buf_inventory_destroy", "IN_USE", lambda m: keep(m.buf(), lambda _: m.inventory.close())),
    ("doca_buf_inventory_start", "BAD_STATE", lambda m: (m.inventory.close(), m.inventory.start())),
    ("doca_buf_inventory_buf_get_by_data", "BAD_STATE", lambda m: (m.inventory.stop(), m.buf())),
    ("doca_buf_inventory_buf_get_by_data", "NO_MEMORY", lambda m: [m.buf() for _ in range(4)]),
    ("doca_buf_inventory_buf_get_by_addr", "INVALID_VALUE", lambda m: m.inventory.get_by_addr(m.map(), 0, 8)),
    ("doca_buf_inventory_buf_dup", "NOT_PERMITTED", lambda m: m.inventory.dup(m.list_of_two()[1])),
    ("doca_buf_inventory_buf_dup", "NO_MEMORY", lambda m: m.inventory.dup(m.list_of_two()[0])),
    ("doca_buf_inventory_expand", "BAD_STATE", lambda _: pydoca.BufInventory(1, start=False).expand(1)),
    ("doca_ctx_start", "BAD_STATE", lambda m: m.dma().start()),
    ("doca_ctx_start", "ALREADY_EXIST", two_servers),
    ("doca_pe_destroy", "IN_USE", lambda m: keep(m.dma(), lambda _: m.pe.close())),
    ("doca_pe_progress", "NOT_PERMITTED", lambda m: keep(m.task(), lambda _: own_thread_first(m))),
    ("doca_pe_progress", "BAD_STATE", lambda m: in_a_callback(m, m.pe.progress)),
    ("doca_pe_set_event_mode", "BAD_STATE", lambda m: in_a_callback(m, lambda: set_mode(m.pe))),
    ("doca_task_submit", "BAD_STATE", lambda m: m.submitted().submit()),
    ("doca_task_submit", "NOT_PERMITTED", lambda m: keep(m.task(), lambda task: in_another_thread(task.submit))),
    ("doca_task_try_submit", "INVALID_VALUE", without_source),
    ("doca_task_free", "IN_USE", lambda m: m.submitted().free()),
    ("doca_task_free", "BAD_STATE", lambda m: twice(m.task().free)),
    ("doca_dma_create", "INVALID_VALUE", lambda m: pydoca.Dma(m.pe, m.dpu, num_tasks=0)),
    ("doca_dma_destroy", "IN_USE", lambda m: m.dma().close()),
    ("doca_dma_task_memcpy_alloc_init", "BAD_STATE", lambda m: pydoca.Dma(m.pe, m.dpu).memcpy(m.buf(), m.buf())),
    ("doca_dma_task_memcpy_alloc_init", "NO_MEMORY", lambda m: keep(m.task(), lambda _: m.context.memcpy(None, None))),
    ("doca_dma_task_memcpy_alloc_init", "INVALID_VALUE", lambda m: m.dma().memcpy(m.buf(), m.buf())),
    ("doca_dma_task_memcpy_set_src", "IN_USE", lambda m: setattr(m.submitted(), "src", None)),
    ("doca_sha_create", "NOT_SUPPORTED", lambda m: pydoca.Sha(m.pe, m.dpu)),
    ("doca_sha_cap_get_max_src_buf_size", "NOT_SUPPORTED", lambda m: pydoca.Sha.max_src_buf_size(m.dpu.info)),
    ("doca_sync_event_create_from_export", "INVALID_VALUE", lambda m: m.dpu.import_sync_event(b"none")),
    ("doca_sync_event_create_from_export", "NOT_CONNECTED", import_from_stopped_owner),
    ("doca_sync_event_add_subscriber_location_cpu", "NOT_SUPPORTED", lambda m: m.event(subscriber="remote_net")),
    ("doca_sync_event_add_publisher_location_dpa", "NOT_SUPPORTED", lambda m: m.event(publisher="gpu")),
    ("doca_sync_event_set_addr", "INVALID_VALUE", lambda m: m.event(memory=bytearray(9))),
    (
        "doca_sync_event_set_doca_buf",
        "NOT_PERMITTED",
        lambda m: m.event(buf=m.inventory.get_by_data(m.dpu.mmap(bytearray(8)))),
    ),
    ("doca_sync_event_start", "INVALID_VALUE", lambda m: m.started(publisher="remote_pci", subscriber="remote_pci")),
    ("doca_sync_event_start", "INVALID_VALUE", lambda m: m.started().start()),
    ("doca_sync_event_stop", "INVALID_VALUE", lambda m: m.event().stop()),
    ("doca_sync_event_as_ctx", "BAD_STATE", lambda m: m.started().as_context(m.pe)),
    ("doca_sync_event_as_ctx", "NOT_PERMITTED", lambda m: keep(m.events(), lambda it: it.event.as_context(m.pe, 1))),
    ("doca_sync_event_get", "BAD_STATE", lambda m: m.event().get()),
    ("doca_sync_event_update_set", "INVALID_VALUE", lambda m: m.started().update_set(-1)),
    ("doca_sync_event_wait_eq", "TIME_OUT", lambda m: m.started().wait_eq(5, timeout=0.0)),
    ("doca_sync_event_export_to_remote_pci", "INVALID_VALUE", lambda m: m.event().export_to_remote_pci()),
    ("doca_sync_event_export_to_remote_pci", "INVALID_VALUE", lambda m: m.started().export_to_remote_pci()),
    ("doca_sync_event_export_to_remote_net", "INVALID_VALUE", lambda m: m.started().export_to_remote_net()),
    ("doca_sync_event_task_wait_eq_alloc_init", "NO_MEMORY", lambda m: no_slot(m.events())),
    ("doca_sync_event_task_wait_eq_alloc_init", "INVALID_VALUE", lambda m: m.events().wait_eq(1, mask=5)),
    ("doca_sync_event_task_wait_gt_alloc_init", "INVALID_VALUE", lambda m: m.events().wait_gt(255)),
    ("doca_sync_event_destroy", "IN_USE", lambda m: keep(m.events(), lambda events: events.event.close())),
    ("doca_comch_client_create", "NOT_SUPPORTED", lambda m: comch.Client(m.pe, m.dpu, "name")),
    ("doca_comch_client_create", "INVALID_VALUE", lambda m: comch.Client(m.pe, m.host, "")),
    (
        "doca_comch_server_create",
        "NOT_SUPPORTED",
        lambda m: comch.Server(m.pe, m.host, m.representor(), "name"),
    ),
    ("doca_comch_client_set_max_msg_size", "INVALID_VALUE", lambda m: m.client(max_msg_size=10**6)),
    ("doca_comch_client_set_recv_queue_size", "INVALID_VALUE", lambda m: m.client(recv_queue_size=10**6)),
    ("doca_comch_client_task_send_set_conf", "INVALID_VALUE", lambda m: m.client(num_send_tasks=0)),
    ("doca_comch_client_get_connection", "BAD_STATE", lambda m: m.client().connection),
    ("doca_rdma_export", "BAD_STATE", lambda m: m.rdma().export()),
    ("doca_rdma_export", "FULL", lambda m: keep(m.running_rdma(), lambda rdma: twice(rdma.export))),
    ("doca_rdma_connect", "INVALID_VALUE", lambda m: m.connection().connect(b"none")),
    ("doca_rdma_addr_create", "INVALID_VALUE", lambda m: m.running_rdma().connect("1.2.3", 5)),
    ("doca_rdma_start_listen_to_port", "BAD_STATE", lambda m: m.rdma().listen(5)),
    ("doca_rdma_start_listen_to_port", "INVALID_VALUE", lambda m: m.running_rdma().listen(0)),
    ("doca_rdma_connection_accept", "BAD_STATE", lambda m: m.connection().accept()),
    ("doca_rdma_connection_reject", "BAD_STATE", lambda m: m.connection().reject()),
    ("doca_rdma_connection_get_addr", "INVALID_VALUE", lambda m: m.connection().address),
    ("doca_rdma_cap_get_gid", "INVALID_VALUE", lambda m: pydoca.Rdma.gids(m.dpu.info, 999)),
    ("doca_rdma_set_transport_type", "NOT_SUPPORTED", lambda m: m.rdma(transport_type="dc")),
    ("doca_rdma_set_send_queue_size", "INVALID_VALUE", lambda m: m.rdma(send_queue_size=0)),
    ("doca_rdma_set_send_queue_size", "NOT_SUPPORTED", lambda m: m.rdma(send_queue_size=10**6)),
    ("doca_rdma_set_recv_queue_size", "NOT_SUPPORTED", lambda m: m.rdma(recv_queue_size=4)),
    ("doca_rdma_set_max_send_buf_list_len", "INVALID_VALUE", lambda m: m.rdma(max_send_buf_list_len=0)),
    ("doca_rdma_set_max_send_buf_list_len", "NOT_SUPPORTED", lambda m: m.rdma(max_send_buf_list_len=10**6)),
    ("doca_rdma_task_receive_set_dst_buf_list_len", "NOT_SUPPORTED", lambda m: m.rdma(receive_dst_buf_list_len=10**6)),
    ("doca_rdma_set_mtu", "INVALID_VALUE", lambda m: m.rdma(mtu=1000)),
    ("doca_rdma_set_permissions", "INVALID_VALUE", lambda m: m.rdma(permissions="pci_read_only")),
    ("doca_rdma_set_grh_enabled", "NOT_SUPPORTED", lambda m: m.rdma(grh_enabled=False)),
    ("doca_rdma_set_gid_index", "INVALID_VALUE", lambda m: m.rdma(gid_index=999)),
    ("doca_rdma_set_sl", "INVALID_VALUE", lambda m: m.rdma(sl=16)),
    ("doca_rdma_set_connection_request_timeout", "INVALID_VALUE", lambda m: m.rdma(connection_request_timeout=0)),
    ("doca_rdma_set_max_num_connections", "NOT_SUPPORTED", lambda m: m.rdma(max_num_connections=0)),
    ("doca_rdma_set_rnr_retry_count", "INVALID_VALUE", lambda m: m.rdma(rnr_retry_count=8)),
    ("doca_rdma_task_send_set_conf", "INVALID_VALUE", lambda m: m.rdma(num_tasks={"send": 0})),
    ("doca_rdma_task_send_allocate_init", "NOT_CONNECTED", lambda m: m.connection().send(None)),
    ("doca_rdma_task_receive_allocate_init", "BAD_STATE", lambda m: m.rdma().receive(None)),
    ("doca_rdma_bridge_get_dev_pd", "NOT_SUPPORTED", lambda m: pydoca.rdma_bridge.get_dev_pd(m.dpu)),
    ("doca_rdma_bridge_open_dev_from_pd", "INVALID_VALUE", lambda _: pydoca.rdma_bridge.open_dev_from_pd(0)),
]


@pytest.mark.parametrize(("name", "status", "call"), CLAIMS, ids=[f"{name}-{status}" for name, status, _ in CLAIMS])
def test_a_call_fails_as_the_table_states(machine: Machine, name: str, status: str, call: Callable[[Machine], object]):
    with pytest.raises(pydoca.DocaError) as caught:
        call(machine)
    assert caught.value.status.name == status, caught.value
    assert status in {reason.status for reason in ENTRIES[name].errors}
