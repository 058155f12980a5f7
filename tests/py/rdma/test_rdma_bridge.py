"""The bridge to programs that use rdma-core themselves."""

import gc
import time
from types import SimpleNamespace

import pytest
import verbs_numbers

import pydoca
from pydoca import rdma_bridge


@pytest.mark.parametrize("pd", [1, 64, 4099, 1 << 63])
def test_where_no_domain_can_be_is_refused(pd):
    with pytest.raises(pydoca.InvalidValueError, match=str(pd)):
        rdma_bridge.open_dev_from_pd(pd)


def test_a_truth_value_is_no_domain():
    with pytest.raises(TypeError, match="bool"):
        rdma_bridge.open_dev_from_pd(True)


def test_without_an_rdma_device_there_are_no_domains(rdma_names):
    if rdma_names[0] != "sim":
        pytest.skip("with a device, pydoca cannot check whether a domain is at an address")
    with pytest.raises(pydoca.NotSupportedError, match="rdma-core"):
        rdma_bridge.open_dev_from_pd(1 << 20)


class Verbs:
    """A program that uses pyverbs: a domain, and in it a queue pair that is connected to another one."""

    def __init__(self, info):
        from pyverbs.cq import CQ
        from pyverbs.device import Context
        from pyverbs.pd import PD

        self.context = Context(name=info.name)
        self.gid_index = info.capabilities.rdma.default_gid_index
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.queue_pair, self.other = self.make_queue_pair(), self.make_queue_pair()
        self.queue_pair.to_rts(self.route_to(self.other))
        self.other.to_rts(self.route_to(self.queue_pair))

    def make_queue_pair(self):
        from pyverbs.qp import QP, QPCap, QPInitAttr

        init = QPInitAttr(qp_type=verbs_numbers.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=QPCap(max_send_wr=4))
        return QP(self.pd, init)

    def route_to(self, peer):
        from pyverbs.addr import AHAttr, GlobalRoute
        from pyverbs.qp import QPAttr

        route = GlobalRoute(dgid=self.context.query_gid(1, self.gid_index), sgid_index=self.gid_index)
        attributes = QPAttr(port_num=1)
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1, dlid=self.context.query_port(1).lid)
        attributes.dest_qp_num = peer.qp_num
        attributes.qp_access_flags = verbs_numbers.IBV_ACCESS_REMOTE_WRITE | verbs_numbers.IBV_ACCESS_REMOTE_READ
        attributes.path_mtu = verbs_numbers.IBV_MTU_1024
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.timeout, attributes.retry_cnt = 14, 7
        return attributes

    def memory(self, content):
        """A region that pyverbs registered."""
        from pyverbs.mr import MR

        access = verbs_numbers.IBV_ACCESS_LOCAL_WRITE | verbs_numbers.IBV_ACCESS_REMOTE_WRITE
        region = MR(self.pd, len(content), access)
        region.write(content, len(content))
        return SimpleNamespace(addr=region.buf, key=region.rkey, size=len(content), region=region)

    def move(self, opcode, local, remote):
        """Moves all of local, and returns the status of the write or read. local and remote have addr and key."""
        from pyverbs.wr import SGE, SendWR

        request = SendWR(opcode=opcode, num_sge=1, sg=[SGE(local.addr, local.size, local.key)])
        request.set_wr_rdma(remote.key, remote.addr)
        self.queue_pair.post_send(request)
        end = time.monotonic() + 20
        while not (done := self.cq.poll(1)[1]):
            assert time.monotonic() < end, "nothing completed"
        return done[0].status

    def write(self, local, remote):
        return self.move(verbs_numbers.IBV_WR_RDMA_WRITE, local, remote)

    def read(self, local, remote):
        return self.move(verbs_numbers.IBV_WR_RDMA_READ, local, remote)

    def lent(self, mmap):
        """A map of pydoca, as a queue pair of the domain sees it."""
        return SimpleNamespace(
            addr=mmap.addr, size=mmap.len, key=rdma_bridge.get_mmap_mkey_from_pd(mmap, self.pd), mmap=mmap
        )


