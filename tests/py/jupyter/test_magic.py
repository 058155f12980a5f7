"""`%%pydoca` and `%pydoca`."""

import secrets

import pytest

from kernel import SETUP, Kernel

HOST = """
with pydoca.open_device("0b:00.0", side="host") as device:
    async with pydoca.ProgressEngine() as engine, comch.Client(engine, device, "magic") as link:
        await link.send(b"question")
        answer = await link.recv()
await server
answer
"""
DPU = """%%pydoca dpu --name server --background
import pydoca
with pydoca.open_device("03:00.0") as dev, dev.open_representor("0b:00.0") as rep:
    async with pydoca.ProgressEngine() as pe, pydoca.comch.Server(pe, dev, rep, "magic") as server:
        link = await server.accept()
        print("asked:", (await link.recv()).decode())
        await link.send(b"answer")
        async for _ in link:
            pass
"""


@pytest.fixture(autouse=True)
def stopped(kernel):
    yield
    assert kernel.run("%pydoca stop").error == ""


def test_a_cell_of_the_dpu_shows_its_output(kernel):
    ran = kernel.run("%%pydoca dpu\nimport asyncio, os\nawait asyncio.sleep(0)\nprint(os.environ['PYDOCA_SIDE'])")
    assert (ran.text, ran.error, ran.value) == ("[dpu] dpu\n", "", "")


def test_two_sides_meet_and_late_output_goes_to_the_cell_that_started_it(kernel):
    dpu, host = kernel.run(DPU), kernel.run(HOST)
    assert (host.value, host.text) == ("b'answer'", "")
    assert dpu.text == "[dpu server] asked: question\n"


def test_late_output_is_not_lost_where_the_notebook_is_executed_as_a_whole(tmp_path):
    with Kernel(tmp_path, f"unattended-{secrets.token_hex(6)}", unattended=True) as kernel:
        kernel.run("%load_ext pydoca\n" + SETUP)
        dpu, host = kernel.run(DPU), kernel.run(HOST)
        assert (host.value, host.text, dpu.text) == ("b'answer'", "", "")
        assert [output.data for output in dpu.outputs] == [{"text/plain": "[dpu server] asked: question\n"}]
        loud = kernel.run("%%pydoca dpu --name loud --background\nprint('one')\n1 / 0")
        # The process ends without a waiter that could get the traceback.
        kernel.run("import time\nwhile loud.returncode is None:\n    time.sleep(0.01)")
        shown = loud.outputs[0].data["text/plain"]
        assert shown.startswith("[dpu loud] one\n[dpu loud] Traceback")
        assert shown.endswith("[dpu loud] ZeroDivisionError: division by zero\n")
        kernel.run("%unload_ext pydoca")


def test_a_cell_that_is_run_again_stops_the_process_of_its_name(kernel):
    cell = "%%pydoca dpu --name one --background\nimport time\ntime.sleep(1000)"
    kernel.run(cell)
    first = kernel.run("one.pid").value
    kernel.run("before = one")
    assert kernel.run(cell).error == ""
    assert kernel.run("before.returncode").value == "-2"
    second = kernel.run("one.pid").value
    assert first != second
    assert kernel.run("%pydoca list").text == f"one: dpu process {second}\n"
    kernel.run("%pydoca stop one")
    assert kernel.run("%pydoca list").text == "no process runs\n"


def test_an_error_in_the_cell_is_that_of_the_process(kernel):
    ran = kernel.run("%%pydoca dpu\nx = 1\n\n1 / 0")
    assert (ran.error, ran.text) == ("ProcessError", "")
    assert '"<%%pydoca dpu>", line 3, in <module>' in ran.traceback
    assert "magic.py" not in ran.traceback


def test_an_error_in_the_background_is_shown_and_raised_by_wait(kernel):
    cell = kernel.run("%%pydoca dpu --background\n1 / 0")
    kernel.wait_until(lambda: "ZeroDivisionError" in cell.text or cell.error, cell)
    assert kernel.run("%pydoca wait dpu --timeout 20").error == "ProcessError"


def test_waiting_for_all_ends_with_the_last_and_tells_no_error_twice(kernel):
    kernel.run("%%pydoca dpu --name failing --background\n1 / 0")
    kernel.run("%%pydoca dpu --name slow --background\nimport time\ntime.sleep(0.5)")
    kernel.run("%pydoca wait")
    assert kernel.run("slow.returncode").value == "0"
    assert kernel.run("%pydoca wait").error == ""


def test_syntax_errors_name_the_line(kernel):
    ran = kernel.run("%%pydoca dpu\nx = 1\ny =")
    assert ran.error == "SyntaxError"
    assert "line 2" in ran.message


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%%pydoca\nx", "required: SIDE"),
        ("%%pydoca card\nx", "invalid choice: 'card'"),
        ("%%pydoca dpu --name 1a\nx", "--name 1a: the name is that of a variable"),
        ("%%pydoca dpu --name class\nx", "--name class: the name is that of a variable"),
        ("%%pydoca dpu --name list\nx", "--name list: the name is that of a variable"),
        ("%%pydoca dpu --name target\nx", "the notebook has another variable of this name"),
        ("%pydoca", "required: list|stop|wait"),
        ("%pydoca stop nobody", "no cell has started a process 'nobody'"),
        ("%pydoca wait --timeout", "expected one argument"),
        ("%%pydoca 'dpu\nx", "No closing quotation"),
    ],
)
def test_a_wrong_line_says_what_is_right(kernel, cell, text):
    ran = kernel.run(cell)
    assert ran.error == "UsageError"
    assert text in ran.message


def test_unloading_stops_the_processes(kernel):
    kernel.run("%%pydoca dpu --name last --background\nimport time\ntime.sleep(1000)")
    assert kernel.run("%unload_ext pydoca").error == ""
    assert kernel.run("last.returncode").value == "-2"
    assert "not found" in kernel.run("%%pydoca dpu\n").message
    assert kernel.run("%load_ext pydoca").error == ""
