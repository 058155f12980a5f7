"""The data that an Rdma moves: messages, the peer's memory, its words and its events."""

import asyncio
from functools import partial

import pytest

import pydoca


def test_a_message_arrives_with_its_length(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, ba):
            into = pair.b.room(64)
            task = b.receive(into)
            assert await ab.send(pair.a.data(b"hello")) is None
            assert await task == 5
            assert bytes(into) == b"hello"
            assert (task.result_len, task.result_opcode, task.result_immediate_data) == (
                5,
                pydoca.RdmaOpcode.RECV_SEND,
                None,
            )
            assert task.connection is ba
            assert task.kind == "receive"

    run(main())


def test_a_number_comes_with_a_message(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, _ba):
            task = b.receive(pair.b.room(8))
            await ab.send_imm(pair.a.data(b"x"), 0x12345678)
            await task
            assert task.result_immediate_data == 0x12345678
            assert task.result_opcode is pydoca.RdmaOpcode.RECV_SEND_WITH_IMM

    run(main())


def test_receives_are_posted_all_or_none(pair, run):
    async def main():
        async with pair.linked() as (_, b, _ab, _ba):
            rooms = [pair.b.room(16) for _ in range(b.num_tasks("receive") + 1)]
            for bufs, error in [
                (rooms, pydoca.NoMemoryError),
                ([rooms[0], 5], TypeError),
                ([rooms[0], rooms[0]], pydoca.InUseError),
                ([], pydoca.InvalidValueError),
            ]:
                with pytest.raises(error):
                    b.receives(bufs)
                assert b.num_inflight_tasks == 0
            b.receives(rooms[:-1])
            assert b.num_inflight_tasks == len(rooms) - 1

    run(main())


def test_an_empty_message_needs_no_buf(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, _ba):
            task = b.receive(None)
            await ab.send(None)
            assert await task == 0

    run(main())


def test_the_loop_goes_on_while_much_is_moved(pair, run, rdma_names):
    size = 8 << 20
    # The simulator moves a part in each turn. A device of rdma-core moves all of it beside the loop.
    least = 6 if rdma_names[0] == "sim" else 1

    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            with pair.remote(pair.b.mmap(pydoca.alloc(size))) as remote:
                write = ab.write(pair.a.data(pydoca.alloc(size)), pair.a.room(remote))
                turns = 0
                while not write.done:
                    await asyncio.sleep(0)
                    turns += 1
                await write
                del write  # this drops its bufs as well
        assert turns >= least

    run(main())


@pytest.mark.parametrize("size", [1, 4096, 1 << 20])
def test_write_and_read_reach_the_peers_memory(pair, run, size):
    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            content = bytes(i * 7 % 251 for i in range(size))
            theirs = pydoca.alloc(size)
            mmap = pair.b.mmap(theirs)
            with pair.remote(mmap) as remote:
                await ab.write(pair.a.data(content), pair.a.room(remote))
                assert bytes(theirs) == content
                into = pair.a.room(size)
                assert await ab.read(pair.a.data(remote), into) == size
                assert bytes(into) == content

    run(main())


def test_a_write_tells_the_peer_by_a_number(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, _ba):
            theirs = pydoca.alloc(64)
            with pair.remote(pair.b.mmap(theirs)) as remote:
                into = pair.b.room(8)
                task = b.receive(into)
                await ab.write_imm(pair.a.data(b"data"), pair.a.room(remote), 9)
                await task
                assert (task.result_immediate_data, bytes(into), bytes(theirs)[:4]) == (9, b"", b"data")
                assert task.result_opcode is pydoca.RdmaOpcode.RECV_WRITE_WITH_IMM

    run(main())


def test_atomics_give_the_old_value(pair, run):
    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            theirs = pydoca.alloc(8)
            words = memoryview(theirs).cast("Q")
            words[0] = 40
            with pair.remote(pair.b.mmap(theirs)) as remote:
                assert await ab.atomic_fetch_add(pair.a.data(remote), pair.a.room(8), 2) == 40
                assert await ab.atomic_cmp_swp(pair.a.data(remote), pair.a.room(8), 42, 7) == 42
                assert await ab.atomic_cmp_swp(pair.a.data(remote), pair.a.room(8), 42, 9) == 7
                assert words[0] == 7

    run(main())


def test_an_event_of_the_peers_is_set_added_to_and_read(pair, run):
    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            with (
                pydoca.SyncEvent(pair.b.device, publisher="remote_net") as event,
                pair.a.device.import_sync_event_remote_net(event.export_to_remote_net()) as remote,
            ):
                await ab.remote_net_sync_event_notify_set(remote, pair.a.data((5).to_bytes(8, "little")))
                assert event.get() == 5
                assert await ab.remote_net_sync_event_notify_add(remote, pair.a.room(8), 3) == 5
                assert await ab.remote_net_sync_event_get(remote, pair.a.room(8)) == 8
                event.wait_eq(8, timeout=5)

    run(main())


