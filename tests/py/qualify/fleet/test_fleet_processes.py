"""`pydoca qualify --fleet`: a local cluster of processes on loopback, with simulated cards."""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COMMAND = Path(sys.executable).with_name("pydoca")
CASES = """
import os
import signal
import time
from pathlib import Path

import pytest

from pydoca.qualify.bench import dma

HERE = Path(os.environ["FLEET_TEST"])


@pytest.mark.pydoca_case("MY-LAT", title="latency of a page")
@pytest.mark.pydoca_needs("dma")
def test_latency(pydoca_device, pydoca_measure):
    with pydoca_measure("my.page", unit="us", stat="min", better="lower", n_min=20) as latency:
        for samples in dma.latency(pydoca_device, 4096, latency.has_enough):
            latency.extend(samples)


@pytest.mark.pydoca_case("MY-END", title="ends its worker, the process above")
def test_end_of_the_worker(pydoca_device):
    name = pydoca_device.info.name
    if name == "card2-p0" or (name == "card1-p0" and not (HERE / "once").exists()):
        (HERE / "once").touch()
        (HERE / "killed").open("a").write(f"{name}\\n")
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()


@pytest.mark.pydoca_case("MY-LONG", title="measures until it is interrupted")
def test_long(pydoca_device, pydoca_measure):
    with pydoca_measure("my.long", unit="1", n_min=1 << 60) as number:
        number.add(1)
        (HERE / f"begun-{pydoca_device.info.name}").touch()
        while not (number.has_enough() and number._interrupted):  # it has enough after some seconds, too
            number.add(1)
            time.sleep(0.001)
"""


class Front:
    """The command with its own directory, fabric, lock files and temporary directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started: list[subprocess.Popen[str]] = []
        self.tmp = path / "tmp"
        for folder in (self.tmp, path / "runtime"):
            folder.mkdir(mode=0o700)
        (path / "test_mine.py").write_text(CASES)
        own = {"XDG_RUNTIME_DIR": path / "runtime", "TMPDIR": self.tmp, "FLEET_TEST": path, "PYDOCA_BACKEND": "sim"}
        own |= {"PYDOCA_TOPOLOGY": "cards.toml", "PYDOCA_FABRIC": f"fleet-{os.getpid()}-{time.monotonic_ns()}"}
        gone = ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST")
        self.env = {name: each for name, each in os.environ.items() if name not in gone}
        self.env |= {name: str(each) for name, each in own.items()}

    def cards(self, count: int, more: str = "") -> None:
        (self.path / "cards.toml").write_text(f'[[card]]\ncount = {count}\nname = "card{{}}"\nports = 1\n{more}')

    def start(self, *words: str) -> subprocess.Popen[str]:
        line = [str(COMMAND), "qualify", "--fleet", "-n", "2", "--level", "smoke", "--tests", "test_mine.py", *words]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            line, cwd=self.path, env=self.env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        self.started.append(process)
        return process

    def clear(self) -> None:
        """Ends all processes, even after a test that failed midway."""
        for process in self.started:
            with process:  # this closes its pipes, and waits
                process.kill()

    def end(self, process: subprocess.Popen[str]) -> tuple[int, str, str]:
        try:
            out, err = process.communicate(timeout=240)
        finally:
            process.kill()
        return process.returncode, out, err

    def run(self, *words: str) -> tuple[int, str, str]:
        return self.end(self.start(*words))

    def directory(self) -> Path:
        [found] = (self.path / "runs").iterdir()
        return found

    def document(self) -> dict:
        return json.loads((self.directory() / "fleet.json").read_text())

    def left_behind(self) -> list[str]:
        """Processes with this environment, and files in the temporary directory; waits for those that are ending."""
        deadline = time.monotonic() + 20
        while (found := [*self._processes(), *map(str, self.tmp.iterdir())]) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _processes(self) -> list[str]:
        return [each for each in (read(folder / "cmdline").replace("\0", " ") for folder in self._folders()) if each]

    def _folders(self) -> list[Path]:
        """The folders of the processes in /proc."""
        mark = f"FLEET_TEST={self.path}"
        folders = [each for each in Path("/proc").iterdir() if each.name.isdecimal()]
        return [each for each in folders if mark in read(each / "environ").split("\0")]

    def listening(self) -> set[str]:
        """The addresses on which the processes listen, in the kernel's form."""
        sockets = {link for folder in self._folders() for link in links(folder / "fd")}
        lines = [line.split() for name in ("tcp", "tcp6") for line in read(Path("/proc/net", name)).splitlines()[1:]]
        listening = [line for line in lines if line[3] == "0A"]
        return {line[1].partition(":")[0] for line in listening if f"socket:[{line[9]}]" in sockets}


def read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:  # the process has ended
        return ""


def links(folder: Path) -> list[str]:
    found = []
    try:
        for each in folder.iterdir():
            found.append(os.readlink(each))
    except OSError:
        pass
    return found


@pytest.fixture
def front(tmp_path):
    front = Front(tmp_path)
    yield front
    front.clear()


def test_one_bad_card_among_equal_ones_is_marked(front):
    """The bad card's copies take 20 ms, which no limit forbids.

    Copies of the other cards take 5 ms, so the delays of a busy machine are small in comparison.
    """
    models = (f'\n[timing.devices.card{n}-p0.dma]\nlatency = "{20 if n == 3 else 5}ms"\n' for n in range(6))
    front.cards(6, "".join(models))
    code, out, err = front.run("--select", "MY-LAT", "--json")
    assert code == 0, out + err
    result = json.loads(out)
    assert [each["name"] for each in result["outliers"]] == ["my.page"]
    assert result["outliers"][0]["title"].endswith("sim:card3-p0")
    assert result["outliers"][0]["word"] == "worse"
    assert "[6/6] UNJUDGED" in err
    assert len(result["cards"]) == 6
    assert sum(each["tested"] for each in result["workers"]) == 6
    directory = front.directory()
    assert str(directory) == result["fleet_directory"]
    for each in result["cards"]:
        folder = directory / each["directory"]
        assert {"state.json", "report.html", "samples", "logs"} <= {path.name for path in folder.iterdir()}
    suites = ElementTree.parse(directory / "junit.xml").getroot().findall("testsuite")
    assert [len(suite.findall("testcase")) for suite in suites] == [1] * 6
    assert "OUTLIER" in (directory / "report.html").read_text()
    assert front.left_behind() == []


