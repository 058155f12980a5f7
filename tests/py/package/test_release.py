"""Every statement of a fact of the release agrees: version, changelog, supported Pythons, public CI."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

import pydoca

ROOT = Path(__file__).resolve().parents[3]
HEADER = ROOT / "cpp/include/pydoca/version.hpp"
CMAKE = ROOT / "cpp/CMakeLists.txt"
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
SCRIPT_TEST, SCRIPT_WHEELS = ((ROOT / "script" / name).read_text() for name in ("test", "wheels"))
SUPPORT = (ROOT / "docs/support.md").read_text()
STATED = re.search(r'return "(.+)"', HEADER.read_text())[1]
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]  # the order of Keep a Changelog


def released_version(line: str) -> str | None:
    """The wheel's version when version.hpp has this line."""
    found = re.search(PYPROJECT["tool"]["scikit-build"]["metadata"]["version"]["regex"], line)
    return found["value"] if found else None


def header_of(text: str) -> str:
    return HEADER.read_text().replace(f'"{STATED}"', f'"{text}"')


def test_one_line_states_the_version():
    assert str(Version(STATED)) == STATED
    assert version("pydoca") == pydoca.__version__ == STATED == released_version(HEADER.read_text())


@pytest.mark.parametrize("text", ["1.2.0", "0.2.0rc1", "0.2.0.dev1", "10.0.3a1", "1.0.0b2.dev3", "1.2.3.post1"])
def test_a_pre_release_is_a_version(text):
    assert str(Version(text)) == text
    assert released_version(header_of(text)) == text


@pytest.mark.parametrize("text", ["0.2", "v1.0.0", "0.2.0-rc1", "0.2.0RC1", "1.0.0.beta2", "1.0.0rc", ""])
def test_another_spelling_is_refused(text):
    assert released_version(header_of(text)) is None


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.parametrize("text", [STATED, "0.2.0rc1", "1.20.3.dev4"])
def test_cmake_takes_the_numbers_of_a_version(tmp_path, text):
    lines = [line for line in CMAKE.read_text().splitlines() if re.match(r"(file|string)\(.*pydoca_version", line)]
    assert len(lines) == 2
    header = tmp_path / "include/pydoca/version.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(header_of(text))
    (tmp_path / "version.cmake").write_text("\n".join([*lines, 'message("${pydoca_version}")']))
    run = subprocess.run(["cmake", "-P", "version.cmake"], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stderr) == (0, f"{Version(text).base_version}\n")


def faults_of_changelog(text: str, stated: str = STATED, tags: set[str] | None = None) -> Iterator[str]:
    """Faults of the text: what Keep a Changelog does not allow, and what a release has forgotten."""
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    if heads[:1] != ["[Unreleased]"]:
        yield "the first section is not [Unreleased]"
    releases = [match for head in heads if (match := re.fullmatch(r"\[(\d\S*)\] - (\d{4}-\d\d-\d\d)", head))]
    yield from (f"no version and day: {head}" for head in heads[1:] if head not in [match[0] for match in releases])
    yield from (f"no day: {match[0]}" for match in releases if not is_day(match[2]))
    versions = [Version(match[1]) for match in releases]
    if versions != sorted(set(versions), reverse=True):
        yield "the newest release is not the first one"
    if versions and versions[0] > Version(stated):
        yield f"{versions[0]} is newer than version.hpp's {stated}"
    if f"v{stated}" in (tags or set()) and Version(stated) not in versions:
        yield f"v{stated} is tagged, and has no section"
    yield from faults_of_groups(text)


def is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def faults_of_groups(text: str) -> Iterator[str]:
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        head, groups = section.partition("\n")[0], re.findall(r"^### (.*)$", section, re.MULTILINE)
        yield from (f"{head}: no group is called {group}" for group in groups if group not in SECTIONS)
        known = [group for group in groups if group in SECTIONS]
        if known != sorted(set(known), key=SECTIONS.index):
            yield f"{head}: the order is {', '.join(SECTIONS)}"