def test_a_task_goes_over_another_connection_next_time(pair, run):
    async def main():
        async with pair.linked() as (a, b, ab, ba):
            second, back = a.export(), b.export()
            second.connect(back.details)
            back.connect(second.details)
            task = ab.send(pair.a.data(b"hello"), submit=False)
            for connection, other_end in ((ab, ba), (second, back), (ab, ba)):
                task.connection = connection
                assert task.connection is connection
                received = b.receive(pair.b.room(8))
                task.submit()
                await task
                assert await received == 5
                assert received.connection is other_end

    run(main())


def test_a_task_reads_another_event_next_time(pair, run):
    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            with (
                pydoca.SyncEvent(pair.b.device, publisher="remote_net") as one,
                pydoca.SyncEvent(pair.b.device, publisher="remote_net") as two,
                pair.a.device.import_sync_event_remote_net(one.export_to_remote_net()) as first,
                pair.a.device.import_sync_event_remote_net(two.export_to_remote_net()) as second,
            ):
                one.update_set(11)
                two.update_set(22)
                task = ab.remote_net_sync_event_get(first, pair.a.room(16))
                assert task.sync_event is first
                assert await task == 11
                task.sync_event = second
                task.submit()
                assert await task == 22
                task.free()
                assert task.sync_event is None

    run(main())


def test_connections_and_events_that_do_not_fit_a_task_are_refused(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, ba):
            task = ab.send(None, submit=False)
            with pytest.raises(pydoca.InvalidValueError, match="another context"):
                task.connection = ba
            for wrong in (None, 5, b):
                with pytest.raises(TypeError, match="RdmaConnection"):
                    task.connection = wrong
            with pytest.raises(pydoca.InvalidValueError, match="has none"):
                task.sync_event = None
            with pytest.raises(TypeError, match="SyncEventRemoteNet"):
                task.sync_event = ab
            assert task.connection is ab
            receive = b.receive(None)
            for change in (lambda: setattr(receive, "connection", ba), lambda: setattr(receive, "sync_event", None)):
                with pytest.raises(pydoca.InUseError):
                    change()
            task.submit()
            await task
            await receive
            with pytest.raises(pydoca.InvalidValueError, match="every connection"):
                receive.connection = ba
            assert receive.connection is ba
            task.free()
            with pytest.raises(pydoca.BadStateError, match="freed"):
                task.connection = ab

    run(main())


def test_a_task_of_an_ended_connection_is_refused(pair, run):
    async def main():
        async with pair.linked() as (a, b, ab, _ba):
            second, back = a.export(), b.export()
            second.connect(back.details)
            back.connect(second.details)
            task = ab.send(None, submit=False)
            await second.disconnect()
            task.connection = second
            with pytest.raises(pydoca.NotConnectedError):
                task.submit()

    run(main())


def test_messages_are_an_iteration(pair, run):
    async def main():
        async with pair.linked() as (a, b, ab, _ba):
            receives = b.receives([pair.b.room(16) for _ in range(3)])
            for number in range(8):
                await ab.send(pair.a.data(b"%d" % number))
                async for task in receives:
                    assert bytes(task.dst) == b"%d" % number
                    break
            assert a.state is pydoca.ContextState.RUNNING

    run(main())


def test_the_iteration_ends_with_its_context(pair, run):
    async def main():
        async with pair.linked() as (_, b, _ab, _ba):
            receives = b.receives([pair.b.room(16)])
            seen = asyncio.create_task(anext(receives, "ended"))
            await asyncio.sleep(0)
            b.stop()
            assert await seen == "ended"

    run(main())


def test_a_step_of_the_iteration_may_have_a_default(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, _ba):
            receives = b.receives([pair.b.room(16)])
            for text in (b"first", b"second"):
                step = asyncio.ensure_future(as_coroutine(anext(receives, None)))
                await asyncio.sleep(0.01)
                await ab.send(pair.a.data(text))
                async with asyncio.timeout(20):
                    assert bytes((await step).dst) == text

    run(main())


def test_steps_of_the_iteration_are_taken_one_at_a_time(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, _ba):
            receives = b.receives([pair.b.room(16) for _ in range(2)])
            step = asyncio.create_task(as_coroutine(anext(receives)))
            await asyncio.sleep(0)
            with pytest.raises(pydoca.InUseError, match="one at a time"):
                await anext(receives)
            await ab.send(pair.a.data(b"first"))
            assert bytes((await step).dst) == b"first"
            given_up = asyncio.create_task(as_coroutine(anext(receives)))
            await asyncio.sleep(0)
            given_up.cancel()
            await asyncio.wait({given_up})
            await ab.send(pair.a.data(b"second"))
            assert bytes((await anext(receives)).dst) == b"second"

    run(main())