@pytest.fixture
def verbs(pair, pyverbs_path, monkeypatch):
    monkeypatch.syspath_prepend(pyverbs_path)
    verbs = Verbs(pair.a.device.info)
    yield verbs
    gc.collect()  # collects the objects that the test has dropped
    verbs.context.close()


def test_what_is_no_domain_is_refused():
    with pytest.raises(pydoca.InvalidValueError):
        rdma_bridge.open_dev_from_pd(0)
    for wrong in ("pd", None, 1.0, object()):
        with pytest.raises(TypeError, match="an int, a capsule named ibv_pd or a PD of pyverbs, not"):
            rdma_bridge.open_dev_from_pd(wrong)


def test_the_simulator_has_none(pair, rdma_names):
    if rdma_names[0] != "sim":
        pytest.skip("a device of rdma-core has a protection domain")
    with pytest.raises(pydoca.NotSupportedError):
        rdma_bridge.get_dev_pd(pair.a.device)
    with pytest.raises(pydoca.NotSupportedError):
        rdma_bridge.get_buf_mkey(pair.a.data(b"data"), pair.a.device)


@pytest.mark.verbs
def test_a_map_has_one_key_by_its_buf_and_by_its_domain(pair):
    domain = rdma_bridge.get_dev_pd(pair.a.device)
    mmap = pair.a.mmap(pydoca.alloc(4096))
    buf = pair.a.data(mmap)
    assert rdma_bridge.get_buf_mkey(buf, pair.a.device) == rdma_bridge.get_mmap_mkey_from_pd(mmap, domain) > 0
    with pytest.raises(pydoca.NotFoundError):
        rdma_bridge.get_mmap_mkey_from_pd(mmap, domain + 8)


@pytest.mark.verbs
def test_a_device_of_an_adopted_domain_has_that_domain(pair):
    domain = rdma_bridge.get_dev_pd(pair.a.device)
    pair.b.device.close()  # it may be the same one, opened twice
    with rdma_bridge.open_dev_from_pd(domain) as adopted:
        assert rdma_bridge.get_dev_pd(adopted) == domain
        with pytest.raises(pydoca.InUseError, match="protection domain"):
            pair.a.device.close()
        with adopted.mmap(pydoca.alloc(64)) as mmap:
            assert rdma_bridge.get_mmap_mkey_from_pd(mmap, domain) > 0
    pair.a.device.close()


@pytest.mark.verbs
def test_a_domain_of_pyverbs_makes_a_device(verbs):
    with rdma_bridge.open_dev_from_pd(verbs.pd) as dev, dev.mmap(pydoca.alloc(64)) as mmap:
        domain = rdma_bridge.get_dev_pd(dev)
        key = rdma_bridge.get_mmap_mkey_from_pd(mmap, domain)
        assert key == rdma_bridge.get_mmap_mkey_from_pd(mmap, verbs.pd)
        assert key == rdma_bridge.get_buf_mkey(pydoca.BufInventory(1).get_by_data(mmap), dev)
        with rdma_bridge.open_dev_from_pd(domain) as another:
            assert rdma_bridge.get_dev_pd(another) == domain


@pytest.mark.verbs
def test_asking_for_the_domain_often_leaves_it_as_it_was(verbs):
    with rdma_bridge.open_dev_from_pd(verbs.pd) as dev, dev.mmap(pydoca.alloc(64)) as mmap:
        keys = {rdma_bridge.get_mmap_mkey_from_pd(mmap, verbs.pd) for _ in range(100)}
        assert len(keys) == 1
    assert verbs.memory(b"a region is registered by the context that the domain points to").key


