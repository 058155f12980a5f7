"""`pydoca qualify`: the front end of pytest's plug-in."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CASES = """
import pytest

@pytest.mark.pydoca_case("A-1", title="the first")
def test_first(pydoca_device, pydoca_measure):
    pydoca_measure.record("a.count", 3, unit="1", max=5)

@pytest.mark.pydoca_case("B-2")
@pytest.mark.pydoca_needs("sha")
def test_second(pydoca_device):
    pass

@pytest.mark.pydoca_case("C-3", levels=("full",))
def test_third(pydoca_device):
    assert False
"""


@pytest.fixture
def qualify(commands):
    (commands.directory / "test_mine.py").write_text(CASES)

    def qualify(*words, **options):
        return commands.run("qualify", *words, **options)

    return qualify


def test_a_device_is_tested_and_pytest_gives_the_same_codes(qualify, commands):
    for level, code, verdict in [("quick", 0, "PASS"), ("full", 1, "FAIL")]:
        run = qualify("sim:p0", "--level", level, "--tests", "test_mine.py", "--out", level)
        assert run.returncode == code, run.stdout + run.stderr
        (state,) = commands.directory.glob(f"{level}/*/run.json")
        assert json.loads(state.read_text())["verdict"] == verdict
        line = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-pno:hypothesispytest", "test_mine.py"]
        line += ["--pydoca-device=sim:p0", f"--pydoca-level={level}", f"--pydoca-out={level}"]
        process = commands.start_program(line, cwd=commands.directory)
        assert (process.communicate(timeout=150), process.returncode)[1] == code


def test_json_is_the_record_of_the_run_and_progress_is_on_standard_error(qualify):
    run = qualify("run", "sim:p0", "--json", "--tests", "test_mine.py", "--seed", "4")
    document = json.loads(run.stdout)
    (record,) = document["runs"]
    assert (document["exit_code"], record["verdict"], record["seed"], record["level"]) == (0, "PASS", 4, "quick")
    assert [(case["id"], case["verdict"]) for case in record["cases"]] == [("A-1", "PASS"), ("B-2", "SKIPPED")]
    assert record["cases"][0]["measurements"][0]["value"] == 3
    assert "[1/2] PASS     A-1" in run.stderr


def test_json_of_a_run_that_did_not_begin_says_why(qualify):
    for words, code, kind, text in (
        (["p9"], 4, "usage", "there is no device 'p9'"),
        (["sim:p0", "--select", "nope and nothing"], 5, "nothing_tested", "nothing tested"),
        (["--tests", "test_mine.py"], 4, "usage", "choose a device behind 'pydoca qualify': sim:pf0"),
        (["--fleet", "--limits", "absent.toml"], 4, "usage", "absent.toml: the limits file cannot be read"),
    ):
        document = json.loads(qualify(*words, "--json").stdout)
        reason = document.pop("reason")
        assert (document, reason["kind"]) == ({"exit_code": code, "runs": []}, kind)
        assert reason["text"].startswith(text)
    document = json.loads(qualify("plan", "p9", "--json").stdout)
    assert (document["exit_code"], document["reason"]["kind"]) == (4, "usage")


def test_a_plan_names_cases_times_and_skips(qualify, commands):
    run = qualify("plan", "sim:p0", "--json", "--tests", "test_mine.py", "--repeat", "2")
    plan = json.loads(run.stdout)
    assert (run.returncode, plan["level"], plan["repeat"], plan["devices"]) == (0, "quick", 2, ["sim:p0"])
    assert plan["other_levels"] == ["C-3"]
    assert [(case["id"], case["skip"]) for case in plan["cases"]] == [
        ("A-1", None),
        ("B-2", "p0 has no sha: only a BlueField-2 has a SHA engine"),
    ]
    assert plan["seconds"] == pytest.approx(2 * plan["cases"][0]["seconds"], abs=0.01)
    assert not (commands.directory / "runs").exists()


def test_select_names_cases_by_their_id(qualify):
    run = qualify("plan", "sim:p0", "--json", "--tests", "test_mine.py", "--select", "B-2")
    assert [case["id"] for case in json.loads(run.stdout)["cases"]] == ["B-2"]


def test_the_plan_of_the_suite_has_its_cases(qualify):
    run = qualify("plan", "sim:p0", "--json")
    ids = {case["id"] for case in json.loads(run.stdout)["cases"]}
    assert {"INV-1", "DMA-1", "DMA-BW", "SHA-1", "COM-RTT", "GRF-1", "GRF-2"} <= ids


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nonsense"], "pydoca qualify run: error: unrecognized arguments: --nonsense"),
        (["sim:p0", "--level", "quik"], "'quik' is not a level; did you mean 'quick'?"),
        (["plan", "sim:p0", "--repeat", "0"], "'0' is not a count"),
        (["p9"], "there is no device 'p9'; there are sim:"),
        (["--tests", "test_mine.py"], "choose a device behind 'pydoca qualify': sim:pf0"),
        (["sim:p0", "-n", "foo"], "error: -n foo: write a number of processes up to 256, or auto"),
        (["sim:p0", "--select", "dma and ("], "error: --select 'dma and (': expected "),
        (
            ["sim:p0", "--select", "a or b", "--select", "c"],
            "error: --select 'a or b' is an expression, and only one can be given",
        ),
        (["sim:p0", "--limits", "absent.toml"], "absent.toml: the limits file cannot be read: No such file"),
        (["limits", "check", "absent.toml"], "pydoca: absent.toml: the limits file cannot be read: No such file"),
        (["limits", "check"], "the following arguments are required: FILE"),
        (["limits"], "usage: pydoca qualify limits"),
    ],
)
def test_what_cannot_run_says_why_with_exit_code_4(qualify, commands, words, message):
    run = qualify(*words)
    assert message in run.stderr
    assert run.returncode == 4
    assert not (commands.directory / "runs").exists()


LIMITS = """
schema = 1
name = "my card"
[match]
profile = "bluefield3"
[limit."a.count"]
unit = "1"
max = 5
[limit."gone"]
unit = "us"
stat = "p99"
min = 1
n_min = 1000
[expect]
pcie.width = 16
[waive."old"]
reason = "known"
until = 2020-01-01
"""


def test_a_limits_file_is_checked_alone_and_against_a_run(qualify, commands):
    (commands.directory / "my.toml").write_text(LIMITS)
    run = qualify("limits", "check", "my.toml")
    assert run.returncode == 0
    assert run.stdout.splitlines() == [
        "my.toml: my card for profile bluefield3",
        "",
        "MEASUREMENT  STAT  MIN   MAX  SAMPLES",
        "a.count      -     -     5    -",
        "gone         p99   1 µs  -    1,000",
        "expects pcie.width = 16",
        "waives old until 2020-01-01: known",
        "finding: my.toml: waive.old: expired on 2020-01-01",
    ]
    assert qualify("sim:p0", "--tests", "test_mine.py", "--limits", "my.toml").returncode == 6
    (folder,) = commands.directory.glob("runs/*")
    document = json.loads(qualify("limits", "check", "my.toml", "--run", folder, "--json").stdout)
    assert [limit["name"] for limit in document["limits"]] == ["a.count", "gone"]
    assert [finding.split(": ")[1] for finding in document["findings"]] == [
        "limit.gone",
        "expect.pcie.width",
        "waive.old",
    ]


def test_pytest_runs_the_cases_in_a_clone_without_the_plugins_of_its_tests(commands):
    line = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "-pno:timeout", "--pyargs", "pydoca.qualify"]
    line += ["--pydoca-device=sim:p0", "--pydoca-select=GRF-2", f"--pydoca-out={commands.directory}"]
    process = commands.start_program(line, cwd=Path(__file__).resolve().parents[3])
    output = process.communicate(timeout=150)
    assert process.returncode == 0, output
    assert len(list(commands.directory.glob("*/report.html"))) == 1


CONFTESTS = {
    "leaves cases out": "def pytest_collection_modifyitems(items): items.clear()",
    "cannot be imported": "import a_module_that_nobody_has",
}


@pytest.mark.parametrize("conftest", CONFTESTS.values(), ids=CONFTESTS)
def test_what_lies_in_the_current_directory_does_not_change_a_run(commands, conftest):
    (commands.directory / "conftest.py").write_text(conftest)
    (commands.directory / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    run = commands.run("qualify", "sim:p0", "--select", "GRF-2", "--json")
    assert [case["verdict"] for case in json.loads(run.stdout)["runs"][0]["cases"]] == ["PASS"]


@pytest.mark.parametrize("tests", [[], ["--tests", "test_mine.py"]], ids=["pydoca's", "own"])
def test_what_the_environment_has_for_pytest_does_not_change_a_run(qualify, commands, tests):
    foreign = {"PYTEST_ADDOPTS": "--collect-only", "PYTEST_PLUGINS": "a_module_that_nobody_has"}
    select = "A-1" if tests else "GRF-2"
    for settings in (foreign, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}):
        commands.env |= settings
        run = qualify("sim:p0", "--select", select, "--json", *tests)
        assert [case["verdict"] for case in json.loads(run.stdout)["runs"][0]["cases"]] == ["PASS"], run.stderr


@pytest.mark.parametrize(
    ("package", "words", "message"),
    [
        ("scipy", [], "qualification needs scipy, which is not installed; this installs it: "),
        ("jinja2", [], "qualification needs jinja2, which is not installed; this installs it: "),
        ("xdist", ["-n", "2"], "-n needs pytest-xdist, which is not installed; this installs it: "),
    ],
)
def test_without_the_packages_it_says_how_to_install_them(commands, package, words, message):
    hide = "import sys, importlib.util as u; find = u.find_spec\n"
    hide += f"u.find_spec = lambda name, *more: None if name == {package!r} else find(name, *more)\n"
    program = hide + f"from pydoca.cli import main; sys.exit(main(['qualify', 'sim:p0', *{words}]))"
    run = subprocess.run([sys.executable, "-c", program], env=commands.env, capture_output=True, text=True, timeout=150)
    assert (run.returncode, run.stdout) == (4, "")
    start, command = run.stderr.rstrip("\n").split(message)
    python, *rest = shlex.split(command)
    assert (start, python, rest[:3]) == ("pydoca: ", sys.executable, ["-m", "pip", "install"])
    wanted = {"pytest-xdist"} if package == "xdist" else {"jinja2", "numpy", "packaging", "pytest", "scipy", "tqdm"}
    assert {each.partition(">")[0] for each in rest[3:]} == wanted


def test_the_command_line_starts_without_pytest_and_numpy(commands):
    program = "import sys\nfrom pydoca.cli._parser import create_parser\ncreate_parser()\n"
    program += "print(sorted({'jinja2', 'pytest', 'numpy', 'scipy', 'tqdm'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], env=commands.env, capture_output=True, text=True, timeout=150)
    assert (run.returncode, run.stdout) == (0, "[]\n")


def test_a_terminal_has_a_bar_and_a_pipe_has_lines(qualify, commands):
    import pty
    import struct
    from fcntl import ioctl
    from termios import TIOCSWINSZ

    assert "\r" not in qualify("sim:p0", "--tests", "test_mine.py").stdout
    terminal, end = pty.openpty()
    ioctl(end, TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    line = commands.line("qualify", "sim:p0", "--tests", "test_mine.py")
    process = subprocess.Popen(line, cwd=commands.directory, env=commands.env, stdout=end, stderr=end, stdin=end)
    os.close(end)
    output = b""
    try:
        while part := os.read(terminal, 65536):
            output += part
    except OSError:  # the terminal's other end is closed
        pass
    finally:
        os.close(terminal)
    assert process.wait(50) == 0
    assert b"quick   0%|" in output
    assert b"PASS     A-1" in output


def test_in_a_directory_that_was_removed_it_says_so(commands):
    folder = commands.directory / "gone"
    folder.mkdir()
    program = f"import os, sys, pydoca.cli; os.rmdir({str(folder)!r}); sys.exit(pydoca.cli.main(sys.argv[1:]))"
    line = [sys.executable, "-P", "-c", program, "qualify", "sim:p0", "--level", "smoke"]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True, env=commands.env, timeout=150)
    assert run.returncode != 0
    assert run.stderr == "pydoca: the current directory has been removed; change to another one\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sim:p0", "--resume", "absent"], "--resume: absent is not the directory of a run"),
        (["sim:p0", "--limits", "other.toml"], "(--limits-force applies it anyway)"),
        (["sim:p0", "--level", "smoke", "--select", "A-1"], "exit code 0, --seed="),
    ],
)
def test_options_are_spelled_as_the_command_has_them(qualify, commands, words, message):
    (commands.directory / "other.toml").write_text('schema = 1\n[match]\nprofile = "bluefield2"\n')
    run = qualify(*words, "--tests", "test_mine.py")
    assert message in run.stdout + run.stderr
    assert "--pydoca-" not in run.stdout + run.stderr