async def as_coroutine(awaitable):
    return await awaitable


def test_giving_up_a_receive_loses_no_message(pair, run):
    async def main():
        async with pair.linked() as (_, b, ab, _ba):
            into = pair.b.room(16)
            task = b.receive(into)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await task
            await ab.send(pair.a.data(b"late"))
            assert await task == 4
            assert bytes(into) == b"late"

    run(main())


def test_without_a_loop(pair):
    with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a, pair.b.rdma(pe) as b:
        ab, ba = a.export(), b.export()
        ab.connect(ba.details)
        ba.connect(ab.details)
        into = pair.b.room(16)
        task = b.receive(into)
        ab.send(pair.a.data(b"sync")).wait(10)
        assert task.wait(10) == 4
        assert bytes(into) == b"sync"


def test_a_task_is_used_again(pair, run):
    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            theirs = pydoca.alloc(8)
            remote = pair.remote(pair.b.mmap(theirs))
            task = ab.write(pair.a.data(b"one"), pair.a.room(remote))
            await task
            task.src = pair.a.data(b"two")
            task.submit()
            await task
            assert bytes(theirs)[:3] == b"two"
            with pytest.raises(pydoca.InvalidValueError, match="has none"):
                task.result_buf = pair.a.room(8)

    run(main())


def test_settings_have_docas_names_and_show_what_is_in_effect(pair):
    pe = pydoca.ProgressEngine()
    rdma = pair.a.rdma(pe, num_tasks={"write": 20}, max_num_connections=3, rnr_retry_count=2, mtu=512, sl=1)
    assert (rdma.max_num_connections, rdma.rnr_retry_count, rdma.mtu, rdma.sl) == (3, 2, 512, 1)
    assert (rdma.num_tasks("write"), rdma.num_tasks("read")) == (20, 0)
    assert rdma.permissions == pydoca.Access.RDMA_READ | pydoca.Access.RDMA_WRITE | pydoca.Access.RDMA_ATOMIC
    with rdma:
        assert rdma.send_queue_size == 32
    pe.close()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"mtu": 1000}, pydoca.InvalidValueError, "256, 512, 1024, 2048 or 4096"),
        ({"rnr_retry_count": 300}, pydoca.InvalidValueError, r"300 is not in 0\.\.7"),
        ({"sl": -1}, pydoca.InvalidValueError, "sl must be 0 or more, not -1"),
        ({"connection_request_timeout": 70_000}, pydoca.InvalidValueError, r"request_timeout must be in 0\.\.65535"),
        ({"transport_type": "dc"}, pydoca.NotSupportedError, "(?i)dc|dynamic"),
        ({"transport_type": "ud"}, pydoca.InvalidValueError, "rc"),
        ({"permissions": "pci_read_only"}, pydoca.InvalidValueError, "permission"),
        ({"recv_queue_size": 4}, pydoca.NotSupportedError, "receive"),
        ({"num_tasks": {"wirte": 1}}, pydoca.InvalidValueError, "write"),
        ({"colour": 1}, TypeError, "colour"),
        ({"transport_type": 1}, TypeError, "transport_type must be a str or an enumerator, not int"),
        ({"grh_enabled": "no"}, TypeError, "grh_enabled must be a bool, not str"),
        ({"sl": True}, TypeError, "sl must be an int, not bool"),
        ({"num_tasks": True}, TypeError, "num_tasks of .* must be an int, not bool"),
        ({"num_tasks": {"write": "2"}}, TypeError, "num_tasks of .* must be an int, not str"),
        ({"num_tasks": {1: 2}}, TypeError, "num_tasks: 1 is not the name of a task"),
    ],
)
def test_wrong_settings_are_refused(pair, options, error, text):
    with pydoca.ProgressEngine() as pe, pytest.raises(error, match=text):
        pair.a.rdma(pe, **options)


def test_wrong_types_in_calls_are_refused(pair, run):
    async def main():
        async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe) as a:
            with pytest.raises(TypeError, match="port must be an int, not bool"):
                a.listen(True)
            with pytest.raises(TypeError, match="address_type must be a str, not int"):
                a.connect("10.0.0.1", 5000, address_type=4)
            with pytest.raises(pydoca.InvalidValueError, match=r"port must be in 1\.\.65535, not 0"):
                a.listen(0)

    run(main())


