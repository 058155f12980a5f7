"""The configuration of a context: step by step before its first start, as in C, and again between its runs."""

import contextlib
import gc
import weakref

import pytest

import pydoca
from pydoca import ContextState, Status, comch, sim

ENOUGH = 10.0  # seconds


@pytest.fixture
def device():
    with pydoca.open_device("p0", side="dpu") as device:
        yield device
        gc.collect()  # tests drop contexts; this collects those in cycles with their callbacks


@pytest.fixture
def hashing():
    """A device with a SHA engine."""
    before = sim.topology()
    sim.load_topology(sim.default_topology("bluefield2"))
    with pydoca.open_device("p0", side="dpu") as device:
        yield device
    sim.load_topology(before)


@pytest.fixture
def pe():
    with pydoca.ProgressEngine() as pe:
        yield pe


@pytest.fixture
def inventory():
    with pydoca.BufInventory(16) as inventory:
        yield inventory


LIBRARIES = ["dma", "mmap_advise", "rdma", "sync_event", "server", "client"]


@pytest.fixture(params=LIBRARIES)
def make(request, ends):
    """Makes a context of the library, with an engine or without one."""

    def make(pe, **options):
        match request.param:
            case "dma":
                return pydoca.Dma(pe, ends.dpu, **options)
            case "mmap_advise":
                return pydoca.MmapAdvise(pe, ends.dpu, **options)
            case "rdma":
                return pydoca.Rdma(pe, ends.dpu, **options)
            case "sync_event":
                return pydoca.SyncEvent(ends.dpu).as_context(pe, **options)
            case "server":
                return ends.server(pe, **options)
            case _:
                return ends.client(pe, **options)

    return make


def stop(context):
    if context.stop() is not Status.SUCCESS:
        context.progress_engine.run_until(lambda: context.state is ContextState.IDLE, ENOUGH)


# ---- the steps of C


def test_the_steps_of_c(device, inventory):
    seen = []
    source, room = device.mmap(bytearray(b"hello")), device.mmap(bytearray(5))
    dma = pydoca.Dma(None, device)
    assert dma.progress_engine is None
    dma.user_data = "mine"
    dma.on_state_changed = lambda data, context, previous, current: seen.append((data, context, current))
    dma.set_memcpy_conf(lambda task, mine, its: seen.append((mine, its)), None, 1)
    pe = pydoca.ProgressEngine()
    pe.connect(dma)
    assert dma.progress_engine is pe
    assert pe.num_contexts == 1
    assert dma.start() is Status.SUCCESS
    src, dst = inventory.get_by_data(source), inventory.get_by_addr(room)
    task = dma.memcpy(src, dst, user_data="its", submit=False)
    task.submit()
    while not task.done:
        pe.progress()
    assert bytes(dst) == b"hello"
    task.free()
    assert dma.stop() is Status.SUCCESS
    dma.close()
    pe.close()
    assert seen == [("mine", dma, ContextState.RUNNING), ("its", "mine"), ("mine", dma, ContextState.IDLE)]


def test_a_context_of_any_library_is_connected_later(make, pe):
    context = make(None)
    pe.connect(context)
    assert context.progress_engine is pe
    context.start()
    stop(context)
    context.close()
    assert pe.num_contexts == 0


def test_a_context_without_an_engine_does_not_start(make, run):
    async def enter(context):
        async with context:
            pytest.fail("it has no engine")

    context = make(None)
    for start in (context.start, context.__enter__, lambda: run(enter(context))):
        with pytest.raises(pydoca.NotConnectedError, match="connect it to a progress engine first"):
            start()
    assert context.state is ContextState.IDLE
    assert context.stop() is Status.SUCCESS
    context.flush_tasks()
    context.close()
    assert context.closed


def test_a_context_without_an_engine_has_no_tasks_and_no_peers(device, ends, run):
    async def next_client(server):
        return await anext(server)

    rdma, server = pydoca.Rdma(None, device), ends.server(None)
    event = pydoca.SyncEvent(device).as_context()
    refused = [
        lambda: pydoca.Dma(None, device).memcpy(None, None),
        lambda: rdma.receive(None),
        rdma.export,
        lambda: rdma.listen(1),
        lambda: rdma.connect("127.0.0.1", 1),
        server.accept,
        lambda: run(next_client(server)),
        lambda: ends.client(None).connection,
        event.get,
        lambda: event.wait_eq(1),
    ]
    for call in refused:
        with pytest.raises(pydoca.BadStateError, match=r"not run|start"):
            call()


