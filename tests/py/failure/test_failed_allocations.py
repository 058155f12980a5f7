"""Each allocation of C++ code fails in turn, in programs that run in interpreters of their own."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SOURCES = ("failing_allocations.cpp", "injection.cpp")
WHOLE = os.environ.get("PYDOCA_SWEEP") == "1"
STRIDE = 1 if WHOLE else 23


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that replaces operator new."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    include = TESTS.parent / "cpp"
    sources = [TESTS / "failure" / "failing.cpp", *(include / "failure" / name for name in SOURCES)]
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", f"-I{include}"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(library)], check=True, timeout=120)
    return library


# comch is excluded: if memory never returns, nothing ends the server of a program that drops it.
CASES = [(name, one) for name in ("dma", "event", "rdma", "graph") for one in (True, False)] + [("comch", True)]


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "one"), CASES, ids=lambda value: value if isinstance(value, str) else None)
def test_a_failed_allocation_is_a_memory_error(failing: Path, scenario: str, one: bool) -> None:
    first = random.SystemRandom().randint(1, STRIDE)
    command = [
        sys.executable,
        str(TESTS / "failure" / "sweep.py"),
        scenario,
        str(first),
        str(STRIDE),
        str(int(not one)),
    ]
    env = {**os.environ, "LD_PRELOAD": str(failing), "PYDOCA_FAILING": str(failing)}
    child = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900 if WHOLE else 100, check=False)
    numbers = child.stdout.split()
    assert child.returncode == 0, f"n = {numbers[-1:]} (first {first}, stride {STRIDE}):\n{child.stderr}"
    assert len(numbers) > 2
