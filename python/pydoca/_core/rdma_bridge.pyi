from typing import SupportsIndex

from pydoca._core.buf import Buf
from pydoca._core.device import Device
from pydoca._core.mmap import Mmap

def rdma_bridge_get_dev_pd(dev: Device) -> int:
    """The address of the device's struct ibv_pd, valid until the device is closed. Raises
    NotSupportedError unless the backend is rdma-core (doca_rdma_bridge_get_dev_pd).
    """

def rdma_bridge_open_dev_from_pd(pd: SupportsIndex | object) -> Device:
    """A device of an application's protection domain. pd is its address, as an int or a capsule named
    ibv_pd, or a PD of pyverbs, which the device keeps alive. The application closes the domain after
    every object that was made with it. Raises InvalidValueError for 0 and for a closed PD
    (doca_rdma_bridge_open_dev_from_pd).
    """

def rdma_bridge_get_buf_mkey(buf: Buf, dev: Device) -> int:
    """The key of buf's memory on the device, for local and remote access. Raises NotFoundError,
    NotSupportedError (doca_rdma_bridge_get_buf_mkey).
    """

def rdma_bridge_get_mmap_mkey_from_pd(mmap: Mmap, pd: SupportsIndex | object) -> int:
    """The key of a map's memory on the device with that protection domain, for local and remote access.
    Raises the errors of rdma_bridge_get_buf_mkey() (doca_rdma_bridge_get_mmap_mkey_from_pd).
    """
