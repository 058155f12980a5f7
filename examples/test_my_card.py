"""A test of your own, with the fixtures of the qualification: pytest examples/test_my_card.py --pydoca-device=sim:p0"""

import pytest

from pydoca.qualify.bench import dma


@pytest.mark.pydoca_case("MY-PAGE", title="a copy of a page", levels=("smoke", "quick", "full"))
@pytest.mark.pydoca_needs("dma")
def test_copy_of_a_page(pydoca_device, pydoca_measure):
    with pydoca_measure("my.page", unit="us", stat="p50", max=5000, n_min=100) as latency:
        for samples in dma.latency(pydoca_device, 4096, latency.has_enough):
            latency.extend(samples)
