"""In interpreters that pydoca does not support, the import fails at once with the reason."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "cpp" / "cmake" / "PydocaPython.cmake"


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=50, check=False)


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


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize(("is_disabled", "code"), [("1", 1), ("0", 0), ("None", 0)])
def test_no_module_is_built_for_a_free_threaded_build(tmp_path, is_disabled, code):
    python = tmp_path / "python3.14t"
    python.write_text(
        f"""#!/bin/sh
exec {sys.executable} -c "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = {is_disabled}; $2"
"""
    )
    python.chmod(0o755)
    (tmp_path / "check.cmake").write_text(f"include({CHECKS})\npydoca_require_gil({python})\n")
    ended = run("cmake", "-P", tmp_path / "check.cmake")
    assert ended.returncode == code
    assert ("is a free-threaded build" in " ".join(ended.stderr.split())) == (code != 0)
