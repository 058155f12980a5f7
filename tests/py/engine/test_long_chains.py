"""A long chain of objects, each the user_data of the next one, ends without exhausting the stack."""

import subprocess
import sys

import pytest

MAKERS = {
    "inventories": "lambda last: pydoca.BufInventory(1, user_data=last)",
    "maps": "lambda last: pydoca.Mmap(user_data=last)",
    "graphs": "lambda last: pydoca.Graph(pe, user_data=last)",
    "tasks": "lambda last: dma.memcpy(None, None, submit=False, user_data=last)",
    "instances": "instance_of",
    "of several classes": "lambda last: pydoca.Graph(pe, user_data=pydoca.BufInventory(1, user_data=last))",
}
# A class that Python ends without its trashcan exhausts a stack of 8 MiB by some 15,000 objects.
PROGRAM = """
import gc, pydoca
LENGTH = 40_000
pe = pydoca.ProgressEngine()
device = pydoca.open_device("p0", side="dpu")
dma = pydoca.Dma(pe, device, num_tasks=LENGTH)
dma.start()
def instance_of(last):
    graph = pydoca.Graph(pe)
    node = graph.node(last.graph if last else dma)
    graph.start()
    instance = graph.create_instance()
    instance[node] = last if last else dma.memcpy(None, None, submit=False)
    return instance
def chain():
    last = None
    for _ in range(LENGTH):
        last = make(last)
    return last
make = {make}
"""
ENDS = {
    "dropped": "last = chain(); del last",
    "collected": "last = chain(); cycle = [last]; cycle.append(cycle); del last, cycle; gc.collect()",
    "dropped after the context": "last = chain(); dma.stop(); del last",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_long_chain_ends(kind, end):
    program = PROGRAM.replace("{make}", MAKERS[kind]) + ENDS[end] + "\nprint('ended')\n"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=240)
    assert (run.returncode, run.stdout) == (0, "ended\n"), run.stderr[-2000:]