def test_a_context_is_connected_once_and_idle(make, pe):
    context = make(pe)
    with pydoca.ProgressEngine() as other:
        for engine in (pe, other):
            with pytest.raises(pydoca.NotPermittedError, match="keeps it for life"):
                engine.connect(context)
        context.start()
        with pytest.raises(pydoca.BadStateError):
            other.connect(context)
        assert other.num_contexts == 0
    stop(context)


def test_connecting_takes_an_open_context_and_an_open_engine(device, pe):
    dma = pydoca.Dma(None, device)
    for wrong in (None, device, pe):
        with pytest.raises(TypeError):
            pe.connect(wrong)
    closed = pydoca.ProgressEngine()
    closed.close()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        closed.connect(dma)
    dma.close()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        pe.connect(dma)
    with pytest.raises(TypeError, match="ProgressEngine"):
        pydoca.Dma(device, device)


# ---- setters


def test_the_number_of_tasks_and_its_callbacks_change_between_runs(rig):
    seen = []
    assert rig.dma.num_tasks == 256
    with contextlib.ExitStack() as stack:
        stack.enter_context(rig.dma)
        for number in (1, 2):
            rig.copy().wait(ENOUGH)
            stop(rig.dma)
            rig.dma.set_memcpy_conf(lambda task, *_, number=number: seen.append(number), None, number)
            assert rig.dma.num_tasks == number
            rig.dma.start()
            tasks = [rig.copy() for _ in range(number)]
            with pytest.raises(pydoca.NoMemoryError):
                rig.copy()
            rig.pe.run_until(tasks, ENOUGH)
            del tasks
    assert seen == [1, 1, 2, 2, 2][: len(seen)]
    assert seen.count(2) == 2


def test_what_a_conf_leaves_out_is_the_default(rig):
    seen = []
    stop(rig.dma)
    rig.dma.set_memcpy_conf(lambda *_: seen.append(1))
    assert rig.dma.num_tasks == 32
    rig.dma.set_memcpy_conf(num_tasks=3)
    rig.dma.start()
    rig.copy().wait(ENOUGH)
    assert seen == []


def test_ordered_completions_come_in_the_order_of_submission(rig):
    assert rig.dma.ordered_completions is False
    stop(rig.dma)
    rig.dma.ordered_completions = True
    with pytest.raises(TypeError, match="ordered_completions"):
        rig.dma.ordered_completions = 1
    assert rig.dma.ordered_completions is True
    seen = []
    large, inventory = 1 << 20, rig.inventory
    memory = rig.device.mmap(bytearray(3 * large))
    rig.dma.set_memcpy_conf(lambda task, number, _: seen.append(number), None, 16)
    rig.dma.start()
    for number in range(16):
        size = 64 if number % 2 else large
        src, dst = inventory.get_by_data(memory, data_len=size), inventory.get_by_addr(memory, memory.addr + large)
        rig.dma.memcpy(src, dst, user_data=number)
    rig.pe.run_until(lambda: len(seen) == 16, ENOUGH)
    assert seen == list(range(16))
    with pytest.raises(pydoca.BadStateError):
        rig.dma.ordered_completions = False


def test_sha_is_configured_between_runs(pe, hashing, inventory):
    seen = []
    sha = pydoca.Sha(None, hashing, num_tasks=2)
    assert sha.num_tasks == 2
    pe.connect(sha)
    sha.start()
    sha.stop()
    sha.set_hash_conf(lambda *_: seen.append("done"), None, 1)
    with sha:
        digest = inventory.get_by_addr(hashing.mmap(bytearray(32)))
        sha.hash(inventory.get_by_data(hashing.mmap(b"a")), digest).wait(ENOUGH)
    assert seen == ["done"]
    assert sha.num_tasks == 1


def test_each_kind_of_task_has_callbacks_of_its_own(pe, device):
    seen = []
    events = pydoca.SyncEvent(device).as_context(pe, on_completion=lambda *_: seen.append("any"))
    events.set_conf("notify_add", lambda *_: seen.append("add"), None, 1)
    assert events.num_tasks("notify_add") == 1
    assert events.num_tasks("get") == 32
    with events:
        events.notify_add(1).wait(ENOUGH)
        events.get().wait(ENOUGH)
    assert seen == ["add", "any"]


