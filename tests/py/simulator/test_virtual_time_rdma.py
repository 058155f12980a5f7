"""Connections of RDMA in virtual time: their time-outs are those of the virtual clock."""

import gc

import pytest

import pydoca
from pydoca.sim import virtual_time

TIMEOUT = 30_000  # ms; as much real time would be beyond the limit of a test


def contexts(pe, **options):
    device, peer = pydoca.open_device("pf0", side="host"), pydoca.open_device("p1", side="dpu")
    a = pydoca.Rdma(pe, device, connection_request_timeout=TIMEOUT, **options)
    return device, peer, a, pydoca.Rdma(pe, peer)


async def connect_to_a_peer_that_does_not_answer(port):
    pe = pydoca.ProgressEngine()
    device, peer, a, b = contexts(pe)
    with device, peer:
        async with pe, a, b:
            with b.listen(port), pytest.raises(pydoca.TimeOutError):  # a request comes, and nobody takes it
                await a.connect(peer.info.ipv4_addr, port)
    gc.collect()


def test_a_connect_times_out_in_virtual_time(unused_port):
    digests = []
    for seed in (1, 2, 1):
        with virtual_time(seed=seed) as vt:
            vt.run(connect_to_a_peer_that_does_not_answer(unused_port))
            assert 30 <= vt.now < 30.01
            digests.append(vt.digest)
    assert digests[0] == digests[2]


async def send_to_a_peer_without_a_receive():
    pe = pydoca.ProgressEngine()
    device, peer, a, b = contexts(pe, rnr_retry_count=6)
    inventory = pydoca.BufInventory(4)
    with device, peer:
        async with pe, a, b:
            ab, ba = a.export(), b.export()
            ab.connect(ba.details)
            ba.connect(ab.details)
            await ab.established()
            with pytest.raises(pydoca.TimeOutError):
                await ab.send(inventory.get_by_data(device.mmap(b"nobody")))
        del ab, ba
    gc.collect()


def test_a_send_without_a_receive_times_out_in_virtual_time():
    with virtual_time() as vt:
        vt.run(send_to_a_peer_without_a_receive())
        assert 0.07 <= vt.now < 0.08  # seven offers, 10 ms apart
