"""Messages of comch as Python has it, both sides in this process."""

import array
import asyncio
import contextlib
import gc
import random
import secrets
import threading

import pytest

import pydoca

LIMIT = 4080  # bytes of a message


def messages(count, seed):
    source = random.Random(seed)
    return [source.randbytes(source.choice([0, 1, 64, 1000, LIMIT])) for _ in range(count)]


async def send_all(link, what):
    for message in what:
        await link.send(message)


async def receive(link, count):
    return [await link.recv() for _ in range(count)]


def test_a_thousand_messages_each_way(run, ends):
    there, back = messages(1000, 1), messages(1000, 2)

    async def main():
        async with ends.linked() as (_, served, link):
            _, _, got_there, got_back = await asyncio.gather(
                send_all(link, there), send_all(served, back), receive(served, 1000), receive(link, 1000)
            )
            assert got_there == there
            assert got_back == back

    run(main())


def test_a_buffer_may_be_used_again_as_soon_as_its_message_is_submitted(run, ends):
    """The receiver's queue has room for few of them, so most messages wait."""
    expected = [number.to_bytes(2, "little") * 2000 for number in range(1000)]
    buffer = bytearray(4000)

    async def send_all_from_one_buffer(link):
        for first in range(0, 1000, 50):
            tasks = []
            for message in expected[first : first + 50]:
                buffer[:] = message
                tasks.append(link.send(buffer))
            buffer[:] = bytes(4000)
            for task in tasks:
                await task

    async def main():
        async with ends.linked(recv_queue_size=2) as (_, served, link):
            _, got = await asyncio.gather(send_all_from_one_buffer(link), receive(served, 1000))
            assert got == expected

    run(main())


