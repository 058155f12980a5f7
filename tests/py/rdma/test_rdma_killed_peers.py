"""A peer is killed in each state of a connection: the survivor learns of it, gets all its memory back and continues."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pydoca

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("peer.py")
SIZE = 1 << 20

# The possible results of a task, an attempt or a request when the peer has gone. A time-out of this side is not one.
GONE = (
    pydoca.ConnectionResetError,
    pydoca.ConnectionAbortedError,
    pydoca.NotConnectedError,
    pydoca.NotFoundError,
    pydoca.ShutdownError,
)


class Peer:
    def __init__(self, process):
        self.process = process

    async def line(self):
        """The next line of the peer; the loop runs meanwhile."""
        line = await asyncio.get_running_loop().run_in_executor(None, self.process.stdout.readline)
        assert line, self.process.communicate()[1]
        return line.split()

    def tell(self, text=""):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(rdma_names, start_program):
    def start(*options):
        line = [sys.executable, "-P", PROGRAM, rdma_names[1], *options]
        return Peer(start_program(*line, env=dict(os.environ), stdin=subprocess.PIPE))  # this process's fabric

    return start


class Survivor:
    """A running context, with the tasks that the test has submitted on it."""

    def __init__(self, end, rdma, start, port):
        self.end = end
        self.rdma = rdma
        self.start = start
        self.port = port
        self.patience = 60  # seconds for the time-outs of a device and a slow guest

    async def linked(self, then="accept"):
        """A peer, a connection with it, and its memory."""
        peer = self.start("listen", self.port, then)
        _, address = await peer.line()
        return peer, *await self.describe(await self.rdma.connect(address, self.port))

    async def linked_by_details(self):
        peer = self.start("details")
        connection = self.rdma.export()
        [details] = await peer.line()
        connection.connect(bytes.fromhex(details))
        peer.tell(connection.details.hex())
        return peer, *await self.describe(connection)

    async def describe(self, connection):
        blob = self.end.room(512)
        await self.rdma.receive(blob)
        return connection, self.end.device.import_mmap(bytes(blob))

    def writes(self, connection, remote, count=8):
        data = self.end.data(bytes(SIZE))
        return [connection.write(data, self.end.room(remote)) for _ in range(count)]

    def reads(self, connection, remote, count=8):
        return [connection.read(self.end.data(remote), self.end.room(SIZE)) for _ in range(count)]

    async def keep_going(self, submit, connection, remote, ends=GONE):
        """Submits tasks until one fails, and returns the tasks that are under way then."""
        tasks = submit(connection, remote)
        with contextlib.suppress(*ends):
            async with asyncio.timeout(self.patience):
                while True:
                    tasks = [*tasks[1:], *submit(connection, remote, 1)]
                    await tasks[0]
        return tasks

    async def require_gone(self, tasks, ends=GONE):
        """Waits until every task ends and counts the lost ones; each of these must end with a status of the loss."""
        results = await asyncio.wait_for(asyncio.gather(*map(outcome, tasks), return_exceptions=True), self.patience)
        lost = [result for result in results if isinstance(result, BaseException)]
        assert all(isinstance(result, ends) for result in lost), lost
        return len(lost)

    async def require_loss(self, connection):
        """Requires that the survivor learns of the connection's end, and continues with another peer."""
        await asyncio.wait_for(connection.ended(), self.patience)
        assert connection.failure is pydoca.Status.CONNECTION_RESET
        await self.require_use()

    async def require_use(self):
        assert self.rdma.state is pydoca.ContextState.RUNNING
        assert not self.rdma.connections
        async with asyncio.timeout(self.patience):
            _, connection, remote = await self.linked()
            await connection.write(self.end.data(b"anew"), self.end.room(remote))
            into = self.end.room(4)
            await connection.read(self.end.inventory.get_by_data(remote, None, 4), into)
            assert bytes(into) == b"anew"


async def outcome(task):
    return await task


@pytest.fixture
def survive(pair, start, run, unused_port):
    """Runs a test's coroutine with a survivor; a hang of anything fails it."""

    def survive(test, **options):
        async def main():
            options.setdefault("connection_request_timeout", 60000)
            async with pydoca.ProgressEngine() as pe, pair.a.rdma(pe, **options) as rdma:
                await asyncio.wait_for(test(Survivor(pair.a, rdma, start, unused_port)), 200)

        run(main())

    return survive


def test_the_listener_dies_after_the_request(survive):
    async def test(survivor):
        peer = survivor.start("listen", survivor.port, "hold")
        _, address = await peer.line()
        attempt = asyncio.ensure_future(outcome(survivor.rdma.connect(address, survivor.port)))
        await peer.line()
        peer.kill()
        assert await survivor.require_gone([attempt]) == 1
        await survivor.require_use()

    survive(test)


@pytest.mark.parametrize("answered", ["later", "before"])
def test_the_client_dies_before_it_is_accepted(survive, answered):
    async def test(survivor):
        with survivor.rdma.listen(survivor.port) as listener:
            peer = survivor.start("connect", survivor.port, survivor.end.address)
            await peer.line()
            request = await listener.request()
            if answered == "before":
                peer.signal(signal.SIGSTOP)  # the peer never learns of it
                accepted = asyncio.ensure_future(accept(request))
                await asyncio.sleep(0.1)
                peer.kill()
            else:
                peer.kill()
                accepted = asyncio.ensure_future(accept(request))
            assert await survivor.require_gone([accepted]) == 1
            async with asyncio.timeout(survivor.patience):
                while survivor.rdma.connections:
                    await asyncio.sleep(0.01)
        await survivor.require_use()

    survive(test, max_num_connections=1)


