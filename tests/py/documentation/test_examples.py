"""Every example does what its description says."""

import ast
import hashlib
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PROGRAMS = sorted(path for path in EXAMPLES.glob("*.py") if not path.name.startswith("test_"))
TEXT = "What the host has to say."


def start(commands, name: str, *arguments: str) -> "subprocess.Popen[str]":
    line = [sys.executable, "-P", str(EXAMPLES / name), *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=commands.env)


def test_copy_local(commands):
    output, errors = (process := start(commands, "copy_local.py")).communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "Hello from the source buffer\n", "")


def test_steps_of_c(commands):
    output, errors = (process := start(commands, "steps_of_c.py")).communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "RUNNING\nIDLE\nHello from the source buffer\n", "")


def test_sha_local(commands):
    output, errors = (process := start(commands, "sha_local.py")).communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, f"{hashlib.sha256(b'abc').hexdigest()}\n", "")


def test_decompress_local(commands):
    output, errors = (process := start(commands, "decompress_local.py")).communicate(timeout=30)
    text = "Twinkle, twinkle, little star, how I wonder what you are! " * 3
    assert (process.returncode, output, errors) == (0, f"{text}\nCRC-32 0xdb61e989, zlib's 0xdb61e989\n", "")


def test_clock_local(commands):
    output, errors = (process := start(commands, "clock_local.py", "--seconds", "0.01")).communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    number = r"[+-]\d+\.\d+"
    told = rf"pf0 drifts by {number} ppm, and its time of day is {number} ms off, give or take \d+ ns\n"
    assert re.fullmatch(told, output)


def test_my_card(commands):
    """The example runs without pytest-timeout, whose option is in the project's pyproject.toml."""
    without = [f"-pno:{plugin}" for plugin in ("cacheprovider", "timeout", "hypothesispytest")]
    line = [sys.executable, "-P", "-m", "pytest", "-q", *without, str(EXAMPLES / "test_my_card.py")]
    line += ["--pydoca-device=sim:p0", "--pydoca-level=smoke"]
    ran = subprocess.run(line, capture_output=True, text=True, env=commands.env, cwd=commands.directory, timeout=60)
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"PASS +MY-PAGE", ran.stdout)
    assert re.search(r"PASS +my.page +p50 .* µs", ran.stdout)
    assert list(commands.directory.glob("runs/*/report.html"))


def test_faults_local(commands):
    output, errors = (process := start(commands, "faults_local.py")).communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert output == (
        "without a check: the copy is wrong\n"
        "pydoca.faults.FaultRule('corrupt', 'dma.memcpy', device='p0', nth=1): 1 matched, 1 triggered\n"
        "a copy was wrong, and is repeated\n"
        "with a check: the copy is sound\n"
    )


def test_dpa_local(commands):
    output, errors = (process := start(commands, "dpa_local.py", "20", "22")).communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "the DPA of pf0 says 42\n", "")


def test_graph_local(commands):
    output, errors = (process := start(commands, "graph_local.py")).communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, f"{hashlib.sha256(b'abc').hexdigest()}\n", "")


def test_graph_pipeline(commands):
    output, errors = (process := start(commands, "graph_pipeline.py", "--messages", "50", "--size", "100")).communicate(
        timeout=30
    )
    assert (process.returncode, errors) == (0, "")
    assert re.fullmatch(r"50 messages of 100 bytes, SHA-256 of their digests [0-9a-f]{64}, \d+\.\d+ s\n", output)


def test_workq(commands):
    output, errors = (process := start(commands, "workq.py")).communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert output == (
        "polling: job 1 ended with SUCCESS: This is a sample piece of text\n"
        "event-driven: job 2 ended with SUCCESS: This is a sample piece of text\n"
        "failing: job 3 ended with IO_FAILED\n"
    )


@pytest.mark.parametrize("order", [("host.py", "dpu.py"), ("dpu.py", "host.py")])
def test_host_and_dpu_in_either_order(commands, order):
    processes = {name: start(commands, name, *([TEXT] if name == "host.py" else [])) for name in order}
    ends = {name: (*process.communicate(timeout=30), process.returncode) for name, process in processes.items()}
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    assert ends["host.py"] == (f"waiting for dpu.py\nthe DPU read {len(TEXT)} bytes, SHA-256 {digest}\n", "", 0)
    assert ends["dpu.py"] == (f"waiting for host.py\n{TEXT}\n", "", 0)


