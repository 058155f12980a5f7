"""A long chain of objects, each of which keeps the next one, ends without exhausting the stack."""

import subprocess
import sys

import pytest

# Per object, the end of a task took some 100 bytes of the stack, that of the others some 500.
STACK, STACK_OF_TASKS = 8 << 20, 4 << 20
TASK = "lambda last: dma.memcpy(None, None, submit=False, user_data=last)"
CHAINS = {
    "inventories": (STACK, "lambda last: pydoca.BufInventory(1, user_data=last)", ""),
    "maps": (STACK, "lambda last: pydoca.Mmap(user_data=last)", ""),
    "graphs": (STACK, "lambda last: pydoca.Graph(pe, user_data=last)", ""),
    "two classes": (STACK, "lambda last: pydoca.Graph(pe, user_data=pydoca.BufInventory(1, user_data=last))", ""),
    "instances of nested graphs": (STACK, "instance_of", ""),
    "tasks": (STACK_OF_TASKS, TASK, ""),
    "tasks of a context that has stopped": (STACK_OF_TASKS, TASK, "dma.stop()"),
}
PROGRAM = """
import threading, pydoca
LENGTH = 60_000
def instance_of(last):
    graph = pydoca.Graph(pe)
    node = graph.node(last.graph if last else dma)
    graph.start()
    instance = graph.create_instance()
    instance[node] = last if last else dma.memcpy(None, None, submit=False)
    return instance
def run():
    global pe, dma
    pe = pydoca.ProgressEngine()
    dma = pydoca.Dma(pe, pydoca.open_device("p0", side="dpu"), num_tasks=LENGTH)
    dma.start()
    make, last = {make}, None
    for _ in range(LENGTH):
        last = make(last)
    {before}
    del last
    print("ended")
threading.stack_size({stack})
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("kind", CHAINS)
def test_a_long_chain_ends(kind):
    stack, make, before = CHAINS[kind]
    program = PROGRAM.format(stack=stack, make=make, before=before)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=240)
    assert (run.returncode, run.stdout) == (0, "ended\n"), run.stderr[-2000:]