async def accept(request):
    return await request.accept()


def test_an_idle_connection_hears_of_it(survive):
    async def test(survivor):
        peer, connection, _ = await survivor.linked()
        peer.kill()
        await survivor.require_loss(connection)

    survive(test)


def test_an_idle_connection_by_details_hears_of_it_by_its_next_task(survive):
    async def test(survivor):
        peer, connection, remote = await survivor.linked_by_details()
        peer.kill()
        tasks = []
        with contextlib.suppress(*GONE):
            tasks = survivor.writes(connection, remote, 2)
        assert await survivor.require_gone(tasks) == len(tasks)
        await survivor.require_loss(connection)

    survive(test)


@pytest.mark.parametrize("link", ["linked", "linked_by_details"])
@pytest.mark.parametrize("operation", ["writes", "reads"])
def test_transfers_in_flight_come_back(survive, operation, link):
    async def test(survivor):
        peer, connection, remote = await getattr(survivor, link)()
        submit = getattr(survivor, operation)
        under_way = asyncio.create_task(survivor.keep_going(submit, connection, remote))
        await asyncio.sleep(0.05)
        peer.process.kill()
        assert await survivor.require_gone(await under_way) > 0
        await survivor.require_loss(connection)

    survive(test, num_tasks=64)


def test_memory_that_goes_before_its_connection(survive):
    """A device takes this for an error of this side, so the context stops; it can be started again."""
    ends = (*GONE, pydoca.IoFailedError)

    async def test(survivor):
        peer, connection, remote = await survivor.linked("late")
        under_way = asyncio.create_task(survivor.keep_going(survivor.writes, connection, remote, ends))
        await asyncio.sleep(0.05)
        peer.process.kill()
        assert await survivor.require_gone(await under_way, ends) > 0
        del under_way  # it may refer to a task that succeeded, whose slot keeps the context from IDLE
        async with asyncio.timeout(survivor.patience):
            await connection.ended()
            while survivor.rdma.state is pydoca.ContextState.STOPPING:
                await asyncio.sleep(0.01)
        if survivor.rdma.state is pydoca.ContextState.IDLE:
            survivor.rdma.start()
        await survivor.require_use()

    survive(test, num_tasks=64)


def test_sends_that_wait_come_back_and_receives_stay(survive):
    async def test(survivor):
        peer, connection, _ = await survivor.linked()
        sends = [connection.send(survivor.end.data(b"no receive here")) for _ in range(4)]
        receive = survivor.rdma.receive(survivor.end.room(512))
        peer.kill()
        assert await survivor.require_gone(sends) == 4
        await asyncio.wait_for(connection.ended(), survivor.patience)
        assert not receive.done
        peer = survivor.start("listen", survivor.port, "accept")
        _, address = await peer.line()
        other = await survivor.rdma.connect(address, survivor.port)
        async with asyncio.timeout(survivor.patience):
            assert await receive > 0
        await other.disconnect()
        await survivor.require_use()

    survive(test)


@pytest.mark.parametrize("sides", ["survivor", "peer", "both"])
def test_a_disconnection_is_under_way(survive, sides):
    async def test(survivor):
        peer, connection, remote = await survivor.linked("leave")
        await peer.line()
        tasks = survivor.writes(connection, remote, 4)
        if sides == "survivor":
            peer.signal(signal.SIGSTOP)
            left = connection.disconnect()
            peer.kill()
            await asyncio.wait_for(left, survivor.patience)
        else:
            peer.tell()
            if sides == "both":
                with contextlib.suppress(*GONE):
                    await asyncio.wait_for(connection.disconnect(), survivor.patience)
        await survivor.require_gone(tasks)
        await asyncio.wait_for(connection.ended(), survivor.patience)
        assert connection.failure in (pydoca.Status.SUCCESS, pydoca.Status.CONNECTION_RESET)
        await survivor.require_use()

    survive(test)


def test_processes_that_are_killed_leave_nothing_open(survive):
    async def test(survivor):
        def num_descriptors():
            return len(os.listdir("/proc/self/fd"))

        async def kill_a_peer():
            peer, connection, _ = await survivor.linked()
            peer.kill()
            await asyncio.wait_for(connection.ended(), survivor.patience)

        await kill_a_peer()
        first = num_descriptors()
        async with asyncio.timeout(survivor.patience):
            for _ in range(2):
                await kill_a_peer()
                while num_descriptors() > first:  # another thread closes the shared descriptors
                    await asyncio.sleep(0.01)

    survive(test)


@pytest.mark.parametrize("waits", [False, True])
def test_the_sockets_of_a_killed_peer_are_closed_late(survive, rdma_names, waits):
    """A process with much memory does this: the system frees the memory before it closes sockets, 70 ms a GiB."""
    if rdma_names[0] != "sim":
        pytest.skip("a peer of a real device is known by its messages, not by its sockets")

    async def test(survivor):
        _, other, others_memory = await survivor.linked()
        peer, connection, remote = await survivor.linked("outlive")
        assert await peer.line() == ["connected"]
        [child] = await peer.line()
        try:
            peer.signal(signal.SIGKILL)
            if waits:
                await asyncio.wait_for(connection.ended(), 20)
            else:
                tasks = await survivor.keep_going(survivor.writes, connection, remote)
                assert await survivor.require_gone(tasks) > 0
            assert connection.failure is pydoca.Status.CONNECTION_RESET
            assert survivor.rdma.state is pydoca.ContextState.RUNNING
            await other.write(survivor.end.data(b"served"), survivor.end.room(others_memory))
        finally:
            os.kill(int(child), signal.SIGKILL)

    survive(test)
