"""Workers of pytest-xdist do not meet by name: the plug-in gives each of them a simulated fabric."""

import pytest

pytest_plugins = ["pytester"]
pytest.importorskip("xdist")
pytestmark = pytest.mark.slow

# Each test waits in its body until the other one has also come there.
MEETING = """
import contextlib, pathlib, time
import pytest
import pydoca
from pydoca import comch

@pytest.mark.parametrize("own", ["one", "two"])
def test_serves(own):
    dpu = pydoca.open_device("03:00.0", side="dpu")
    with contextlib.ExitStack() as stack:
        try:
            pe = stack.enter_context(pydoca.ProgressEngine())
            stack.enter_context(comch.Server(pe, dpu, dpu.open_representor("0b:00.0"), "service"))
        finally:
            pathlib.Path(own).write_text(pydoca.sim.fabric())
        end = time.monotonic() + 20
        while len(list(pathlib.Path().glob("[ot][nw][eo]"))) < 2 and time.monotonic() < end:
            time.sleep(0.01)
"""


def run(pytester: pytest.Pytester) -> pytest.RunResult:
    pytester.makepyfile(MEETING)
    line = ["-pno:cacheprovider", "-pno:hypothesispytest", "-n", "2", "--dist", "load"]
    return pytester.runpytest_subprocess(*line, timeout=150)


def fabrics(pytester: pytest.Pytester) -> set[str]:
    return {(pytester.path / name).read_text() for name in ("one", "two")}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("PYDOCA_FABRIC", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)


def test_the_same_name_serves_in_each_worker(pytester):
    run(pytester).assert_outcomes(passed=2)
    assert len(fabrics(pytester)) == 2
    assert "default" not in fabrics(pytester)


def test_a_fabric_that_the_environment_names_is_that_of_all(pytester, monkeypatch):
    monkeypatch.setenv("PYDOCA_FABRIC", f"told-{pytester.path.name}"[:60])
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*AlreadyExistError*"])
