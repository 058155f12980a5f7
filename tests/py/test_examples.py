"""Every example does what it says it does."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEXT = "What the host has to say."


def start(commands, name: str, *arguments: str) -> "subprocess.Popen[str]":
    line = [sys.executable, "-P", str(EXAMPLES / name), *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=commands.env)


def test_copy_local(commands):
    output, errors = (process := start(commands, "copy_local.py")).communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "Hello from the source buffer\n", "")


@pytest.mark.parametrize("order", [("host.py", "dpu.py"), ("dpu.py", "host.py")])
def test_host_and_dpu_in_either_order(commands, order):
    processes = {name: start(commands, name, *([TEXT] if name == "host.py" else [])) for name in order}
    ends = {name: (*process.communicate(timeout=30), process.returncode) for name, process in processes.items()}
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    assert ends["host.py"] == (f"the DPU read {len(TEXT)} bytes, SHA-256 {digest}\n", "", 0)
    assert ends["dpu.py"] == (f"{TEXT}\n", "", 0)


def test_the_copy_of_the_readme(commands):
    readme = (EXAMPLES.parent / "README.md").read_text()
    code = readme.split("```python\n")[1].split("```")[0]
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=30, env=commands.env
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "Hello from the source buffer\n", "")


def test_every_example_in_python_is_tested():
    tested = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tested] == []
