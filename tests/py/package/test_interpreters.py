"""The import fails at once with the reason in interpreters that pydoca does not support."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pydoca

FREE_THREADED = next(filter(None, map(shutil.which, ["python3.15t", "python3.14t", "python3.13t"])), None)
CHECKS = Path(__file__).resolve().parents[3] / "cpp" / "cmake" / "PydocaPython.cmake"


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=150, check=False)


def test_another_interpreter_than_the_main_one_is_refused():
    ended = run(
        sys.executable,
        "-c",
        """
try:
    import _interpreters as interpreters
    other = interpreters.create("legacy")
    failure = interpreters.exec(other, "import pydoca")
except ImportError:
    import _xxsubinterpreters as interpreters
    other = interpreters.create()
    try:
        failure = interpreters.run_string(other, "import pydoca")
    except interpreters.RunFailedError as error:
        failure = error
print(failure)
interpreters.destroy(other)
""",
    )
    assert not ended.stderr
    assert "main interpreter only" in ended.stdout


def test_an_isolated_interpreter_is_refused():
    interpreters = pytest.importorskip("concurrent.interpreters", reason="Python 3.14 brought them")
    other = interpreters.create()
    with pytest.raises(interpreters.ExecutionFailed, match="main interpreter only"):
        other.exec("import pydoca")
    other.close()


def test_a_free_threaded_build_is_refused():
    # Sets the values that mark such a build.
    ended = run(sys.executable, "-c", "import sys; sys.abiflags = 't'; import pydoca")
    assert ended.returncode == 1
    assert f"ImportError: pydoca needs Python's GIL, and {sys.executable} is a free-threaded build" in ended.stderr


@pytest.mark.skipif(FREE_THREADED is None, reason="no free-threaded interpreter is installed")
def test_a_real_free_threaded_build_is_refused():
    """It finds the package in its path; pip installs none for it."""
    site = Path(pydoca.__file__).parents[1]
    ended = run(FREE_THREADED, "-c", f"import sys; sys.path.append({str(site)!r}); import pydoca")
    assert ended.returncode == 1
    assert re.search("ImportError: pydoca needs Python's GIL, and .* is a free-threaded build", ended.stderr)


@pytest.fixture
def make_python(tmp_path):
    """Makes an interpreter whose build has that value of Py_GIL_DISABLED."""

    def make(is_disabled):
        python = tmp_path / "python3.14t"
        python.write_text(
            f"""#!/bin/sh
exec "{sys.executable}" -c "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = {is_disabled}; $2"
"""
        )
        python.chmod(0o755)
        return python

    return make


needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


@needs_cmake
@pytest.mark.parametrize(("is_disabled", "code"), [("1", 1), ("0", 0), ("None", 0)])
def test_no_module_is_built_for_a_free_threaded_build(tmp_path, make_python, is_disabled, code):
    (tmp_path / "check.cmake").write_text(
        f"include([[{CHECKS}]])\npydoca_require_gil([[{make_python(is_disabled)}]])\n"
    )
    ended = run("cmake", "-P", tmp_path / "check.cmake")
    assert ended.returncode == code
    assert ("is a free-threaded build" in " ".join(ended.stderr.split())) == (code != 0)


@needs_cmake
def test_a_free_threaded_build_is_refused_before_its_headers_are_missed(tmp_path, make_python):
    """pip names the interpreter, as here, and shows what CMake says."""
    lines = ["cmake_minimum_required(VERSION 3.25)", "project(test LANGUAGES NONE)", f"include([[{CHECKS}]])"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join([*lines, "pydoca_find_python()", ""]))
    ended = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DPython_EXECUTABLE={make_python('1')}")
    assert ended.returncode == 1
    assert "is a free-threaded build" in " ".join(ended.stderr.split())
    assert "Python.h" not in ended.stderr


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
hits = 0
for turn in range(40):
    if os.fork() == 0:
        hit = 0
        signal.setitimer(signal.ITIMER_REAL, 0.001 * (turn + 1))
        try:
            import pydoca
        except KeyboardInterrupt:
            hit = 7
        signal.setitimer(signal.ITIMER_REAL, 0)
        import pydoca
        with pydoca.open_device("03:00.0"), pydoca.ProgressEngine():
            os._exit(hit)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    assert code in (0, 7), turn
    hits += code == 7
print(hits)
"""


def test_an_interrupted_import_can_be_repeated(commands):
    line = [sys.executable, "-c", INTERRUPTED]
    run = subprocess.run(line, capture_output=True, text=True, timeout=150, env=commands.env)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 5, "too few of the interrupts came while it was imported"
