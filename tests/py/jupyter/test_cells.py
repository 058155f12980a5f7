"""Cells: awaits in one after another, a cell that is run again, errors that say what to do in a notebook."""

import time

import pytest

from kernel import COPY, SETUP

SERVER = """
server = comch.Server(pydoca.ProgressEngine(), dpu, rep, "again")
server.start()
"""
LINKED = """
%%pydoca host --name client --background
import pydoca
with pydoca.open_device("0b:00.0") as dev:
    async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "again") as link:
        async for _ in link:
            pass
"""


def test_an_engine_is_awaited_in_one_cell_after_another(kernel):
    for _ in range(3):
        assert kernel.run(COPY).value == "b'Hello'"


def test_awaits_and_blocking_waits_take_turns(kernel):
    assert kernel.run("copy().wait(); bytes(target)").value == "b'Hello'"
    assert kernel.run(COPY).value == "b'Hello'"
    assert kernel.run("pe.run_until(copy()); bytes(target)").value == "b'Hello'"


def test_a_task_of_one_cell_is_awaited_in_another(kernel):
    kernel.run("task = held()")
    kernel.run("dma.flush_tasks()")
    assert kernel.run("await task; bytes(target)").value == "b'Hello'"


def test_an_asyncio_task_goes_on_while_other_cells_run(kernel):
    kernel.run("async def work():\n    for _ in range(3): await copy(); await asyncio.sleep(0.01)\n    return 'done'")
    kernel.run("background = asyncio.create_task(work())")
    assert kernel.run("1 + 1").value == "2"
    assert kernel.run("await background").value == "'done'"


def test_a_cell_that_leaves_everything_open_runs_again(kernel):
    for _ in range(3):
        assert kernel.run(SETUP).error == ""
        assert kernel.run(COPY).value == "b'Hello'"


def test_a_cell_with_blocks_leaves_no_descriptor(kernel):
    cell = """
with pydoca.open_device("03:00.0") as device, pydoca.BufInventory(2) as bufs:
    async with pydoca.ProgressEngine() as engine, pydoca.Dma(engine, device) as context:
        with device.mmap(b"Hello") as a, device.mmap(target) as b:
            await context.memcpy(bufs.get_by_data(a), bufs.get_by_addr(b))
    async with sim.spawn(""):
        pass
import gc; gc.collect()
len(os.listdir("/proc/self/fd"))
"""
    assert kernel.run(cell).error == ""
    assert len({kernel.run(cell).value for _ in range(3)}) == 1


def test_a_server_without_clients_starts_again(kernel):
    assert [kernel.run(SERVER).error for _ in range(2)] == ["", ""]
    assert kernel.run("server.stop(); server.close()").error == ""


def test_a_server_that_is_still_used_is_named_where_its_name_is_taken(kernel):
    kernel.run(SERVER)
    assert kernel.run(LINKED.strip()).error == ""
    assert kernel.run("link = await server.accept()").error == ""
    again = kernel.run(SERVER)
    assert again.error == "AlreadyExistError"
    assert "it has a server of that name" in again.message
    assert "earlier cells have left servers that run: link.server. " in again.text
    assert "`link.server.stop()` stops one" in again.text
    assert kernel.run("link.server.stop()").error == ""
    assert kernel.run(SERVER).error == ""
    assert kernel.run("%pydoca stop client\nserver.stop(); server.close(); del link, server").error == ""


@pytest.mark.parametrize(
    "cell", ["asyncio.run(work())", "asyncio.get_running_loop().run_until_complete(asyncio.sleep(0))"]
)
@pytest.mark.filterwarnings("ignore")
def test_a_second_event_loop_says_what_to_write(kernel, cell):
    kernel.run("async def work(): pass")
    ran = kernel.run(cell)
    assert ran.error == "RuntimeError"
    assert "pydoca: a notebook's event loop runs already, so a cell awaits: write `await f()`" in ran.text


def test_other_errors_have_no_hint(kernel):
    ran = kernel.run("raise RuntimeError('mine')")
    assert (ran.error, ran.text) == ("RuntimeError", "")


def test_autoreload_with_pydoca_imported(kernel, tmp_path):
    module = tmp_path / "reloaded.py"
    text = "import pydoca\nclass MyError(pydoca.DocaError): pass\ndef answer(): return {}, pydoca.devices()[0].name\n"
    module.write_text(text.format(1))
    assert (
        kernel.run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n%load_ext autoreload\n%autoreload 2").error
        == ""
    )
    assert kernel.run("import reloaded; reloaded.answer()").value == "(1, 'pf0')"
    time.sleep(0.01)
    module.write_text(text.format(23))  # another size, as times may be equal
    assert kernel.run("reloaded.answer()").value == "(23, 'pf0')"
    assert kernel.run(COPY).value == "b'Hello'"
    kernel.run("%autoreload 0\ndel sys.path[0]")


def test_the_package_can_be_imported_anew(kernel):
    assert kernel.run("import importlib; importlib.reload(pydoca)").error == ""
    assert kernel.run(COPY).value == "b'Hello'"


def test_progress_shows_a_bar(kernel):
    """tqdm chooses its form: a widget, or text if ipywidgets is not installed."""
    ran = kernel.run("done = await pe.gather([copy() for _ in range(1)], progress=True)")
    assert ran.error == "", ran.traceback
    shown = ran.text + "".join(str(output.get("data", "")) for output in ran.outputs)
    assert "1/1" in shown or "widget" in shown