def test_a_context_without_tasks_does_not_start(pe, device):
    events = pydoca.SyncEvent(device).as_context(pe, num_tasks={})
    with pytest.raises(pydoca.InvalidValueError, match="nothing is configured"):
        events.start()
    events.set_conf("get", num_tasks=1)
    with events:
        assert events.get().wait(ENOUGH) == 0


def test_a_failed_task_calls_the_callback_of_its_kind(pe, device):
    seen = []
    events = pydoca.SyncEvent(device).as_context(pe, on_error=lambda *_: seen.append("any"))
    events.set_conf("wait_eq", None, lambda *_: seen.append("wait"), 1)
    with events:
        events.wait_eq(5)
        events.wait_neq(0)
    assert sorted(seen) == ["any", "wait"]


RDMA_SETTINGS = {
    "max_num_connections": 3,
    "permissions": pydoca.Access.RDMA_READ,
    "send_queue_size": 64,
    "max_send_buf_list_len": 2,
    "receive_dst_buf_list_len": 3,
    "transport_type": pydoca.RdmaTransport.RC,
    "mtu": 2048,
    "grh_enabled": True,
    "gid_index": 1,
    "sl": 5,
    "connection_request_timeout": 700,
    "rnr_retry_count": 2,
}


def test_rdma_is_configured_between_runs(pe, device):
    rdma = pydoca.Rdma(None, device, num_tasks={})
    pe.connect(rdma)
    rdma.set_conf("send", num_tasks=8)
    rdma.start()
    rdma.export()
    with pytest.raises(pydoca.FullError):
        rdma.export()
    stop(rdma)
    for name, value in RDMA_SETTINGS.items():
        setattr(rdma, name, value)
        assert getattr(rdma, name) == value, name
    rdma.set_conf("receive", None, None, 4)
    assert (rdma.num_tasks("send"), rdma.num_tasks("receive")) == (8, 4)
    with rdma:
        assert len([rdma.export() for _ in range(3)]) == 3


def test_a_server_and_a_client_are_configured_between_runs(ends, pe):
    seen = []
    server, client = ends.server(None), ends.client(None, on_message=lambda *_: seen.append("never"))
    for context in (server, client):
        pe.connect(context)
        context.start()
    pe.run_until(lambda: client.state is ContextState.RUNNING, ENOUGH)
    for context in (client, server):
        stop(context)
        context.set_send_conf(lambda *_: seen.append("sent"), None, 2)
        context.max_msg_size = 100
        context.recv_queue_size = 5
        assert (context.num_send_tasks, context.max_msg_size, context.recv_queue_size) == (2, 100, 5)
    server.on_connect = lambda connection, successful, data: seen.append("connected")
    server.on_message = lambda connection, message, data: seen.append(message)
    client.on_message = None
    client.on_disconnect = lambda connection, successful, data: seen.append("disconnected")
    with server, client as link:
        assert link.max_msg_size == 100
        link.send(b"hello")
        pe.run_until(lambda: b"hello" in seen, ENOUGH)
        server.connections[0].send(b"answer")
        assert link.recv().wait(ENOUGH) == b"answer"
        pe.run_until(lambda: seen.count("sent") == 2, ENOUGH)
    assert seen[0] == "connected"
    assert seen[-1] == "disconnected"
    assert "never" not in seen


def test_a_changed_state_tells_the_callback_of_now(make, pe):
    seen = []
    context = make(pe, on_state_changed=lambda *_: seen.append("first"))
    assert callable(context.on_state_changed)

    def second(data, context, previous, current):
        seen.append("second")
        context.on_state_changed = None

    context.start()
    context.on_state_changed = second
    stop(context)
    assert seen == ["first", "second"]
    assert context.on_state_changed is None
    context.close()


def test_a_callback_can_be_called(make, pe):
    context = make(pe)
    with pytest.raises(TypeError, match="on_state_changed"):
        context.on_state_changed = 5


# ---- what is refused


