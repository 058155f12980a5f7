"""Sync events in their synchronous mode, in one process."""

import gc
import signal
import threading
import time

import pytest

import pydoca

TOP = 2**64 - 1
ENOUGH = 20.0  # seconds in which an event must come
SHORT = 0.01  # seconds in which an event must not come
COMPARISONS = {"wait_gt": ">", "wait_eq": "==", "wait_neq": "!="}

LOCATIONS = [
    ("cpu", "cpu"),
    ("cpu", "remote_pci"),
    ("remote_pci", "cpu"),
    ("remote_net", "cpu"),
]
WAITS = ["wait_gt", "wait_eq", "wait_neq"]
MODES = ["", "_yield"]


@pytest.fixture
def dev():
    with pydoca.open_device("03:00.0", side="dpu") as device:
        yield device


@pytest.fixture
def event(dev):
    with pydoca.SyncEvent(dev) as event:
        yield event


def later(call, seconds=0.05):
    thread = threading.Timer(seconds, call)
    thread.start()
    return thread


# ---- values


def test_it_begins_at_zero_and_counts(event):
    assert event.get() == 0
    assert event.update_set(5) is None
    assert event.get() == 5
    assert event.update_add(3) == 5
    assert event.get() == 8


def test_adding_wraps(event):
    event.update_set(TOP)
    assert event.update_add(2) == TOP
    assert event.get() == 1


@pytest.mark.parametrize("value", [0, 1, 2**63, TOP, True])
def test_every_value_of_64_bits(event, value):
    event.update_set(value)
    assert event.get() == value


@pytest.mark.parametrize("value", [-1, 2**64, 10**30])
@pytest.mark.parametrize("operation", ["update_set", "update_add", *WAITS])
def test_other_integers_are_refused_and_named(event, operation, value):
    with pytest.raises(pydoca.InvalidValueError, match=str(value)):
        getattr(event, operation)(value)
    assert event.get() == 0


@pytest.mark.parametrize("value", [1.0, "1", None, b"1"])
@pytest.mark.parametrize("operation", ["update_set", "update_add", *WAITS])
def test_what_is_no_integer_is_a_type_error(event, operation, value):
    with pytest.raises(TypeError):
        getattr(event, operation)(value)


@pytest.mark.parametrize(
    ("args", "keywords"),
    [
        ((), {}),
        ((1, 2, 3), {}),
        ((1,), {"value": 1}),
        ((1,), {"valeu": 1}),
        ((1,), {"mask": None}),
        ((1,), {"timeout": "1"}),
    ],
)
def test_wrong_arguments_are_type_errors(event, args, keywords):
    with pytest.raises(TypeError):
        event.wait_eq(*args, **keywords)


def test_the_other_methods_look_at_their_arguments_too(event):
    with pytest.raises(TypeError, match="positional"):
        event.update_set(1, 2)
    with pytest.raises(TypeError, match="value"):
        event.update_add()
    with pytest.raises(TypeError):
        event.get(1)
    event.update_set(value=4)
    event.wait_eq(value=4, mask=TOP, timeout=None)


# ---- waits


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("wait", "value", "mask", "counter"),
    [
        ("wait_gt", 6, TOP, 7),
        ("wait_gt", 0, 0x0F, 0xF1),
        ("wait_eq", 7, TOP, 7),
        ("wait_eq", 1, 0x0F, 0xF1),
        ("wait_eq", 5, 0x5, 0xF5),
        ("wait_neq", 6, TOP, 7),
        ("wait_neq", 0, 0x01, 3),
    ],
)
class TestConditions:
    def test_one_that_holds_ends_the_wait_at_once(self, event, wait, value, mask, counter, mode):
        event.update_set(counter)
        assert getattr(event, wait + mode)(value, mask, timeout=0) is None

    def test_one_that_comes_true_ends_the_wait(self, event, wait, value, mask, counter, mode):
        if wait == "wait_neq":
            event.update_set(value)
        thread = later(lambda: event.update_set(counter))
        getattr(event, wait + mode)(value, mask, timeout=ENOUGH)
        thread.join()
        assert event.get() == counter


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("wait", "value", "mask"), [("wait_gt", 7, TOP), ("wait_eq", 8, TOP), ("wait_eq", 0xF7, 0x0F), ("wait_neq", 7, TOP)]
)
@pytest.mark.parametrize("timeout", [0, 1e-6, SHORT])
def test_time_out(event, wait, value, mask, mode, timeout):
    event.update_set(7)
    begin = time.monotonic()
    with pytest.raises(pydoca.TimeOutError, match=wait + mode) as raised:
        getattr(event, wait + mode)(value, mask, timeout=timeout)
    assert isinstance(raised.value, TimeoutError)
    assert time.monotonic() - begin >= timeout
    wanted = f"value{'' if mask == TOP else f' & {mask}'} {COMPARISONS[wait]} {value}"
    assert str(raised.value) == (
        f"{wait}{mode} of a sync event on {event.device.name}: the time allowed has passed; "
        f"the value is 7, and the wait was for {wanted}"
    )


