"""The speed of the PCIe link, compared with copies within the function in the same seconds."""

from __future__ import annotations

import numpy as np

import pydoca
from pydoca.qualify.bench import dma
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import Stand

_SIZE = 65536
_DEPTH = 8
_ROUNDS = 15


def share(sides: Sides, *, read: bool) -> float:
    """The bandwidth of copies across the link, over that of copies within the DPU's function; both take turns."""
    with Stand() as stand:
        device: pydoca.Device = sides.dpu
        size, depth = min(_SIZE, pydoca.Dma.max_buf_size(device.info)), dma.depth_for(device, _DEPTH)
        across = dma.Copies(stand, device, dma.remote(stand, device, sides.host, size * depth, read=read), size, depth)
        within = dma.Copies(stand, device, dma.local(stand, device, size * depth), size, depth)
        across.run(), within.run()
        times = [(within.run(), across.run()) for _ in range(_ROUNDS)]
    return float(np.median([local / remote for local, remote in times]))