def setters(context):
    """Each setter of the context, with a value that it takes while the context is idle."""
    match context:
        case pydoca.Dma():
            return [
                lambda: context.set_memcpy_conf(None, None, 4),
                lambda: setattr(context, "ordered_completions", True),
            ]
        case pydoca.SyncEventContext():
            return [lambda: context.set_conf("get", None, None, 4)]
        case pydoca.MmapAdvise():
            return [lambda: context.set_invalidate_cache_conf(None, None, 4)]
        case pydoca.Rdma():
            names = {**RDMA_SETTINGS, **dict.fromkeys(("on_request", "on_established", "on_failure", "on_disconnect"))}
            confs = [lambda: context.set_conf("send", None, None, 4)]
        case _:
            names = {"max_msg_size": 64, "recv_queue_size": 4, "on_message": None, "on_disconnect": None}
            names |= {"on_connect": None} if isinstance(context, comch.Server) else {}
            confs = [lambda: context.set_send_conf(None, None, 4)]
    return confs + [lambda each=each: setattr(context, *each) for each in names.items()]


def test_setters_are_for_an_idle_context(make, pe):
    context = make(pe)
    as_doca_says = isinstance(context, pydoca.SyncEventContext | pydoca.MmapAdvise)
    expected = pydoca.NotPermittedError if as_doca_says else pydoca.BadStateError
    context.start()
    for change in setters(context):
        with pytest.raises(expected, match=r"idle|stop it first"):
            change()
    stop(context)
    for change in setters(context):
        change()
    context.close()


def test_setters_refuse_what_constructors_refuse(pe, device, ends):
    dma, rdma, server = pydoca.Dma(pe, device), pydoca.Rdma(pe, device), ends.server(pe)
    events = pydoca.SyncEvent(device).as_context(pe)
    for call, error in [
        (lambda: dma.set_memcpy_conf(None, None, 0), pydoca.InvalidValueError),
        (lambda: dma.set_memcpy_conf(None, None, 2**31), pydoca.InvalidValueError),
        (lambda: dma.set_memcpy_conf(5), TypeError),
        (lambda: dma.set_memcpy_conf(None, "no"), TypeError),
        (lambda: dma.set_memcpy_conf(None, None, True), TypeError),
        (lambda: rdma.set_conf("sned"), pydoca.InvalidValueError),
        (lambda: rdma.set_conf("send", None, None, 0), pydoca.InvalidValueError),
        (lambda: setattr(rdma, "mtu", 1000), pydoca.InvalidValueError),
        (lambda: setattr(rdma, "mtu", None), TypeError),
        (lambda: setattr(rdma, "recv_queue_size", 8), pydoca.NotSupportedError),
        (lambda: setattr(rdma, "on_request", 5), TypeError),
        (lambda: events.set_conf("wait_ge"), pydoca.InvalidValueError),
        (lambda: setattr(server, "max_msg_size", 0), pydoca.InvalidValueError),
        (lambda: setattr(server, "on_message", "print"), TypeError),
        (lambda: server.set_send_conf(num_tasks=10**6), pydoca.InvalidValueError),
    ]:
        with pytest.raises(error):
            call()
    assert dma.num_tasks == 32


def test_a_setter_belongs_to_the_thread_of_the_engine(pe, device, in_thread):
    rdma = pydoca.Rdma(pe, device)
    rdma.start()
    stop(rdma)
    for change in setters(rdma):
        assert isinstance(in_thread(change), pydoca.WrongThreadError)


@pytest.fixture
def in_thread():
    """Calls a function in another thread, and returns the error that it raises."""
    import threading

    def call(function):
        raised = []

        def target():
            try:
                function()
            except Exception as error:
                raised.append(error)

        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
        return raised[0] if raised else None

    return call


def test_callbacks_do_not_keep_their_context(make, pe):
    context = make(pe)

    def refer(*_, context=context):
        return context

    context.on_state_changed = refer
    match context:
        case pydoca.Dma():
            context.set_memcpy_conf(refer, refer)
        case pydoca.MmapAdvise():
            context.set_invalidate_cache_conf(refer, refer)
        case pydoca.Rdma():
            context.set_conf("send", refer, refer)
            context.on_request = context.on_failure = refer
        case comch.Server() | comch.Client():
            context.set_send_conf(refer, refer)
            context.on_message = context.on_disconnect = refer
        case _:
            context.set_conf("get", refer, refer)
    ended = weakref.ref(refer)
    context.close()
    del context, refer
    gc.collect()
    assert ended() is None
