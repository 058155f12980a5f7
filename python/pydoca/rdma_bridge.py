"""Objects shared with programs that use rdma-core themselves, such as pyverbs (DOCA RDMA bridge).

A protection domain is given by its address, as an int or as a capsule named ``ibv_pd``; keys are ints. The
program that made a domain keeps it until everything that was made from it is closed.
"""

from pydoca._core import rdma_bridge_get_buf_mkey as get_buf_mkey
from pydoca._core import rdma_bridge_get_dev_pd as get_dev_pd
from pydoca._core import rdma_bridge_get_mmap_mkey_from_pd as get_mmap_mkey_from_pd
from pydoca._core import rdma_bridge_open_dev_from_pd as open_dev_from_pd

__all__ = ["get_buf_mkey", "get_dev_pd", "get_mmap_mkey_from_pd", "open_dev_from_pd"]