def test_messages_come_soon_beside_a_load_that_never_pauses(run, ends, rig, unused_port):
    """The test counts turns of the loop: if the engine looks at descriptors too late, a message waits for hundreds."""
    turns = 0
    stopped = asyncio.Event()

    async def load(pe):
        nonlocal turns

        def rdma():
            return pydoca.Rdma(pe, rig.device, permissions="rdma_write")

        async with rdma() as a, rdma() as b:
            with b.listen(unused_port) as listener:
                attempt = a.connect(rig.device.info.ipv4_addr, unused_port)
                await (await listener.request()).accept()
                connection = await attempt
            into = rig.device.mmap(pydoca.alloc(64), access="local_read_write|rdma_write")
            src = rig.bufs(64)[0]
            dst = rig.inventory.get_by_addr(rig.device.import_mmap(into.export_rdma()))
            while not stopped.is_set():
                await connection.write(src, dst)
                dst.reset_data_len()
                await asyncio.sleep(0)
                turns += 1

    async def main():
        async with ends.linked() as (server, served, link):
            loading = asyncio.create_task(load(server.progress_engine))
            while not turns:
                await asyncio.sleep(0)
            taken = []
            for _ in range(40):
                before = turns
                await link.send(b"ping")
                await served.recv()
                taken.append(turns - before)
            stopped.set()
            await loading
            assert sorted(taken)[len(taken) // 2] < 200, taken

    run(main())


@pytest.mark.parametrize("size", [64, 1 << 20])
def test_messages_come_soon_beside_waits_that_find_what_they_wait_for(ends, size):
    """Such a program never sleeps, and never finds nothing to deliver."""
    arrived = []
    with (
        pydoca.ProgressEngine() as pe,
        ends.server(pe, on_message=lambda _, message, __: arrived.append(message)) as server,
        pydoca.Dma(pe, ends.dpu) as dma,
        ends.dpu.mmap(pydoca.alloc(size)) as src,
        ends.dpu.mmap(pydoca.alloc(size)) as dst,
        pydoca.ProgressEngine() as other,
        contextlib.ExitStack() as stack,
    ):
        client = ends.client(other)
        client.start()
        pe.run_until(lambda: other.progress() == 0 and server.connections, timeout=10)
        link = stack.enter_context(client)
        for number in range(1, 20):
            link.send(b"x").wait(timeout=10)
            copies = 0
            while len(arrived) < number:
                dma.memcpy(src, dst).wait(timeout=10)
                copies += 1
            assert copies <= 32


def test_one_drain_delivers_all_that_wait(ends):
    arrived = []
    with ends.linked_without_loop(on_message=lambda _, message, __: arrived.append(message)) as (server, _, link):
        for number in range(1, 4):
            link.send(b"x").wait(timeout=10)
            server.progress_engine.run_until(lambda number=number: len(arrived) == number, timeout=10)
        for _ in range(10):
            link.send(b"x")
        while server.progress_engine.drain():
            pass
        assert len(arrived) == 13
        tasks = [link.send(b"x") for _ in range(10)]
        assert server.progress_engine.drain() == 2 * len(tasks)


@pytest.mark.parametrize("latency", ["low", "balanced", "power"])
def test_coroutines_of_one_loop_that_exchange_messages_do_not_look_in_vain(ends, latency):
    """The peer of an await is another coroutine, which runs only once this one has suspended."""
    rounds = 200

    async def echo(link):
        async for message in link:
            await link.send(message)

    async def main():
        async with (
            pydoca.ProgressEngine(latency=latency) as pe,
            ends.server(pe) as server,
            ends.client(pe) as link,
        ):
            echoing = asyncio.create_task(echo(await server.accept()))
            before = pe.stats().vain_looks
            for number in range(rounds):
                await link.send(str(number).encode())
                assert int(await link.recv()) == number
            looks = pe.stats().vain_looks - before
            echoing.cancel()
        return looks

    assert asyncio.run(main()) < 200 * rounds


def test_two_engines_in_one_loop(run, ends):
    async def main():
        async with (
            pydoca.ProgressEngine() as one,
            pydoca.ProgressEngine() as other,
            ends.server(one) as server,
            ends.client(other) as link,
        ):
            served = await server.accept()
            await link.send(b"ping")
            assert await served.recv() == b"ping"
            await served.send(b"pong")
            assert await link.recv() == b"pong"

    run(main())


def test_without_a_loop_in_two_threads(ends):
    what = messages(1000, 4)
    got = []

    def serve():
        with pydoca.ProgressEngine() as pe, ends.server(pe) as server:
            link = server.accept().wait(timeout=30)
            for _ in what:
                got.append(link.recv().wait(timeout=30))
                link.send(got[-1]).wait(timeout=30)
            with pytest.raises(ConnectionResetError):
                link.recv().wait(timeout=30)

    thread = threading.Thread(target=serve)
    thread.start()
    with pydoca.ProgressEngine() as pe, ends.client(pe) as link:
        for message in what:
            link.send(message).wait(timeout=30)
            assert link.recv().wait(timeout=30) == message
    thread.join(30)
    assert got == what


def test_anything_with_a_buffer_can_be_sent(ends):
    data = bytes(range(64))
    memory = pydoca.alloc(64)
    memoryview(memory).cast("B")[:] = data
    with ends.linked_without_loop() as (_, served, link):
        for form in (data, bytearray(data), memoryview(data), array.array("H", data), memory):
            link.send(form).wait(timeout=10)
            assert served.recv().wait(timeout=10) == data
        link.send(memoryview(data)[::2]).wait(timeout=10)
        assert served.recv().wait(timeout=10) == data[::2]


@pytest.mark.parametrize("data", ["text", 5, None, [1, 2]])
def test_what_is_no_buffer_cannot_be_sent(ends, data):
    with ends.linked_without_loop() as (_, _, link), pytest.raises(TypeError, match="buffer protocol"):
        link.send(data)


def test_the_sender_may_change_its_data_at_once(ends):
    with ends.linked_without_loop(recv_queue_size=1) as (_, served, link):
        data = bytearray(LIMIT)
        sent = []
        for number in range(64):  # more than the receiver takes: some wait
            data[:] = number.to_bytes(1) * LIMIT
            sent.append(link.send(data))
        data.clear()
        for number in range(64):
            assert served.recv().wait(timeout=10) == number.to_bytes(1) * LIMIT


@pytest.mark.parametrize("length", [0, 1, LIMIT - 1, LIMIT])
def test_every_length_up_to_the_limit(ends, length):
    with ends.linked_without_loop() as (_, served, link):
        link.send(b"x" * length).wait(timeout=10)
        assert served.recv().wait(timeout=10) == b"x" * length


def test_the_smaller_limit_counts_and_an_oversize_names_it(ends):
    with ends.linked_without_loop(max_msg_size=100) as (server, served, link):
        assert (server.max_msg_size, served.max_msg_size, link.max_msg_size) == (100, 100, 100)
        assert link.client is not None
        assert link.client.max_msg_size == LIMIT
        link.send(b"x" * 100).wait(timeout=10)
        with pytest.raises(pydoca.InvalidValueError, match="has 101 bytes; this connection takes up to 100"):
            link.send(b"x" * 101)


def test_counters(ends):
    with ends.linked_without_loop() as (_, served, link):
        for size in (10, 20, 30):
            link.send(b"x" * size).wait(timeout=10)
        served.recv().wait(timeout=10)
        assert (link.sent_messages, link.sent_bytes, link.recv_messages, link.recv_bytes) == (3, 60, 0, 0)
        for _ in range(2):
            served.recv().wait(timeout=10)
        assert (served.recv_messages, served.recv_bytes, served.sent_messages, served.sent_bytes) == (3, 60, 0, 0)
    assert (link.sent_messages, served.recv_bytes) == (3, 60)


# Send tasks.


def test_a_send_task_can_be_used_again(ends):
    with ends.linked_without_loop() as (_, served, link):
        task = link.send(b"one", user_data="mine", submit=False)
        assert (task.message, task.connection, task.user_data, task.context) == (b"one", link, "mine", link.client)
        task.submit()
        task.wait(timeout=10)
        task.message = bytearray(b"two")
        task.try_submit()
        task.wait(timeout=10)
        assert [served.recv().wait(timeout=10) for _ in range(2)] == [b"one", b"two"]
        with pytest.raises(pydoca.InvalidValueError, match="4081"):
            task.message = b"x" * (LIMIT + 1)
        task.free()
        assert task.message is None
        with pytest.raises(pydoca.BadStateError):
            task.submit()


def test_a_dropped_task_is_sent_all_the_same(ends):
    with ends.linked_without_loop() as (_, served, link):
        for number in range(40):
            link.send(str(number).encode())
        gc.collect()
        assert [int(served.recv().wait(timeout=10)) for _ in range(40)] == list(range(40))


def test_a_dropped_task_may_serve_another_connection(ends):
    """Objects of tasks without references serve the next sends; each goes where it was sent."""
    with pydoca.ProgressEngine() as pe, ends.server(pe, num_send_tasks=2) as server, ends.client(pe) as one:
        to_one = server.accept().wait(timeout=10)
        with ends.client(pe) as other:
            to_other = server.accept().wait(timeout=10)
            for number in range(20):
                to_one.send(f"one {number}".encode(), user_data=number).wait(timeout=10)
                to_other.send(f"other {number}".encode()).wait(timeout=10)
                task = to_one.send(b"again", submit=False)
                assert (task.connection, task.message, task.user_data, task.done) == (to_one, b"again", None, False)
                del task
            for link, name in ((one, "one"), (other, "other")):
                assert [link.recv().wait(timeout=10) for _ in range(20)] == [f"{name} {i}".encode() for i in range(20)]
            assert one._snapshot()[1] == other._snapshot()[1] == 0  # nothing more has come


def test_tasks_of_a_connection_that_has_ended_serve_the_next(ends):
    with pydoca.ProgressEngine() as pe, ends.server(pe, num_send_tasks=1) as server:
        for number in range(3):
            with ends.client(pe) as link:
                server.accept().wait(timeout=10).send(str(number).encode()).wait(timeout=10)
                assert link.recv().wait(timeout=10) == str(number).encode()


def test_all_tasks_taken_is_no_memory_until_one_is_back(ends):
    with ends.linked_without_loop(client={"num_send_tasks": 2}) as (_, served, link):
        tasks = [link.send(b"1"), link.send(b"2")]
        with pytest.raises(pydoca.NoMemoryError, match="all 2 send tasks"):
            link.send(b"3")
        tasks.pop().wait(timeout=10)
        link.send(b"3").wait(timeout=10)
        assert [served.recv().wait(timeout=10) for _ in range(3)] == [b"1", b"2", b"3"]


def test_awaiting_each_send_needs_one_task(run, ends):
    async def main():
        async with ends.linked(client={"num_send_tasks": 1}) as (_, served, link):
            sending = asyncio.create_task(send_all(link, messages(200, 5)))
            assert await receive(served, 200) == messages(200, 5)
            await sending

    run(main())


def test_send_callbacks_have_docas_shape(ends):
    calls = []
    options = {"on_completion": lambda *args: calls.append(args), "user_data": "context"}
    with ends.linked_without_loop(client=options) as (_, _, link):
        task = link.send(b"x", user_data="task")
        task.wait(timeout=10)
    assert calls == [(task, "task", "context")]


# Back-pressure.


def test_a_slow_reader_holds_the_sender_back_and_loses_nothing(run, ends):
    what = [number.to_bytes(2, "big") + secrets.token_bytes(LIMIT - 2) for number in range(300)]

    async def main():
        async with ends.linked(recv_queue_size=4) as (_, served, link):
            sent = []

            async def send():
                for message in what:
                    await link.send(message)
                    sent.append(message)

            sending = asyncio.create_task(send())
            await receive_first(served)
            await asyncio.sleep(0.1)
            assert served.recv_messages <= 1 + 4 + 1
            assert len(sent) < len(what) // 2
            assert not sending.done()
            assert await receive(served, len(what) - 1) == what[1:]
            await sending

    async def receive_first(served):
        assert await served.recv() == what[0]

    run(main())


def test_a_held_back_sender_learns_of_its_receivers_end(run, ends):
    async def main():
        async with ends.linked(recv_queue_size=1) as (_, served, link):
            sending = asyncio.create_task(send_all(link, [bytes(LIMIT)] * 500))
            await asyncio.sleep(0.05)
            assert not sending.done()
            served.close()
            with pytest.raises(ConnectionResetError):
                await sending

    run(main())