@pytest.mark.verbs
def test_a_queue_pair_of_pyverbs_writes_into_a_map_by_its_key(verbs):
    memory = pydoca.alloc(4096)
    content = bytes(range(256)) * 16
    with (
        rdma_bridge.open_dev_from_pd(verbs.pd) as dev,
        dev.mmap(memory, access="local_read_write|rdma_write") as mmap,
    ):
        assert verbs.write(verbs.memory(content), verbs.lent(mmap)) == verbs_numbers.IBV_WC_SUCCESS
        assert bytes(memory) == content


@pytest.mark.verbs
def test_a_queue_pair_of_pyverbs_sends_from_a_map_by_its_key(verbs):
    with rdma_bridge.open_dev_from_pd(verbs.pd) as dev, dev.mmap(bytearray(b"from pydoca")) as mmap:
        target = verbs.memory(bytes(11))
        assert verbs.write(verbs.lent(mmap), target) == verbs_numbers.IBV_WC_SUCCESS
        assert target.region.read(11, 0) == b"from pydoca"


@pytest.mark.verbs
def test_pyverbs_reads_what_an_rdma_of_pydocas_has_written(pair, verbs, run):
    async def main(dev):
        async with pair.linked() as (_, _b, ab, _ba):
            mmap = pydoca.Mmap()
            mmap.add_device(pair.b.device)
            mmap.add_device(dev)
            mmap.set_permissions("local_read_write|rdma_read|rdma_write")
            mmap.set_memrange(pydoca.alloc(16))
            mmap.start()
            with mmap, pair.a.device.import_mmap(mmap.export_rdma(pair.b.device)) as remote:
                await ab.write(pair.a.data(b"sixteen bytes it"), pair.a.room(remote))
                target = verbs.memory(bytes(16))
                assert verbs.read(target, verbs.lent(mmap)) == verbs_numbers.IBV_WC_SUCCESS
                assert target.region.read(16, 0) == b"sixteen bytes it"

    with rdma_bridge.open_dev_from_pd(verbs.pd) as dev:
        run(main(dev))


@pytest.mark.verbs
@pytest.mark.parametrize("access", ["local_read_write", "local_read_write|rdma_read"])
def test_a_map_that_does_not_permit_it_is_not_written(verbs, access):
    memory = pydoca.alloc(64)
    with rdma_bridge.open_dev_from_pd(verbs.pd) as dev, dev.mmap(memory, access=access) as mmap:
        assert verbs.write(verbs.memory(b"x" * 64), verbs.lent(mmap)) == verbs_numbers.IBV_WC_REM_ACCESS_ERR
        assert bytes(memory) == bytes(64)


@pytest.mark.verbs
def test_the_key_of_a_closed_map_opens_nothing(verbs):
    memory = pydoca.alloc(64)
    with rdma_bridge.open_dev_from_pd(verbs.pd) as dev:
        with dev.mmap(memory, access="local_read_write|rdma_write") as mmap:
            lent = verbs.lent(mmap)
        assert verbs.write(verbs.memory(b"x" * 64), lent) == verbs_numbers.IBV_WC_REM_ACCESS_ERR
        assert bytes(memory) == bytes(64)


@pytest.mark.verbs
def test_a_device_keeps_the_domain_of_pyverbs(verbs):
    from pyverbs.pd import PD
    from pyverbs.pyverbs_error import PyverbsRDMAError

    pd = PD(verbs.context)
    dev = rdma_bridge.open_dev_from_pd(pd)
    mmap = dev.mmap(pydoca.alloc(64))
    with pytest.raises(PyverbsRDMAError, match="busy"):
        pd.close()
    del pd, dev
    gc.collect()
    assert mmap.devices[0].mmap(pydoca.alloc(64))


@pytest.mark.verbs
def test_a_closed_domain_of_pyverbs_is_refused(verbs):
    from pyverbs.pd import PD

    pd = PD(verbs.context)
    pd.close()
    with pytest.raises(pydoca.InvalidValueError, match="closed"):
        rdma_bridge.open_dev_from_pd(pd)
    with pytest.raises(TypeError, match="not Context"):
        rdma_bridge.open_dev_from_pd(verbs.context)
