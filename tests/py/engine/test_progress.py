"""`progress=` of calls that wait for many tasks: a bar by tqdm, another class like it, or a function."""

import subprocess
import sys

import pytest

COUNT = 5


def tasks(rig):
    return [rig.copy() for _ in range(COUNT)]


class Bar:
    made: "list[Bar]" = []  # noqa: RUF012

    def __init__(self, total, unit):
        self.total, self.unit, self.done, self.closed = total, unit, 0, False
        self.made.append(self)

    def update(self, count):
        self.done += count

    def close(self):
        self.closed = True


@pytest.fixture(params=["gather", "run_until"])
def wait(request, run):
    """Waits for all tasks of a rig, with an event loop or without one."""

    async def gather(rig, progress):
        await rig.pe.gather(tasks(rig), progress=progress)

    if request.param == "gather":
        return lambda rig, progress: run(gather(rig, progress))
    return lambda rig, progress: rig.pe.run_until(tasks(rig), progress=progress)


def test_a_function_hears_of_each_completion(rig, wait):
    told = []
    wait(rig, lambda done, total: told.append((done, total)))
    assert told == [(done, COUNT) for done in range(1, COUNT + 1)]


def test_a_class_like_tqdms_makes_the_bar(rig, wait):
    wait(rig, Bar)
    bar = Bar.made.pop()
    assert (bar.total, bar.unit, bar.done, bar.closed) == (COUNT, "task", COUNT, True)


def test_true_shows_the_bar_of_tqdm(rig, wait, capsys, monkeypatch):
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # no thread watches the bar
    wait(rig, True)
    assert f"{COUNT}/{COUNT}" in capsys.readouterr().err


@pytest.mark.parametrize("progress", [None, False])
def test_without_it_nothing_is_shown(rig, wait, progress, capsys):
    wait(rig, progress)
    assert capsys.readouterr().err == ""


def test_something_else_is_refused(rig, wait):
    with pytest.raises(TypeError, match=r"progress is True, a class like tqdm\.auto\.tqdm or a function"):
        wait(rig, "yes")


def test_without_tqdm_the_error_says_what_to_install():
    program = """
import sys
sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
import pydoca
with pydoca.open_device("03:00.0") as dev, pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev) as dma:
    pe.run_until([], progress=True)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "pip install 'pydoca[jupyter]'" in run.stderr.splitlines()[-1]


def test_a_function_that_raises_ends_the_wait(rig, wait):
    def fail(done, total):
        raise ZeroDivisionError(f"{done} of {total}")

    with pytest.raises(ZeroDivisionError, match="1 of 5"):
        wait(rig, fail)