def git(*arguments: str) -> str:
    """The output of git; empty if the sources are not a clone."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return ""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def tags_of(*options: str) -> set[str]:
    return {tag for tag in git("tag", "--list", "v*", *options).split() if re.match(r"v\d", tag)}


def tags_of_this_commit() -> set[str]:
    """The tags of this commit. A runner of the public CI may have the commit only; it names the tag that started it."""
    named = {os.environ["GITHUB_REF_NAME"]} if os.environ.get("GITHUB_REF_TYPE") == "tag" else set()
    return named | tags_of("--points-at", "HEAD")


def test_the_changelog_is_kept():
    assert list(faults_of_changelog(CHANGELOG, tags=tags_of() | tags_of_this_commit())) == []


def test_a_tag_is_that_of_the_version():
    assert tags_of_this_commit() <= {f"v{STATED}"}


def test_a_runner_that_has_no_tags_knows_the_one_that_it_was_started_for(monkeypatch):
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    monkeypatch.setenv("GITHUB_REF_NAME", "v0.0.0")
    assert "v0.0.0" in tags_of_this_commit()


GOOD = "# Changelog\n## [Unreleased]\n## [1.1.0] - 2026-02-01\n### Added\n### Fixed\n## [1.1.0rc1] - 2026-01-30\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (GOOD, None),
        (GOOD.replace("[Unreleased]", "[2.0.0] - 2026-03-01", 1), "the first section is not [Unreleased]"),
        (GOOD.replace(" - 2026-02-01", ""), "no version and day: [1.1.0]"),
        (GOOD.replace("2026-02-01", "2026-02-30"), "no day: [1.1.0] - 2026-02-30"),
        (GOOD.replace("1.1.0rc1", "1.2.0"), "the newest release is not the first one"),
        (GOOD.replace("[1.1.0]", "[1.1.2]"), "1.1.2 is newer than version.hpp's 1.1.1"),
        (GOOD.replace("Added", "New"), "[1.1.0] - 2026-02-01: no group is called New"),
        (GOOD + "### Security\n### Added\n", f"[1.1.0rc1] - 2026-01-30: the order is {', '.join(SECTIONS)}"),
    ],
)
def test_a_fault_of_the_changelog_is_found(text, fault):
    assert fault in [*faults_of_changelog(text, "1.1.1"), None]
    assert bool(list(faults_of_changelog(text, "1.1.1"))) == bool(fault)


def test_a_tagged_version_needs_a_section():
    assert list(faults_of_changelog(GOOD, "1.1.1", {"v1.1.0"})) == []
    assert list(faults_of_changelog(GOOD, "1.1.1", {"v1.1.1"})) == ["v1.1.1 is tagged, and has no section"]


def pythons() -> list[str]:
    return [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]


def test_the_same_pythons_are_supported_everywhere():
    minors = re.search(r"^minors=\((.*)\)$", SCRIPT_WHEELS, re.MULTILINE)[1].split()
    assert (
        pythons() == [f"3.{minor}" for minor in minors] == workflow()["jobs"]["wheels"]["strategy"]["matrix"]["python"]
    )
    assert PROJECT["requires-python"] == f">={pythons()[0]}"
    assert f"CPython {pythons()[0]} to {pythons()[-1]}" in SUPPORT
    assert f"Python {pythons()[0]} to {pythons()[-1]}" in (ROOT / "README.md").read_text()


def test_the_page_of_support_says_which_systems_wheels_are_for():
    glibc = re.search(r"^platform=manylinux_(\d+)_(\d+)_", SCRIPT_WHEELS, re.MULTILINE)
    assert f"glibc {glibc[1]}.{glibc[2]} or newer" in SUPPORT


def test_each_extra_of_users_is_on_the_page_of_the_start():
    named = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/start.md").read_text(), re.MULTILINE))
    of_developers = {"screenshots", "docs", "wheels", "lint"}
    assert named == PROJECT["optional-dependencies"].keys() - of_developers


def workflow() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())


def steps() -> Iterator[dict[str, Any]]:
    for job in workflow()["jobs"].values():
        yield from job["steps"]


def test_the_public_ci_runs_scripts_of_the_project_only():
    commands = [line.split() for step in steps() for line in step.get("run", "").splitlines()]
    assert {words[0] for words in commands} == {"script/test", "script/wheels"}
    assert all(os.access(ROOT / words[0], os.X_OK) for words in commands)
    of_wheels = re.search(r"^all_parts=\((.*)\)$", SCRIPT_WHEELS, re.MULTILINE)[1].split()
    assert {part for script, *parts in commands for part in parts if script == "script/wheels"} <= set(of_wheels)
    # An expression in a shell line would insert text of the event, which anybody may have written.
    assert not any("${{" in step.get("run", "") for step in steps())


def test_the_public_ci_runs_every_part():
    parts = re.search(r"^default_parts=\((.*)\)$", SCRIPT_TEST, re.MULTILINE)[1].split()
    assert workflow()["jobs"]["test"]["strategy"]["matrix"]["part"] == [*parts, "engine", "sdk"]


def test_the_public_ci_may_read_only_and_has_no_secret():
    assert workflow()["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow()["jobs"].values())
    assert "secrets." not in (ROOT / ".github/workflows/ci.yml").read_text()
    checkouts = [step for step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    actions = {step["uses"] for step in steps() if "uses" in step}
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in actions), actions