@pytest.mark.parametrize("mode", [[], ["--async"]], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("first", ["sync_event_local.py", "sync_event_remote.py"])
def test_two_processes_signal_each_other_in_either_order(commands, first, mode):
    names = sorted(["sync_event_local.py", "sync_event_remote.py"], key=lambda name: name != first)
    processes = {name: start(commands, name, *mode) for name in names}
    ends = {name: (*process.communicate(timeout=30), process.returncode) for name, process in processes.items()}
    assert ends["sync_event_local.py"] == ("waiting for sync_event_remote.py\nthe DPU answered 20\n", "", 0)
    assert ends["sync_event_remote.py"] == ("waiting for sync_event_local.py\nthe host signalled 10\n", "", 0)


def test_one_event_has_several_subscribers(commands):
    process = start(commands, "sync_event_subscribers.py", "2", "50")
    output, errors = process.communicate(timeout=40)
    assert (process.returncode, errors) == (0, "")
    assert output == "2 subscribers acknowledged 50 rounds: 100 in all\n"


@pytest.mark.parametrize("rounds", [1, 2, 3, 20])
def test_events_pace_a_pipeline(commands, rounds):
    size = 64 << 10
    process = start(commands, "sync_event_pipeline.py", str(rounds), str(size))
    output, errors = process.communicate(timeout=40)
    assert (process.returncode, errors) == (0, "")
    digest = hashlib.sha256(b"".join(k.to_bytes(8, "little") * (size // 8) for k in range(1, rounds + 1))).hexdigest()
    assert output.startswith(f"{rounds} buffers, {rounds * size} bytes in ")
    assert output.endswith(f"SHA-256 {digest}\n")


def test_counters_are_exported_for_prometheus(commands):
    process = start(commands, "metrics.py", "--rounds", "25", "--seconds", "60")
    try:
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(url.removesuffix("metrics"), timeout=30)
        refused.value.close()
    finally:
        process.kill()
        process.communicate()
    values = dict(line.rsplit(" ", 1) for line in lines)
    assert values['pydoca_tasks_total{context="dma",outcome="completed"}'] == "25"
    assert values['pydoca_tasks_total{context="dma",outcome="failed"}'] == "0"
    assert values['pydoca_tasks_in_flight{context="dma"}'] == "0"
    assert {"pydoca_engine_sleeps_total", "pydoca_engine_wake_ups_total", "pydoca_engine_vain_looks_total"} <= set(
        values
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["0", "8"], "'0' is not a number of rounds"),
        (["many"], "'many' is not a number of rounds"),
        (["3", "12"], "'12' is not a size: a multiple of 8"),
        (["3", "0"], "'0' is not a size"),
        (["3", str(1 << 40)], "is not a size"),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused(commands, arguments, part):
    output, errors = (process := start(commands, "sync_event_pipeline.py", *arguments)).communicate(timeout=30)
    assert (process.returncode, output) == (2, "")
    assert part in errors.splitlines()[-1]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_every_example_tells_its_usage(commands, path):
    output, errors = (process := start(commands, path.name, "--help")).communicate(timeout=30)
    if path.name == "rdma_bridge.py" and process.returncode != 0:  # pyverbs is not installed
        output = errors
    assert output.startswith(f"usage: {path.name}")
    assert " ".join(ast.get_docstring(ast.parse(path.read_text())).split()) in " ".join(output.split())


@pytest.mark.parametrize(
    "name", ["rdma_bridge.py", "rdma_client.py", "rdma_event_local.py", "rdma_event_remote.py", "rdma_server.py"]
)
def test_an_example_without_its_arguments_tells_its_usage(commands, name):
    output, errors = (process := start(commands, name)).communicate(timeout=30)
    assert (process.returncode != 0, output) == (True, "")
    assert errors.startswith(f"usage: {name} ")
    assert "Traceback" not in errors


def test_every_example_in_python_is_tested():
    files = [Path(__file__), *Path(__file__).parents[1].glob("rdma/*.py")]
    tested = "".join(file.read_text() for file in files)
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tested] == []