@pytest.mark.parametrize("timeout", [-1, float("nan"), -0.001])
def test_what_is_no_time_is_refused(event, timeout):
    with pytest.raises(pydoca.InvalidValueError, match="timeout"):
        event.wait_eq(0, timeout=timeout)


@pytest.mark.parametrize("timeout", [1e10, float("inf"), None])
def test_any_long_time_is_accepted(event, timeout):
    event.wait_eq(0, timeout=timeout)


@pytest.mark.parametrize("mode", MODES)
def test_other_threads_run_during_a_wait(event, mode):
    counted = []

    def count():
        for i in range(1000):
            counted.append(i)
        event.update_set(1)

    thread = later(count, 0.01)
    getattr(event, "wait_eq" + mode)(1, timeout=ENOUGH)
    thread.join()
    assert len(counted) == 1000


def test_threads_play_ping_pong(event):
    rounds = 50

    def pong():
        for i in range(rounds):
            event.wait_eq(2 * i + 1, timeout=ENOUGH)
            event.update_set(2 * i + 2)

    thread = threading.Thread(target=pong)
    thread.start()
    for i in range(rounds):
        event.update_set(2 * i + 1)
        event.wait_eq(2 * i + 2, timeout=ENOUGH)
    thread.join()


def test_threads_add(event):
    def add():
        for _ in range(10_000):
            event.update_add(1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert event.get() == 40_000


def test_a_signal_handler_runs_during_a_wait_which_goes_on(event):
    before = signal.signal(signal.SIGALRM, lambda *_: event.update_set(3))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        event.wait_eq(3, timeout=ENOUGH)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- life


def test_the_states(dev):
    event = pydoca.SyncEvent(dev)
    assert not event.is_started
    assert "not started" in repr(event)
    event.start()
    assert event.is_started
    assert "started" in repr(event)
    event.stop()
    assert "stopped" in repr(event)
    event.close()
    event.close()
    assert event.closed
    assert "closed" in repr(event)
    assert repr(event).count("\n") == 0


@pytest.mark.parametrize("bring", [lambda e: None, lambda e: (e.start(), e.stop()), lambda e: (e.start(), e.close())])
@pytest.mark.parametrize("operation", ["get", "update_set", "update_add", *WAITS])
def test_operations_need_a_started_event(dev, bring, operation):
    event = pydoca.SyncEvent(dev)
    bring(event)
    with pytest.raises(pydoca.BadStateError, match=operation):
        getattr(event, operation)(*([] if operation == "get" else [1]))


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_starting_and_stopping_once(dev, verb):
    with pydoca.SyncEvent(dev) as event:
        if verb == "stop":
            event.stop()
        with pytest.raises(pydoca.InvalidValueError):
            getattr(event, verb)()
    with pytest.raises(pydoca.InvalidValueError):
        event.start()
    with pytest.raises(pydoca.BadStateError):
        event.__enter__()


def test_stopping_what_was_not_started(dev):
    with pytest.raises(pydoca.InvalidValueError):
        pydoca.SyncEvent(dev).stop()


def test_stopping_ends_the_wait_of_another_thread(event):
    errors = []

    def wait():
        try:
            event.wait_eq(1)
        except pydoca.DocaError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    with pytest.raises(pydoca.InUseError, match="stop"):
        event.close()
    event.stop()
    thread.join(ENOUGH)
    assert isinstance(errors[0], pydoca.BadStateError)
    event.close()


def test_an_event_of_a_closed_device_is_refused():
    device = pydoca.open_device("03:00.0", side="dpu")
    device.close()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        pydoca.SyncEvent(device)
    with pytest.raises(TypeError, match="Device"):
        pydoca.SyncEvent("p0")


def test_it_holds_its_device(dev):
    event = pydoca.SyncEvent(dev)
    assert event.device is dev
    with pytest.raises(pydoca.InUseError):
        dev.close()
    event.close()


def test_dropped_events_are_given_back(dev):
    for _ in range(3):
        event = pydoca.SyncEvent(dev)
        event.start()
        event.update_add(1)
    del event
    gc.collect()
    dev.close()


def test_an_unmade_event_is_a_type_error():
    with pytest.raises(TypeError):
        pydoca.SyncEvent.__new__(pydoca.SyncEvent).get()


def test_a_subclass(dev):
    class Counter(pydoca.SyncEvent):
        pass

    with Counter(dev) as counter:
        counter.update_set(2)
        assert counter.update_add(1) == 2
        counter.wait_eq(3, timeout=ENOUGH)


# ---- locations


@pytest.mark.parametrize(("publisher", "subscriber"), LOCATIONS)
def test_locations(dev, publisher, subscriber):
    with pydoca.SyncEvent(dev, publisher=publisher, subscriber=subscriber) as event:
        assert event.publisher is pydoca.SyncEventLocation[publisher.upper()]
        assert event.subscriber is pydoca.SyncEventLocation[subscriber.upper()]
        assert publisher in repr(event)
        assert subscriber in repr(event)
        event.update_set(3)
        event.wait_eq(3, timeout=ENOUGH)


def test_locations_as_enumerators(dev):
    event = pydoca.SyncEvent(dev, publisher=pydoca.SyncEventLocation.REMOTE_PCI)
    assert event.publisher is pydoca.SyncEventLocation.REMOTE_PCI


@pytest.mark.parametrize("role", ["publisher", "subscriber"])
def test_processors_that_are_not_there(dev, role):
    with pytest.raises(pydoca.NotSupportedError, match="gpu"):
        pydoca.SyncEvent(dev, **{role: "gpu"})
    with pytest.raises(pydoca.InvalidValueError, match='"dpa" needs a device or a DPA'):
        pydoca.SyncEvent(dev, **{role: "dpa"})


@pytest.mark.parametrize("role", ["publisher", "subscriber"])
def test_the_old_name_of_the_other_side_leads_to_the_new_one(dev, role):
    with pytest.raises(pydoca.InvalidValueError, match=f"{role} 'dpu'.*'remote_pci'"):
        pydoca.SyncEvent(dev, **{role: "dpu"})


def test_bad_locations(dev):
    with pytest.raises(pydoca.InvalidValueError, match="remote_pci"):
        pydoca.SyncEvent(dev, publisher="remote_pcie")
    with pytest.raises(TypeError, match="publisher"):
        pydoca.SyncEvent(dev, publisher=1.5)
    with pytest.raises(pydoca.NotSupportedError):
        pydoca.SyncEvent(dev, subscriber="remote_net")


def test_one_location_must_be_this_cpu(dev):
    with pytest.raises(pydoca.InvalidValueError):
        pydoca.SyncEvent(dev, publisher="remote_pci", subscriber="remote_pci").start()


# ---- memory of the user


@pytest.mark.parametrize("make", [pydoca.alloc, bytearray], ids=["alloc", "bytearray"])
def test_it_lives_in_memory_of_the_users(dev, make):
    memory = make(8)
    view = memoryview(memory).cast("B").cast("Q")
    view[0] = 41
    with pydoca.SyncEvent(dev, memory=memory) as event:
        assert event.get() == 41
        assert event.update_add(1) == 41
        assert view[0] == 42
        view[0] = 7
        event.wait_eq(7, timeout=ENOUGH)


def test_its_memory_is_kept(dev):
    memory = bytearray(8)
    event = pydoca.SyncEvent(dev, memory=memory)
    event.start()
    with pytest.raises(BufferError):
        memory.clear()
    del memory
    gc.collect()
    event.update_set(3)
    assert event.get() == 3
    event.close()


def test_its_memory_comes_back(dev):
    memory = bytearray(8)
    with pydoca.SyncEvent(dev, memory=memory) as event:
        event.update_set(9)
    del event
    gc.collect()
    assert memory[0] == 9
    memory.clear()


def test_numpy_memory(dev):
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    array = numpy.zeros(4, dtype="u8")
    with pydoca.SyncEvent(dev, memory=array[2:3]) as event:
        event.update_set(5)
    assert array.tolist() == [0, 0, 5, 0]


@pytest.mark.parametrize("memory", [bytes(8), bytearray(7), bytearray(16), memoryview(bytearray(17))[1:9]])
def test_bad_memory(dev, memory):
    with pytest.raises(pydoca.InvalidValueError):
        pydoca.SyncEvent(dev, memory=memory)


def test_what_is_no_memory(dev):
    with pytest.raises(TypeError):
        pydoca.SyncEvent(dev, memory=8)
    with pytest.raises(TypeError, match="Buf"):
        pydoca.SyncEvent(dev, buf=bytearray(8))


ALL = "local_read_write|rdma_read|rdma_write|rdma_atomic"


@pytest.fixture
def make_buf(dev):
    inventory = pydoca.BufInventory(16)

    def make(access=ALL, size=8, memory=None):
        mmap = dev.mmap(memory or pydoca.alloc(4096), access=access)
        return inventory.get_by_data(mmap, mmap.addr + 64, size)

    return make


def test_it_lives_in_a_buf(dev, make_buf):
    memory = pydoca.alloc(4096)
    event = pydoca.SyncEvent(dev, buf=make_buf(memory=memory))
    gc.collect()
    with event:
        event.update_set(0x0102)
        assert bytes(memoryview(memory)[64:66]) == b"\x02\x01"


def test_a_buf_stays_while_an_event_lives_in_it(dev, make_buf):
    buf = make_buf()
    event = pydoca.SyncEvent(dev, buf=buf)
    for release in (buf.close, buf.dec_refcount):
        with pytest.raises(pydoca.NotPermittedError):
            release()
    event.close()
    buf.close()


def test_an_event_without_a_cpu_says_so(dev):
    event = pydoca.SyncEvent(dev, publisher="remote_pci", subscriber="remote_pci")
    assert "no CPU" in repr(event)
    for call in (event.get, lambda: event.update_set(1), lambda: event.wait_eq(1, timeout=0)):
        with pytest.raises(pydoca.BadStateError, match="no CPU"):
            call()
    with pytest.raises(pydoca.InvalidValueError, match="neither location is this CPU"):
        event.start()
    event.close()


@pytest.mark.parametrize("size", [4, 16])
def test_a_buf_of_another_size(dev, make_buf, size):
    with pytest.raises(pydoca.InvalidValueError, match=str(size)):
        pydoca.SyncEvent(dev, buf=make_buf(size=size))


@pytest.mark.parametrize("access", ["local_read_write", "local_read_write|rdma_read|rdma_write"])
def test_a_buf_without_permissions(dev, make_buf, access):
    with pytest.raises(pydoca.NotPermittedError):
        pydoca.SyncEvent(dev, buf=make_buf(access))


def test_a_buf_for_the_other_side_needs_pci_permission(dev, make_buf):
    with pytest.raises(pydoca.NotPermittedError, match="pci_read_write"):
        pydoca.SyncEvent(dev, buf=make_buf(), subscriber="remote_pci").start()


def test_a_list_is_no_place_to_live(dev, make_buf):
    buf = make_buf()
    buf.chain(make_buf())
    with pytest.raises(pydoca.InvalidValueError):
        pydoca.SyncEvent(dev, buf=buf)


def test_memory_and_buf(dev, make_buf):
    with pytest.raises(pydoca.InvalidValueError, match="one of them"):
        pydoca.SyncEvent(dev, buf=make_buf(), memory=bytearray(8))


# ---- exports within one process


def test_exports_need_a_started_event_with_the_location(dev):
    event = pydoca.SyncEvent(dev, subscriber="remote_pci")
    with pytest.raises(pydoca.InvalidValueError, match="start it first"):
        event.export_to_remote_pci()
    event.close()
    with pydoca.SyncEvent(dev) as local:
        with pytest.raises(pydoca.InvalidValueError, match="remote_pci"):
            local.export_to_remote_pci()
        with pytest.raises(pydoca.InvalidValueError, match="remote_net"):
            local.export_to_remote_net()


def test_exports_of_another_device(dev):
    with (
        pydoca.open_device("03:00.1", side="dpu") as other,
        pydoca.SyncEvent(dev, subscriber="remote_pci") as event,
        pytest.raises(pydoca.InvalidValueError, match="not on"),
    ):
        event.export_to_remote_pci(other)


def test_foreign_memory_cannot_be_exported(dev):
    with (
        pydoca.SyncEvent(dev, subscriber="remote_pci", memory=bytearray(8)) as event,
        pytest.raises(pydoca.NotSupportedError, match="alloc"),
    ):
        event.export_to_remote_pci()


@pytest.fixture
def host():
    with pydoca.open_device("0b:00.0", side="host") as device:
        yield device


@pytest.fixture
def exported(host):
    with pydoca.SyncEvent(host, subscriber="remote_pci") as event:
        yield event


def test_both_sides_in_one_process(exported, dev):
    blob = exported.export_to_remote_pci()
    assert isinstance(blob, bytes)
    assert len(blob) < 512
    with dev.import_sync_event(blob) as event:
        assert event.is_from_export
        assert event.publisher is pydoca.SyncEventLocation.NONE
        assert "imported" in repr(event)
        exported.update_set(4)
        event.wait_eq(4, timeout=ENOUGH)
        assert event.update_add(2) == 4
        exported.wait_eq(6, timeout=ENOUGH)


def test_an_import_is_not_exported_and_not_configured_again(exported, dev):
    event = dev.import_sync_event(exported.export_to_remote_pci())
    with pytest.raises(pydoca.BadStateError):
        event.get()
    with event, pytest.raises(pydoca.InvalidValueError, match="imported"):
        event.export_to_remote_pci()


def test_stopping_withdraws(exported, dev):
    blob = exported.export_to_remote_pci()
    with dev.import_sync_event(bytearray(blob)) as event:
        exported.stop()
        for operation in (event.get, lambda: event.update_add(1), lambda: event.wait_eq(1, timeout=ENOUGH)):
            with pytest.raises(pydoca.NotConnectedError, match="owner"):
                operation()
    with pytest.raises(pydoca.NotConnectedError):
        dev.import_sync_event(blob)


def test_the_wrong_side(exported, host):
    with pytest.raises(pydoca.NotPermittedError):
        host.import_sync_event(exported.export_to_remote_pci())


def test_every_truncated_blob_is_refused(exported, dev):
    blob = exported.export_to_remote_pci()
    for size in range(len(blob)):
        with pytest.raises(pydoca.DocaError):
            dev.import_sync_event(blob[:size])
    with pytest.raises(pydoca.DocaError):
        dev.import_sync_event(blob + b"\0")


def test_forged_blobs_are_refused(exported, dev):
    blob = exported.export_to_remote_pci()
    for place in range(0, len(blob), 3):
        forged = bytearray(blob)
        forged[place] ^= 0xFF
        with pytest.raises(pydoca.DocaError):
            dev.import_sync_event(forged)
    with pytest.raises(TypeError):
        dev.import_sync_event(None)
    exported.update_set(1)


def test_blobs_of_other_things_are_refused(exported, host, dev):
    mmap = host.mmap(pydoca.alloc(4096), access="pci_read_write")
    with pytest.raises(pydoca.DocaError):
        dev.import_sync_event(mmap.export_pci())
    with pytest.raises(pydoca.DocaError):
        dev.import_mmap(exported.export_to_remote_pci())
    with pytest.raises(pydoca.DocaError):
        dev.import_sync_event_remote_net(exported.export_to_remote_pci())


def test_a_handle_for_the_network(host, dev):
    with pydoca.SyncEvent(host, publisher="remote_net") as event:
        blob = event.export_to_remote_net()
        with pytest.raises(pydoca.DocaError):
            dev.import_sync_event(blob)
        handle = dev.import_sync_event_remote_net(blob)
        with handle:
            assert handle.device is dev
            assert not handle.closed
            assert "SyncEventRemoteNet" in repr(handle)
        handle.close()
        assert handle.closed
        with pytest.raises(pydoca.BadStateError):
            handle.__enter__()


# ---- capabilities


def test_capabilities(dev):
    info = dev.info
    can = info.capabilities.sync_event
    assert pydoca.SyncEvent.is_supported(info)
    for name, supported in [
        ("sync_event", True),
        ("sync_event_export_to_remote_pci", can.export_to_remote_pci),
        ("sync_event_create_from_export", can.create_from_export),
        ("sync_event_export_to_remote_net", can.export_to_remote_net),
        ("sync_event_remote_net_create_from_export", can.remote_net_create_from_export),
        ("async_sync_event_wait", can.async_wait),
    ]:
        assert info.supports(name) is supported
    assert pydoca.SyncEvent.is_export_to_remote_pci_supported(info) is can.export_to_remote_pci
    assert pydoca.SyncEvent.is_create_from_export_supported(info) is can.create_from_export
    assert pydoca.SyncEvent.is_export_to_dpa_supported(info) is can.export_to_dpa
    assert not pydoca.SyncEvent.is_export_to_gpu_supported(info)
    assert can.to_dict()["max_num_tasks"] == can.max_num_tasks > 0
