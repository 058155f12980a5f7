"""The commands on the pages run as they are printed, and print what the pages show below them.

Two lists name the commands that this file does not run: those of another test, and those that no test runs.
"""

import fnmatch
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from printed import ALL_PAGES, DOCS, README, ROOT, code_in_text, consoles_of

# The beginning of each command, and the test that runs such a command.
RUN_ELSEWHERE = {
    "cmake ": "package/test_engine_from_cpp.py::test_the_engine_is_built_installed_and_used_as_printed",
    "app/build/app": "package/test_engine_from_cpp.py::test_the_engine_is_built_installed_and_used_as_printed",
    "pydoca sdk ": "package/test_c_programs.py::test_the_pages_print_what_happens",
    "cc ": "package/test_c_programs.py::test_the_pages_print_what_happens",
    "./devices": "package/test_c_programs.py::test_the_pages_print_what_happens",
    "pydoca qualify sim:p0": "cli/test_cli_qualify.py::test_a_device_is_tested_and_pytest_gives_the_same_codes",
    "pydoca qualify compare": "qualify/reports/test_commands_of_runs.py::test_compare_writes_json_and_a_page",
    "pydoca qualify train": "qualify/reports/test_commands_of_runs.py::test_train_writes_a_limits_file",
    "pydoca qualify study": (
        "qualify/reports/test_commands_of_runs.py::test_study_compares_the_spread_with_the_tolerance"
    ),
    "pydoca qualify --fleet": "qualify/fleet/test_fleet_processes.py::test_one_bad_card_among_equal_ones_is_marked",
    "pydoca qualify 'sim:card*-p0' --fleet": (
        "qualify/fleet/test_fleet_processes.py::test_a_worker_of_a_local_cluster_that_leaves_for_good_has_a_successor"
    ),
    "pydoca rdma-lab ibv_devices": "cli/test_rdma_lab.py::test_output_and_status_of_a_command_come_back",
    "pydoca rdma-lab --pair --results out sh": "cli/test_rdma_lab.py::test_a_pair_of_devices_and_a_report",
    "pydoca rdma-lab --pair --results out -- pydoca": (
        "rdma/test_rdma_qualify.py::test_its_rdma_passes_the_qualification"
    ),
    "pytest examples/test_my_card.py": "documentation/test_examples.py::test_my_card",
}
# The beginning of each command and the reason; code in sentences is included.
NOT_RUN = {
    "apt-get install": "installs packages of the machine; test_engine_from_cpp.py compares the list with the scripts'",
    "pip install": "needs a package index; script/test and script/wheels install the package with its extras",
    "script/demo": "makes the environment anew in which the tests run",
    "script/test": "it runs the tests",
    "docker ": "needs a container runtime; test_namespaces.py makes such containers by unshare",
    "dask ": "needs two hosts; qualify/test_fleet_processes.py starts scheduler and workers on one",
    "pytest --pyargs": "takes two minutes; pytest with these options is run by test_cli_qualify.py",
    "python3 -m venv": "makes an environment; script/test does so before its tests",
    ". .venv/bin/activate": "changes the reader's shell only",
    ".venv/bin/jupyter lab": "serves until it is ended; script/screenshots drives such a server",
    "jupyter lab": "the same, in an environment of the reader's",
    "PYDOCA_SEED=17 script/soak": "runs for minutes; its drivers have tests of seconds",
    "PYTHONPATH=tests/py .venv/bin/python -m soak": "runs as long as it is told; its drivers have tests of seconds",
    "PYDOCA_STRESS_SECONDS=600": "takes ten minutes; ctest runs the models for seconds",
    "build/dev/tests/model_test": "needs the build of the part cpp, whose ctest runs it",
    "cmake --preset fuzz": "builds libFuzzer's executable; script/soak fuzz does so, too",
    "PYDOCA_FUZZ_TARGET=": "runs until it is ended; script/soak fuzz does so for a time",
    "git tag": "releases",
    "python -W error": "is an option for the reader's program",
}
IN_NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true"]
if subprocess.run(IN_NAMESPACES, stderr=subprocess.DEVNULL).returncode != 0:
    NOT_RUN["unshare "] = "needs root, and a root directory that is a mount"

# Two commands that meet: they follow each other on a page, and run at the same time.
HALVES = ("pydoca copy --side", "pydoca copy --transport", "pydoca sync-event", "unshare ")
# The port of the page may be in use.
PORT = re.compile(r"(?<=--listen )5000|(?<=localhost:)5000")
VARYING = re.compile(r"\d+(?= (?:bytes|us)\b)")
PROGRAMS = ("cmake", "ctest", "pip", "pytest", "python3?", "docker", "dask", "git", "unshare", "jupyter", "apt-get")
IS_COMMAND = re.compile(
    rf"(?:[A-Z_]+=\S+ |sudo |\. )*(?:(?:\S*/)?(?:{'|'.join(PROGRAMS)}) |(?:app|build)/\S+ |\S+/activate)"
)


def is_listed(command: str) -> bool:
    return command.startswith((*RUN_ELSEWHERE, *NOT_RUN))


def written(page: Path) -> list[str]:
    return [command for block in consoles_of(page) for command, _ in block.commands()]


@dataclass
class Terminal:
    """Runs a page's commands one after another, two halves at a time, in a directory of its own."""

    commands: object
    port: int
    exports: list[str] = field(default_factory=list)

    def start(self, command: str):
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        script = "\n".join([*self.exports, PORT.sub(str(self.port), command)])
        return self.commands.start_program(
            ["bash", "-ec", script], {**self.commands.env, "PATH": path}, cwd=self.commands.directory
        )

    def run(self, together: list[tuple[str, str]]) -> None:
        with ExitStack() as stack:
            processes = [stack.enter_context(self.start(command)) for command, _ in together]
            for process in processes:
                stack.callback(process.kill)
            for (command, shown), process in zip(together, processes, strict=True):
                output, errors = process.communicate(timeout=150)
                assert process.returncode == 0, f"{command}: {errors}"
                check_shown(shown, output)
        self.exports += [command for command, _ in together if command.startswith("export ")]


