"""The presets of cpp/CMakePresets.json: users need some, and developers others."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CPP = Path(__file__).resolve().parents[3] / "cpp"
PRESETS = {preset["name"]: preset for preset in json.loads((CPP / "CMakePresets.json").read_text())["configurePresets"]}
USERS = ["release", "bench"]
WITHOUT = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("GTest", "benchmark")]


def variables(name: str) -> dict[str, str]:
    """The variables that a preset sets or inherits."""
    preset = PRESETS[name]
    inherits = preset.get("inherits", [])
    found = dict(preset.get("cacheVariables", {}))
    for parent in [inherits] if isinstance(inherits, str) else inherits:
        found = variables(parent) | found
    return found


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("ninja")), reason="CMake or Ninja is not installed")
@pytest.mark.parametrize("preset", USERS)
def test_a_preset_of_users_needs_no_library_of_the_tests(tmp_path, preset):
    line = ["cmake", "--preset", preset, "-B", tmp_path, *WITHOUT]
    run = subprocess.run(line, cwd=CPP, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    cache = dict(re.findall(r"^(PYDOCA_\w+):\w+=(.*)$", (tmp_path / "CMakeCache.txt").read_text(), re.MULTILINE))
    assert cache["PYDOCA_WARNINGS_AS_ERRORS"] == cache["PYDOCA_BUILD_TESTS"] == "OFF"
    assert cache["PYDOCA_BUILD_BENCHMARKS"] == ("ON" if preset == "bench" else "OFF")


def test_warnings_are_errors_for_developers_only():
    shown = {name for name, preset in PRESETS.items() if not preset.get("hidden")}
    strict = {name for name in shown if variables(name).get("PYDOCA_WARNINGS_AS_ERRORS") == "ON"}
    assert shown - strict == set(USERS)