def test_the_cards_of_a_killed_worker_are_tested_again_and_the_report_says_so(front):
    """Card 1 kills its worker once, card 2 each time: card 2 never passes."""
    front.cards(4)
    code, out, err = front.run("--select", "MY-END")
    assert code == 3, out + err
    document = front.document()
    cards = {each["name"]: each for each in document["cards"]}
    assert (front.path / "killed").read_text().split().count("card1-p0") == 1
    assert (front.path / "killed").read_text().split().count("card2-p0") == 2
    assert {name: each["verdict"] for name, each in cards.items()} == {
        "card0-p0": "PASS",
        "card1-p0": "PASS",
        "card2-p0": "ERROR",
        "card3-p0": "PASS",
    }
    assert len(cards["card1-p0"]["losses"]) == 1
    assert cards["card1-p0"]["worker"] not in cards["card1-p0"]["losses"][0]
    assert not cards["card2-p0"]["tested"]
    assert "not tested: its run was lost 2 times" in cards["card2-p0"]["problems"][0]["reason"]
    assert sum(each["lost"] for each in document["workers"]) == 3
    told = [(each["kind"], each["text"]) for each in document["findings"]]
    assert any(kind == "fleet" and "card1-p0" in text and "tested again, by" in text for kind, text in told)
    assert ("card", f"FLEET: {cards['card2-p0']['problems'][0]['reason']}") in told
    assert "1 not tested" in out
    assert front.left_behind() == []


def test_a_card_that_another_run_has_is_waited_for_aloud(front):
    """The other card is tested meanwhile; the messages name the options of the command line."""
    front.cards(2)
    line = [str(COMMAND), "qualify", "sim:card0-p0", "--tests", "test_mine.py", "--select", "MY-LONG", "--out", "other"]
    other = subprocess.Popen(line, cwd=front.path, env=front.env, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: (front.path / "begun-card0-p0").exists())
        code, out, err = front.run("--select", "MY-LAT", "--wait", "5s")
    finally:
        other.send_signal(signal.SIGINT)
        other.wait(60)
    assert code == 4, out + err
    said = f"sim:card0-p0 is in use by another run (process {other.pid}, since "
    assert any(each.endswith("at most 5 s; Ctrl-C ends that") and said in each for each in out.splitlines()), out
    [finding] = [each for each in front.document()["findings"] if each["kind"] == "card"]
    assert "give --wait more time, or use the device beside it by --force" in finding["text"]
    assert (finding["verdict"], finding["title"].split()[1]) == ("ERROR", "sim:card0-p0")
    assert "--pydoca-" not in out + (front.directory() / "report.html").read_text() + json.dumps(finding)


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_in_order_with_a_report_and_leaves_nothing(front, times):
    """The signal reaches all processes of the session, as from a terminal. A second one kills the cards' tests."""
    front.cards(5)
    process = front.start("--select", "MY-LONG")
    wait_for(lambda: len(list(front.path.glob("begun-*"))) == 2)
    assert front.listening() == {"0100007F"}, "only on loopback"
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    code, out, err = front.end(process)
    assert code == 2, out + err
    assert "Ctrl-C again ends them at once" in out
    document = front.document()
    assert document["exit_code"] == 2
    assert len(document["cards"]) == 5
    assert not any(each["verdict"] == "PASS" for each in document["cards"])
    assert sum(each["tested"] for each in document["cards"]) <= 2
    assert {each["verdict"] for each in document["cards"]} == {"INTERRUPTED"}
    kept = [front.directory() / each["directory"] for each in document["cards"] if each["directory"] is not None]
    assert len(kept) == 2, "what was measured is kept"
    for folder in kept:
        assert (json.loads((folder / "run.json").read_text())["verdict"], (folder / "report.html").is_file()) == (
            "INTERRUPTED", True,
        )  # fmt: skip
    assert "The run was interrupted" in (front.directory() / "report.html").read_text()
    assert front.left_behind() == []


def test_a_killed_front_end_leaves_no_process(front):
    front.cards(2)
    process = front.start("--select", "MY-LONG")
    wait_for(lambda: len(list(front.path.glob("begun-*"))) == 2)
    process.kill()
    front.end(process)
    wait_for(lambda: not front._processes(), 60)


LEAVING = """
import asyncio

from pydoca.qualify.fleet.cluster import LOCAL, connect


async def main():
    async with connect(LOCAL, 2) as cluster:
        scheduler = cluster.local.scheduler
        before = set(scheduler.workers)
        await cluster.local.workers[0].close()
        while len(scheduler.workers) < 2 or set(scheduler.workers) == before:
            await asyncio.sleep(0.05)
        print(len(before), len(before & set(scheduler.workers)))


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(), 200))
"""


def test_a_worker_of_a_local_cluster_that_leaves_for_good_has_a_successor(tmp_path):
    """The worker ends with its nanny, which would restart it otherwise, as if its connection to the scheduler broke."""
    program = tmp_path / "leaving.py"
    program.write_text(LEAVING)
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=240)
    assert (run.returncode, run.stdout) == (0, "2 1\n"), run.stderr
