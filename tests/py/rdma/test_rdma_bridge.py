"""The bridge to programs that use rdma-core themselves."""

import pytest

import pydoca
from pydoca import rdma_bridge


def test_what_is_no_domain_is_refused():
    with pytest.raises(pydoca.InvalidValueError):
        rdma_bridge.open_dev_from_pd(0)
    with pytest.raises((TypeError, pydoca.InvalidValueError)):
        rdma_bridge.open_dev_from_pd("pd")


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
    with rdma_bridge.open_dev_from_pd(domain) as adopted:
        assert rdma_bridge.get_dev_pd(adopted) == domain
        with adopted.mmap(pydoca.alloc(64)) as mmap:
            assert rdma_bridge.get_mmap_mkey_from_pd(mmap, domain) > 0