def test_capabilities(pair):
    info = pair.a.device.info
    assert pydoca.Rdma.is_supported(info)
    assert info.supports("rdma")
    assert pydoca.Rdma.is_task_supported(info, "write")
    assert pydoca.Rdma.is_transport_type_supported(info, "rc")
    assert not pydoca.Rdma.is_transport_type_supported(info, "dc")
    assert pydoca.Rdma.max_message_size(info) == info.capabilities.rdma.max_message_size > 0
    gids = pydoca.Rdma.gids(info)
    assert gids[info.capabilities.rdma.default_gid_index] != "::"
    assert len(gids) == pydoca.Rdma.gid_table_size(info) > info.capabilities.rdma.default_gid_index
    assert info.to_dict()["capabilities"]["rdma"]["max_mtu"] in (256, 512, 1024, 2048, 4096)


def test_the_limit_that_a_task_breaks_is_named_with_the_value(pair, run):
    a = pair.a
    others = [info for info in pydoca.devices() if info.name != a.device.name]  # empty if there is only one device

    def refused(text, call, *operands):
        with pytest.raises(pydoca.InvalidValueError) as info:
            call(*operands)
        assert str(info.value).split(": ", 1)[1] == text

    missing = "{} is missing; set it before the task is submitted"

    async def main():
        async with pair.linked(max_send_buf_list_len=1) as (rdma, _, ab, _ba):
            remote = pair.remote(pair.b.mmap(pydoca.alloc(64)))
            at = partial(a.inventory.get_by_addr, remote)
            word = a.data(b"12345678")
            refused(
                "src has 9 bytes of data, and dst has 8 bytes of tailroom",
                ab.write,
                a.data(b"123456789"),
                at(remote.addr, 8),
            )
            refused(missing.format("dst"), ab.write, a.data(b"1"), None)
            refused("src has 64 bytes of data, and dst has 3 bytes of tailroom", ab.read, a.data(remote), a.room(3))
            refused(missing.format("dst"), ab.read, a.data(remote), None)
            refused(
                "result has 7 bytes of tailroom, and 8 bytes are answered",
                ab.atomic_fetch_add,
                a.data(remote),
                a.room(7),
                1,
            )
            refused(
                "dst has 7 bytes from its data on, and an atomic changes 8",
                ab.atomic_fetch_add,
                at(remote.addr, 7),
                a.room(8),
                1,
            )
            where = f"{remote.addr + 4:#x}"
            refused(
                f"dst's data is at {where}, and an atomic's 8 bytes begin at a multiple of 8",
                ab.atomic_cmp_swp,
                at(remote.addr + 4, 8),
                a.room(8),
                1,
                2,
            )
            pair_of_bufs = a.data(b"12")
            inner = a.data(b"34")
            pair_of_bufs.chain(inner)
            refused("src is a list of 2 bufs, and max_send_buf_list_len is 1", ab.send, pair_of_bufs)
            refused("src is a later element of a list; give the list's first", ab.send, inner)
            into = a.room(4)
            into.chain(a.room(4))
            refused("dst is a list of 2 bufs, and receive_dst_buf_list_len is 1", rdma.receive, into)
            for info in others[:1]:
                elsewhere = a.data(pydoca.open_device(info).mmap(bytearray(8)))
                text = (
                    f"src lies in a memory map that {a.device.name} was not added to; map the memory with that device"
                )
                refused(text, ab.send, elsewhere)
            event = pydoca.SyncEvent(pair.b.device, publisher="remote_net")
            event.start()
            handle = a.device.import_sync_event_remote_net(event.export_to_remote_net())
            refused(
                "src has 4 bytes of data, and a sync event's value has 8",
                ab.remote_net_sync_event_notify_set,
                handle,
                a.data(b"1234"),
            )
            handle.close()
            refused("the sync event is closed; import another", ab.remote_net_sync_event_notify_set, handle, word)
            assert await ab.write(word, at(remote.addr, 8)) is None

    run(main())


def test_bufs_that_are_none_are_refused(pair, run):
    async def main():
        async with pair.linked() as (_, _b, ab, _ba):
            with pair.remote(pair.b.mmap(pydoca.alloc(8))) as remote:
                with pytest.raises(TypeError, match="Buf"):
                    ab.write(b"123456789", pair.a.room(remote))
                with pytest.raises(TypeError, match="SyncEventRemoteNet"):
                    ab.remote_net_sync_event_get(remote, pair.a.room(8))

    run(main())


def test_tasks_run_out_with_advice(pair, run):
    async def main():
        async with pair.linked(num_tasks={"receive": 1}) as (_, b, ab, _ba):
            first = b.receive(None)
            with pytest.raises(pydoca.NoMemoryError, match="num_tasks"):
                b.receive(None)
            with pytest.raises(pydoca.NoMemoryError, match=r"send: .*num_tasks"):
                ab.send(None)
            del first

    run(main())
