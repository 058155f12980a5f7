"""A batch in flight: displays name it, and Python's development mode warns when the program drops it."""

import subprocess
import sys
from array import array

import pytest

import pydoca

PROGRAM = """
import gc
from array import array
import pydoca

pydoca.sim.load_config({"dma": {"latency": "3ms"}})
with pydoca.open_device("03:00.0", side="dpu") as dev, dev.mmap(b"data") as src, dev.mmap(pydoca.alloc(4)) as dst:
    with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma:
        words = array("Q", [src.addr, dst.addr, 4, 0])
        batch = dma.memcpy_many(src, dst, memoryview(words).cast("B").cast("Q", (1, 4)))
        if KEPT:
            pe.run_until(lambda: batch.num_done, 20)
        else:
            del batch
            gc.collect()
            pe.run_until(lambda: not pe.num_inflight_tasks, 20)
"""


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("mode", [[], ["-X", "dev"]], ids=["plain", "dev"])
def test_a_batch_that_is_dropped_in_flight_warns_in_development_mode(kept, mode):
    line = [sys.executable, *mode, "-c", PROGRAM.replace("KEPT", str(kept))]
    ran = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
    warned = "ResourceWarning: dma memcpy_many of 1 rows was dropped in flight: its outcome is lost" in ran.stderr
    assert warned == (bool(mode) and not kept), ran.stderr


def test_the_display_of_an_engine_names_the_batch(make_rig):
    pydoca.sim.load_config({"dma": {"latency": "3ms"}})
    try:
        rig = make_rig()
        target = rig.device.mmap(pydoca.alloc(64))
        words = array("Q", [rig.source.addr, target.addr, 64, 0] * 2)
        batch = rig.dma.memcpy_many(rig.source, target, memoryview(words).cast("B").cast("Q", (2, 4)))
        assert rig.dma._snapshot(8)[-1] == ["dma memcpy_many of 2 rows"]
        assert rig.dma._snapshot(0)[-1] == []
        batch.wait(20)
        assert rig.dma._snapshot(8)[-1] == []
    finally:
        pydoca.sim.load_config({})
