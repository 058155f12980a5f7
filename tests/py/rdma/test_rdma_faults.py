"""A fault plan on the devices under test: real ones in the lab, the simulator's elsewhere."""

import pytest

import pydoca
from pydoca.faults import FaultRule


@pytest.fixture
def faulty_pair(pydoca_faults, request):
    """The pair, opened while a plan is in force."""
    pydoca_faults(
        FaultRule("corrupt", "rdma.send", data="byte", value=0x58, nth=2),
        FaultRule("delay", "rdma.send", by="5 ms", nth=3),
        FaultRule("fail", "rdma.send", nth=4),
    )
    return request.getfixturevalue("pair")


def test_messages_are_corrupted_delayed_and_fail(faulty_pair, run):
    async def main():
        async with faulty_pair.linked() as (a, b, ab, _ba):
            for expected in (b"hello", b"Xello", b"hello"):
                into = faulty_pair.b.room(8)
                task = b.receive(into)
                await ab.send(faulty_pair.a.data(b"hello"))
                await task
                assert bytes(into) == expected
            with pytest.raises(pydoca.IoFailedError):
                await ab.send(faulty_pair.a.data(b"hello"))
            assert a.failure is pydoca.Status.IO_FAILED

    run(main())