def check_shown(shown: str, output: str) -> None:
    """Checks that each line of the page is printed; "..." means any text. Times and sizes depend on the machine."""
    printed = [VARYING.sub("N", line) for line in output.splitlines()]
    for line in shown.splitlines():
        pattern = VARYING.sub("N", line).replace("[", "[[]").replace("...", "*")
        assert line == "..." or any(fnmatch.fnmatchcase(each, pattern) for each in printed), (line, output)


def steps(page: Path) -> list[list[tuple[str, str]]]:
    """The steps of a page: single commands, and pairs of halves."""
    found: list[list[tuple[str, str]]] = []
    for command, shown in (each for block in consoles_of(page) for each in block.commands()):
        if is_listed(command):
            continue
        if command.startswith(HALVES) and found and len(found[-1]) == 1 and found[-1][0][0].startswith(HALVES):
            found[-1].append((command, shown))
        else:
            found.append([(command, shown)])
    return found


PAGES_WITH_STEPS = [page for page in ALL_PAGES if steps(page)]


@pytest.mark.parametrize("page", PAGES_WITH_STEPS, ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_commands_print_what_the_page_says(commands, unused_port, page):
    terminal = Terminal(commands, unused_port)
    for together in steps(page):
        assert len(together) == 2 or not together[0][0].startswith(HALVES), together
        terminal.run(together)


def test_the_steps_are_found():
    assert {README, DOCS / "start.md", DOCS / "how-to/rdma.md", DOCS / "how-to/signal.md"} <= set(PAGES_WITH_STEPS)
    assert sum(len(together) for page in PAGES_WITH_STEPS for together in steps(page)) >= 10
    text = "".join(page.read_text() for page in ALL_PAGES)
    assert sum(map(len, map(written, ALL_PAGES))) == len(re.findall(r"^\$ ", text, re.MULTILINE))


def test_each_exception_is_on_a_page():
    told = [*(command for page in ALL_PAGES for command in written(page) + code_in_text(page))]
    assert [start for start in (*RUN_ELSEWHERE, *NOT_RUN) if not any(each.startswith(start) for each in told)] == []


@pytest.mark.parametrize("start", RUN_ELSEWHERE)
def test_what_is_run_elsewhere_has_its_test(start):
    file, name = RUN_ELSEWHERE[start].split("::")
    assert f"def {name}(" in (ROOT / "tests/py" / file).read_text()


OPTIONS = [line.split("#")[0].split() for line in (ROOT / "tests/py/command_lines.txt").read_text().splitlines()]
COMMANDS = {" ".join(words[: words.index(each)]) for words in OPTIONS for each in words[1:] if each[0] == "-"}


def options_of(command: str) -> set[str]:
    count = len(command.split())
    lines = [words for words in OPTIONS if words[:count] == command.split()]
    return {word.rstrip(",") for words in lines for word in words[count:] if word[0] == "-"}


def fault_of_pydoca(line: str) -> str:
    """Returns the command or option in a synopsis that does not exist; empty if all exist."""
    words = re.sub(r"[][|]", " ", re.split(r" -- | \| ", line)[0]).split()
    command = max((each for each in COMMANDS if words[: len(each.split())] == each.split()), key=len, default="pydoca")
    rest = words[len(command.split()) :]
    unknown = [word for word in rest if word.startswith("-") and word.split("=")[0] not in options_of(command)]
    known = command != "pydoca" or not rest or rest[0][0] == "-" or rest[0].isupper()
    return "" if known and not unknown else f"{line}: {command} has no {unknown or rest[:1]}"


def fault_of_script(line: str) -> str:
    """Returns the fault of a line that names a script: a missing file, or a word that the script does not know."""
    name, *words = line.split()
    path = ROOT / name
    if not path.is_file():
        return f"{line}: there is no {name}"
    text = path.read_text()
    words = [word for before, word in zip([name, *words], words, strict=False) if before[:2] != "--"]
    known = [word for word in words if re.fullmatch(r"-*[a-z][a-z-]*", word)]
    return next((f"{line}: {name} does not know {word}" for word in known if word not in text), "")


def fault_of(line: str) -> str:
    if line.startswith("script/"):
        return fault_of_script(line)
    if re.match(r"pydoca [-\w]", line):
        return fault_of_pydoca(line)
    if is_listed(line):
        return ""
    if line.startswith(".venv/bin/python "):  # a program of the tree, which its own test runs
        return "" if (ROOT / line.split()[1]).is_file() else f"{line}: there is no such program"
    return f"{line}: is neither run nor in a list" if IS_COMMAND.match(line) else ""


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_commands_in_sentences_are_known(page):
    assert [fault for fault in map(fault_of, code_in_text(page)) if fault] == []


@pytest.mark.parametrize(
    "line",
    [
        *("pydoca cpoy A B", "pydoca copy --trance FILE", "script/nothing", "script/test quikc", "script/docs --chekc"),
        *("pip uninstall pydoca", "CXX=g++ ctest -j", "sudo apt-get remove", "git push --force", ". a/activate"),
    ],
)
def test_a_wrong_command_is_found(line):
    assert fault_of(line)


def test_what_is_written_differently_is_found():
    check_shown("a 12 us later\n...\n/bin/x: 3...\n", "a 9 us later\n/bin/x: 345\n")
    with pytest.raises(AssertionError):
        check_shown("b 12 us later\n", "a 12 us later\n")
