"""The plug-in under pytest: the cases that run, their verdicts, and the exit code."""

import html
import itertools
import json
import os
import subprocess
import sys
import threading
import time

import pytest

pytest_plugins = ["pytester"]

TWO = """
import pytest

@pytest.mark.pydoca_case("A-1", title="the first", levels=("smoke", "quick"))
def test_first(pydoca_device, pydoca_measure):
    pydoca_measure.record("a.count", 3, unit="1", max=5)

@pytest.mark.pydoca_case("A-2", levels=("full",))
def test_second(pydoca_device):
    assert pydoca_device.is_open
"""

PROBE = """
import sys
import pytest
class Look:
    def pytest_sessionfinish(self):
        print("LOADED", sorted({"pydoca", "numpy", "scipy", "tqdm"} & set(sys.modules)))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Look()]))
"""


@pytest.mark.parametrize("words", [[], ["--help"], ["--markers"], ["--fixtures"]])
def test_pytest_starts_without_pydoca_and_numpy(runs, words):
    runs.write("def test_plain(pydoca_faults): pass" if not words else "def test_plain(): pass")
    runs.write("def test_plain(): pass", "test_plain")
    run = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, "test_plain.py", *words], capture_output=True, text=True, timeout=150
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "LOADED []" in run.stdout or words  # these end before a session
    assert "LOADED ['" not in run.stdout


@pytest.mark.parametrize("word", ["--pydoca-duration=3s", "--pydoca-repeat=2", "--pydoca-level=quik"])
def test_an_option_does_not_hide_that_the_environment_is_wrong(runs, monkeypatch, word):
    monkeypatch.setenv("PYDOCA_LOG_LEVEL", "bad")
    run = subprocess.run([sys.executable, "-P", "-m", "pytest", word], capture_output=True, text=True, timeout=150)
    assert run.returncode == 4
    assert f"argument {word.partition('=')[0]}: the environment's PYDOCA_LOG_LEVEL: log level 'bad'" in run.stderr


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["--pydoca-device=sim:p0"], "def test_plain(): pass"),
        ([], "def test_case(pydoca_run, pydoca_random): pass"),
    ],
)
def test_what_makes_no_run_needs_no_numpy(runs, words, body):
    """The RDMA lab's guest has a processor that NumPy does not support."""
    runs.write(body)
    line = [sys.executable, "-P", "-c", PROBE, "test_it.py", *words]
    run = subprocess.run(line, capture_output=True, text=True, timeout=150)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "LOADED ['pydoca']" in run.stdout


def test_a_measurement_that_passes_is_recorded_with_its_limit(runs):
    result = runs.run(body=TWO)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*1/1* PASS * A-1*", "*PASS * a.count  3  (\u2264 5, the case)*", "PASS: 1 PASS", "results: *"]
    )
    record = runs.record()
    (case,) = record["cases"]
    assert (case["id"], case["title"], case["node"], case["repeat"]) == (
        "A-1",
        "the first",
        "test_it.py::test_first",
        0,
    )
    (measured,) = case["measurements"]
    assert (measured["value"], measured["verdict"], measured["limit"]["source"]) == (3, "PASS", "the case")
    assert record["run"]["device"]["serial"] == "SIM0001X00001ECS0D0F0"
    assert (record["run"]["planned"], record["run"]["exit_code"], record["run"]["level"]) == (1, 0, "quick")
    assert "--pydoca-device=sim:p0" in case["again"]


@pytest.mark.parametrize(("level", "ids"), [("smoke", ["A-1"]), ("quick", ["A-1"]), ("full", ["A-2"])])
def test_a_level_has_the_cases_that_name_it(runs, level, ids):
    assert runs.run(f"--pydoca-level={level}", body=TWO).ret == 0
    assert list(runs.verdicts()) == ids


CASES = {
    "pass": ("assert True", 0, "PASS"),
    "assertion": ("assert 1 == 2", 1, "FAIL"),
    "doca error": ("import pydoca; raise pydoca.IoFailedError('the engine failed')", 1, "FAIL"),
    "tester error": ("raise KeyError('x')", 3, "ERROR"),
    "over the limit": ("pydoca_measure.record('x', 9, unit='1', max=5)", 1, "FAIL"),
    "inside": ("pydoca_measure.record('x', 4, unit='1', max=5)", 0, "PASS"),
    "marginal": ("pydoca_measure.record('x', 4.99, unit='1', max=5, marginal=0.1)", 0, "MARGINAL"),
    "unjudged": ("pydoca_measure.record('x', 4, unit='1')", 0, "UNJUDGED"),
    "no sample": ("\n    with pydoca_measure('x', unit='us', max=1): pass", 3, "ERROR"),
    "too few samples": (
        "\n    with pydoca_measure('x', unit='us', max=1, n_min=3) as m: m.add(0.5)",
        3,
        "ERROR",
    ),
    "a sample without a block": ("pydoca_measure('x', unit='us', max=1).add(5)", 3, "ERROR"),
    "a measurement without a block": ("pydoca_measure('x', unit='us', max=1)", 3, "ERROR"),
    "a sample after the block": (
        "\n    with pydoca_measure('x', unit='us', max=9) as m: m.add(0.5)\n    m.add(5)",
        3,
        "ERROR",
    ),
    "not a number": ("pydoca_measure.record('x', float('nan'), unit='1', max=5)", 3, "ERROR"),
    "wrong unit": ("pydoca_measure.record('x', 1, unit='furlong')", 3, "ERROR"),
    "skip": ("import pytest; pytest.skip('no such engine')", 5, "SKIPPED"),
}


@pytest.mark.parametrize(("statement", "code", "verdict"), CASES.values(), ids=CASES)
def test_a_case_has_its_verdict_and_the_run_its_exit_code(runs, statement, code, verdict):
    result = runs.run(body=f"def test_it(pydoca_device, pydoca_measure):\n    {statement}\n")
    assert (runs.verdicts(), result.ret) == ({"test_it": verdict}, code)
    assert runs.record()["run"]["exit_code"] == code


def test_a_failure_wins_over_an_error_and_both_over_a_pass(runs):
    body = "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_it(pydoca_device, n):\n"
    body += "    assert n != 0\n    [1][n - 1]\n"
    result = runs.run(body=body)
    assert result.ret == 1
    assert [case["verdict"] for case in runs.record()["cases"]] == ["FAIL", "PASS", "ERROR"]


def test_what_a_case_leaves_on_its_device_is_an_error(runs):
    body = "kept = []\ndef test_it(pydoca_device):\n    kept.append(pydoca_device.mmap(bytes(64)))\n"
    assert runs.run(body=body).ret == 3  # the device reports that it is in use
    assert "in use" in runs.record()["cases"][0]["reason"]


AROUND = {
    "a time-out": ("pydoca.TimeOutError('it has not ended')", "ERROR", 3),
    "an assertion": ("AssertionError('not ready')", "ERROR", 3),
    "a fault of the device": ("DeviceFault('it has lost a byte')", "FAIL", 1),
}


@pytest.mark.parametrize("where", ["set-up", "teardown"])
@pytest.mark.parametrize(("error", "verdict", "code"), AROUND.values(), ids=AROUND)
def test_what_fails_around_the_call_is_an_error_unless_it_is_said_of_the_device(runs, where, error, verdict, code):
    body = "import pydoca, pytest\nfrom pydoca.qualify.bench.waiting import DeviceFault\n"
    before = "yield" if where == "teardown" else "pass"
    body += f"@pytest.fixture\ndef other():\n    {before}\n    raise {error}\n    yield\n"
    result = runs.run(body=f"{body}def test_it(pydoca_device, other): pass\n")
    assert (runs.verdicts(), result.ret) == ({"test_it": verdict}, code)


def test_a_measurement_beyond_its_limit_fails_the_case_in_its_teardown_too(runs):
    body = "import pytest\n@pytest.fixture\ndef other(pydoca_measure):\n    yield\n"
    body += "    pydoca_measure.record('leak', 1, unit='1', max=0)\ndef test_it(pydoca_device, other): pass\n"
    assert (runs.run(body=body).ret, runs.verdicts()) == (1, {"test_it": "FAIL"})


def test_strictness_makes_a_skip_and_a_marginal_value_fail(runs):
    skip = "import pytest\ndef test_a(pydoca_device): pass\ndef test_b(pydoca_device): pytest.skip('no')\n"
    assert runs.run(body=skip).ret == 0
    result = runs.run("--pydoca-strict-skips")
    assert result.ret == 1
    finding = "--pydoca-strict-skips fails the run: test_b is skipped"
    result.stdout.fnmatch_lines([f"finding: {finding}", "FAIL: 1 PASS, 1 SKIPPED"])
    record = runs.records()[-1]["run"]
    assert (record["verdict"], record["exit_code"], record["findings"]) == ("FAIL", 1, [finding])
    page = next((runs.path / "runs").glob(f"{record['id']}/report.html")).read_text()
    assert finding in page
    assert "<title>FAIL: p0" in page
    marginal = "def test_it(pydoca_measure): pydoca_measure.record('x', 4.99, unit='1', max=5, marginal=0.1)\n"
    assert runs.run(body=marginal).ret == 0
    result = runs.run("--pydoca-strict-marginal")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["finding: --pydoca-strict-marginal fails the run: test_it is marginal"])


NEEDS = {
    "dma": "",
    "dma.max_buf_size": "",
    "sim": "",
    "pair": "",
    "dpu": "",
    "sha": "p0 has no sha: only a BlueField-2 has a SHA engine",
    "hardware": "p0 is simulated, and the case is about hardware",
    "verbs": "p0 is not a device of rdma-core",
    "host": "p0 is on the DPU",
    "peer": "no device at the other end is named (--pydoca-peer)",
    "baseline": "no golden values are given (--pydoca-baseline)",
    "program:no-such-program": "the program no-such-program is not installed",
    "program:sh": "",
}


@pytest.mark.parametrize(("need", "why"), NEEDS.items())
def test_a_need_that_is_not_met_is_a_skip_with_its_reason(runs, need, why):
    body = f"import pytest\n@pytest.mark.pydoca_needs({need!r})\ndef test_it(pydoca_device): pass\n"
    runs.run(body=body)
    (case,) = runs.record()["cases"]
    assert (case["verdict"], case["reason"]) == (("SKIPPED", why) if why else ("PASS", ""))


def test_an_unknown_need_is_a_usage_error(runs):
    result = runs.run(body="import pytest\n@pytest.mark.pydoca_needs('dmaa')\ndef test_it(pydoca_device): pass\n")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: test_it.py::test_it: pydoca_needs: 'dmaa' is not a need; did you mean 'dma'*"])


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("pydoca_case()", "its first argument is the id, such as 'DMA-BW'"),
        ("pydoca_case('A', levles=('quick',))", "there is no 'levles'; did you mean 'levels'"),
        ("pydoca_case('A', levels=('quik',))", "'quik' is not a level; did you mean 'quick'"),
        ("pydoca_case('A', seconds=0)", "seconds is a number above 0, not 0"),
    ],
)
def test_a_wrong_marker_is_a_usage_error(runs, marker, message):
    result = runs.run(body=f"import pytest\n@pytest.mark.{marker}\ndef test_it(): pass\n")
    assert result.ret == 4
    assert f"test_it.py::test_it: pydoca_case: {message}" in result.stderr.str()


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--pydoca-level=quik", "'quik' is not a level; did you mean 'quick'?: smoke, quick, full, soak"),
        ("--pydoca-backend=smi", "'smi' is not a backend; did you mean 'sim'?: sim, verbs"),
        ("--pydoca-repeat=0", "'0' is not a count"),
        ("--pydoca-seed=-1", "'-1' is not a seed"),
        ("--pydoca-duration=8x", "'8x' is not a duration: write seconds, or a number with s, min, h or d"),
        ("--pydoca-device=p9", "there is no device 'p9'; there are sim:"),
        ("--pydoca-device=mlx5_0", "the device 'mlx5_0' is ambiguous: it may be sim:pf0"),
        ("--pydoca-device=03:00.0", "the device sim:p0 is chosen twice"),
        ("--pydoca-limits=absent.toml", "absent.toml: the limits file cannot be read: No such file"),
        ("--pydoca-baseline=absent.toml", "absent.toml: the limits file cannot be read: No such file"),
        ("--pydoca-resume=absent", "--pydoca-resume: absent is not the directory of a run"),
    ],
)
def test_a_wrong_option_is_a_usage_error_that_names_the_value_and_the_remedy(runs, word, message):
    result = runs.run(word, body=TWO)
    assert result.ret == 4
    assert message in result.stderr.str()
    assert not (runs.path / "runs").exists()


UNMET = """schema = 1
[limit."a.cuont"]
unit = "1"
max = 9
[expect]
pcie.width = 16
"""


def test_a_run_in_which_a_limit_or_an_expectation_judges_nothing_is_not_passed(runs):
    result = runs.run(runs.limits(UNMET), body=TWO)
    assert result.ret == 6
    result.stdout.fnmatch_lines(
        [
            "finding: limits.toml: limit.a.cuont: no *'a.count' (--pydoca-allow-unmet=a.cuont allows that)",
            "finding: limits.toml: expect.pcie.width: no case of this run looked at it*",
            "INCOMPLETE: 1 PASS*",
            "exit code 6*",
        ]
    )
    record = runs.record()["run"]
    assert (record["verdict"], record["exit_code"]) == ("INCOMPLETE", 6)
    (folder,) = (runs.path / "runs").iterdir()
    assert "<title>INCOMPLETE: p0, simulated" in (folder / "report.html").read_text()
    assert 'message="INCOMPLETE: limits or expectations have judged nothing' in (folder / "junit.xml").read_text()


def test_what_may_judge_nothing_is_excused_by_name(runs):
    allowed = ["--pydoca-allow-unmet=a.cuont", "--pydoca-allow-unmet=pcie.*"]
    assert runs.run(runs.limits(UNMET), *allowed, body=TWO).ret == 0
    assert runs.record()["run"]["findings"] == []
    assert runs.run(runs.limits(UNMET), allowed[0]).ret == 6


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_failure_outweighs_what_was_not_judged(runs, workers):
    text = UNMET + '[limit."a.count"]\nunit = "1"\nmax = 2\n'
    assert runs.run(runs.limits(text), *workers, body=TWO).ret == 1
    assert runs.record()["run"]["verdict"] == "FAIL"


def test_limits_judge_and_one_without_a_measurement_is_a_finding(runs):
    limits = runs.limits('schema = 1\n[limit."a.count"]\nunit = "1"\nmax = 2\n[limit."b"]\nunit = "us"\nmax = 1\n')
    result = runs.run(limits, body=TWO)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*FAIL * a.count  3 is above max 2 (limits.toml: limit.a.count)*", "finding: limits.toml: limit.b: no*"]
    )
    text = (
        'schema = 1\n[limit."a.count"]\nunit = "1"\nmax = 2\n[waive."a.count"]\nreason = "known"\nuntil = 9999-12-31\n'
    )
    result = runs.run(runs.limits(text))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*MARGINAL a.count*waived: known, until 9999-12-31*"])


def test_a_limit_in_another_dimension_is_an_error_of_its_measurement_in_one_sentence(runs):
    runs.run(runs.limits('schema = 1\n[limit."a.count"]\nunit = "us"\nmax = 2\n'), body=TWO)
    (first, *_), record = runs.record()["cases"], runs.record()["run"]
    (measured,) = first["measurements"]
    why = "limits.toml: limit.a.count: 'us' is a unit of time, and '1' one of ratio, the unit of the measurement"
    assert (first["verdict"], first["reason"]) == ("ERROR", why)
    assert (measured["name"], measured["verdict"], measured["reason"]) == ("a.count", "ERROR", why)
    assert record["findings"] == []


def test_a_fault_plan_and_a_timing_model_are_findings_of_the_run(runs):
    (runs.path / "faults.toml").write_text(
        'seed = 7\n[[rule]]\naction = "delay"\nopcode = "dma.memcpy"\nby = "1 ms"\ntimes = 3\n'
    )
    (runs.path / "timing.toml").write_text('[timing.dma]\nlatency = "5us"\n')
    env = {**os.environ, "PYDOCA_FAULTS": "faults.toml", "PYDOCA_TIMING": "timing.toml"}
    runs.write(TWO)
    line = [sys.executable, "-P", "-m", "pytest", *runs.line("sim:p0")]
    output = subprocess.run(line, cwd=runs.path, env=env, capture_output=True, text=True, timeout=150).stdout
    plan, model = runs.record()["run"]["findings"]
    assert plan.startswith("a fault plan was in force, so failures may be planted: seed 7; ")
    assert "FaultRule('delay', 'dma.memcpy', times=3, by='1 ms')" in plan
    assert model.startswith("a timing model was in force, so times are those of the model: ")
    assert "latency 5us" in model
    (folder,) = (runs.path / "runs").iterdir()
    for text in (output, html.unescape((folder / "report.html").read_text()), (folder / "junit.xml").read_text()):
        assert plan in text
        assert model in text
    facts = json.loads((folder / "machine.json").read_text())["before"]
    assert "seed 7" in facts["device.fault_plan"]["value"]


def test_without_a_fault_plan_and_a_model_there_is_no_finding(runs):
    runs.run(body=TWO)
    assert runs.record()["run"]["findings"] == []


def test_two_cases_that_record_one_measurement_are_a_finding(runs):
    other = 'def test_other(pydoca_measure): pydoca_measure.record("a.count", 3, unit="1")'
    runs.run("--pydoca-repeat=2", body=f'{TWO}\n@pytest.mark.pydoca_case("A-1")\n{other}\n')
    (finding,) = runs.record()["run"]["findings"]
    nodes = "A-1 (test_it.py::test_first) and A-1 (test_it.py::test_other)"
    assert finding.startswith(f"the measurement a.count is recorded by {nodes}; ")
    assert finding.endswith("give each a name of its own")


def test_a_reason_does_not_begin_with_the_class_of_an_exception_of_pydocas_own(runs):
    test = "def test_it(pydoca_device): raise DeviceFault('it hangs')"
    runs.run(body=f"from pydoca.qualify.bench.waiting import DeviceFault\n{test}\n")
    assert runs.record()["cases"][0]["reason"] == "it hangs"


def test_limits_for_another_device_are_refused_unless_forced(runs):
    limits = runs.limits('schema = 1\n[match]\nprofile = "bluefield2"\n[limit."a.count"]\nunit = "1"\nmax = 2\n')
    result = runs.run(limits, body=TWO)
    assert result.ret == 4
    assert "limits.toml is not for this device: its [match] wants profile 'bluefield2'" in result.stderr.str()
    assert runs.run(limits, "--pydoca-limits-force").ret == 1


def test_expected_properties_are_compared(runs):
    limits = runs.limits('schema = 1\n[expect]\npcie.speed = "32 GT/s"\npcie.width = 16\n')
    body = "def test_it(pydoca_measure):\n    pydoca_measure.expect('pcie.speed', '32 GT/s')\n"
    result = runs.run(limits, body=body + "    pydoca_measure.expect('pcie.width', 8)\n")
    assert result.ret == 1
    assert "pcie.width: 8, and limits.toml: expect.pcie.width expects 16" in runs.record()["cases"][0]["reason"]


def test_a_property_is_shown_by_its_value(runs):
    body = "def test_it(pydoca_measure):\n    pydoca_measure.expect('card.profile', 'bluefield3')\n"
    result = runs.run(body=body)
    result.stdout.fnmatch_lines(["*UNJUDGED card.profile: bluefield3; no limits file expects a value"])


@pytest.mark.parametrize("value", ["''", "None"])
def test_a_property_without_a_value_is_not_set(runs, value):
    result = runs.run(body=f"def test_it(pydoca_measure):\n    pydoca_measure.expect('card.profile', {value})\n")
    result.stdout.fnmatch_lines(["*UNJUDGED card.profile: not set; no limits file expects a value"])
    result.stdout.no_fnmatch_line("*no value*")


def test_a_plan_says_what_would_run_and_touches_nothing(runs):
    body = TWO + "\n@pytest.mark.pydoca_needs('sha')\ndef test_third(pydoca_device): assert False\n"
    result = runs.run("--pydoca-plan", "--pydoca-repeat=2", body=body)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "A-1 * s  the first*",
            "test_third  skipped: p0 has no sha: only a BlueField-2 has a SHA engine*",
            "1 case of level quick on sim:p0, 2 times: about *",
            "skipped: 1; of other levels: 1; finished before: 0",
        ]
    )
    assert not (runs.path / "runs").exists()
    assert runs.run("--pydoca-plan", "-k", "nothing").ret == 5


def test_repeats_are_recorded_and_each_has_its_own_random_numbers(runs):
    body = "def test_it(pydoca_random, pydoca_measure): pydoca_measure.record('x', pydoca_random.random(), unit='1')\n"
    result = runs.run("--pydoca-repeat=3", "--pydoca-seed=7", body=body)
    assert result.ret == 0
    first = runs.record()["cases"]
    values = [case["measurements"][0]["value"] for case in first]
    assert [case["repeat"] for case in first] == [0, 1, 2]
    assert len(set(values)) == 3
    assert runs.run("--pydoca-repeat=3", "--pydoca-seed=7").ret == 0
    again, other = runs.records()[1], runs.run("--pydoca-seed=8")
    assert [case["measurements"][0]["value"] for case in again["cases"]] == values
    assert runs.records()[2]["cases"][0]["measurements"][0]["value"] != values[0]
    other.stdout.fnmatch_lines(["*--pydoca-seed=8*"])


def test_a_duration_repeats_whole_passes_until_it_is_interrupted_or_over(runs):
    body = "import os, signal\n"
    body += "def test_a(pydoca_run):\n    if pydoca_run.repeat == 2: os.kill(os.getpid(), signal.SIGINT)\n"
    body += "def test_b(pydoca_device): pass\n"
    assert runs.run("--pydoca-duration=1h", body=body).ret == 2
    cases = runs.record()["cases"]
    assert [(case["id"], case["repeat"]) for case in cases] == [
        ("test_a", 0),
        ("test_b", 0),
        ("test_a", 1),
        ("test_b", 1),
        ("test_a", 2),
    ]
    body = "import time\ndef test_a(pydoca_device): time.sleep(0.05)\ndef test_b(pydoca_device): pass\n"
    assert runs.run("--pydoca-duration=0.01s", "--pydoca-out=over", body=body).ret == 0  # the first pass is complete
    (state,) = (runs.path / "over").glob("*/state.json")
    assert len(json.loads(state.read_text())["cases"]) == 2


def test_a_soak_divides_its_duration_and_goes_on_with_what_is_left(runs):
    """Each case takes half of its share; a pass begins only if every case gets enough time."""
    body = "import time\ndef test_a(pydoca_run, pydoca_measure):\n    time.sleep(pydoca_run.seconds / 2)\n"
    body += "    pydoca_measure.record('share', pydoca_run.seconds, unit='s')\n"
    begin = time.monotonic()
    assert runs.run("--pydoca-level=soak", "--pydoca-duration=1.6s", body=body).ret == 0
    assert time.monotonic() - begin > 1
    record = runs.record()
    shares = [case["measurements"][0]["value"] for case in record["cases"]]
    assert [case["repeat"] for case in record["cases"]] == list(range(len(shares)))
    assert shares[0] == pytest.approx(0.7 * 1.6)
    assert len(shares) >= 2
    assert all(0.3 <= later < 0.7 * (1.6 - earlier / 2) for earlier, later in itertools.pairwise(shares))
    assert record["run"]["planned"] == len(shares)


def test_fail_early_ends_after_the_first_failure(runs):
    body = "def test_a(pydoca_device): assert False\ndef test_b(pydoca_device): pass\n"
    result = runs.run("--pydoca-fail-early", body=body)
    assert result.ret == 1
    assert runs.verdicts() == {"test_a": "FAIL"}
    result.stdout.fnmatch_lines(["FAIL: 1 FAIL; not run: 1 of 2 cases"])


def test_each_case_runs_on_each_device_with_a_run_of_its_own(runs):
    body = "def test_it(pydoca_device): assert pydoca_device.name == 'p0'\ndef test_plain(): pass\n"
    result = runs.run("--pydoca-device=sim:p1", body=body)
    assert result.ret == 1
    found = {record["run"]["device"]["name"]: record["run"]["verdict"] for record in runs.records()}
    assert found == {"p0": "PASS", "p1": "FAIL"}
    result.stdout.fnmatch_lines(["*pydoca: level quick on sim:p0, sim:p1, --pydoca-seed=*"])


def test_without_an_option_fixtures_work_and_nothing_is_written(runs):
    body = "def test_it(pydoca_measure): pydoca_measure.record('x', 9, unit='1', max=5)\ndef test_plain(): pass\n"
    result = runs.run(body=body, device=None)
    result.assert_outcomes(failed=1, passed=1)
    assert result.ret == 1
    assert not (runs.path / "runs").exists()


def test_without_a_device_the_machines_only_one_is_used_or_the_list_is_shown(runs, monkeypatch):
    body = "def test_it(pydoca_device): print('on', pydoca_device.name)\n"
    result = runs.run(body=body, device=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: choose a device by --pydoca-device: sim:pf0 (0000:0b:00.0), *"])
    import pydoca
    from pydoca.qualify.session import session

    monkeypatch.setattr(session, "devices", lambda backend: [pydoca.DeviceInfo("p1")])
    result = runs.run("-s", device=None)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*on p1*"])


def test_a_plain_test_that_fails_fails_the_run_of_pytest_only(runs):
    result = runs.run(body="def test_case(pydoca_device): pass\ndef test_plain(): assert False\n")
    assert (result.ret, runs.record()["run"]["exit_code"]) == (1, 0)


def test_a_file_that_cannot_be_collected_is_the_testers_error(runs):
    runs.write("raise RuntimeError('broken')", "test_broken")
    assert runs.run(body=TWO).ret == 3


def test_a_device_in_use_is_refused_unless_forced(runs):
    import pydoca
    from pydoca.qualify.session.lock import DeviceLock

    lock = DeviceLock(pydoca.DeviceInfo("p0"))
    lock.take(force=False)
    try:
        result = runs.run(body=TWO)
        assert result.ret == 4
        result.stderr.fnmatch_lines(
            [
                f"ERROR: sim:p0 is in use by another run (process {os.getpid()}, since 20??-* ago: *): "
                "wait for its end by --pydoca-wait SECONDS, or use the device beside it by --pydoca-force"
            ]
        )
        assert runs.run("--pydoca-plan").ret == 0
        assert runs.run("--pydoca-force").ret == 0
    finally:
        lock.release()
    assert runs.run().ret == 0


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_a_run_leaves_no_file_of_its_locks(runs, monkeypatch, tmp_path, options):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runs.run(*options, body=TWO).ret == 0
    assert list((tmp_path / "pydoca-qualify").iterdir()) == []


def test_a_lock_of_a_file_that_was_removed_meanwhile_is_taken_again(monkeypatch, tmp_path):
    import pydoca
    from pydoca.qualify.session import lock as module

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    first, second = (module.DeviceLock(pydoca.DeviceInfo("p0")) for _ in range(2))
    first.take(force=False)
    opened = module._open

    def open_before_the_end(path):
        descriptor = opened(path)
        monkeypatch.setattr(module, "_open", opened)
        first.release()
        return descriptor

    monkeypatch.setattr(module, "_open", open_before_the_end)
    second.take(force=False)
    with pytest.raises(module.InUse):
        first.take(force=False)
    second.release()


def test_an_expression_stands_in_the_record_for_comparisons(runs):
    assert runs.run("-k", "A-1 and not other", body=TWO).ret == 0
    assert runs.record()["run"]["options"]["expression"] == "A-1 and not other"


def test_a_run_waits_for_the_end_of_another_one(runs, monkeypatch):
    import pydoca
    from pydoca.qualify.session.lock import DeviceLock

    lock = DeviceLock(pydoca.DeviceInfo("p0"))
    lock.take(force=False)
    take, begin = DeviceLock.take, time.time()
    end = threading.Timer(3, lock.release)

    def take_later(self: DeviceLock, *words: object, **keys: object) -> None:
        end.start()  # a busy machine may take seconds to come here
        take(self, *words, **keys)

    monkeypatch.setattr(DeviceLock, "take", take_later)
    try:
        result = runs.run("--pydoca-wait=5", body=TWO)
    finally:
        end.join()
        lock.release()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            f"sim:p0 is in use by another run (process {os.getpid()}, *): this run waits for its end, at most 5 s; *",
            "... sim:p0 is in use: waited * of 5 s",
            "sim:p0 is free after *s",
            "PASS: *",
        ]
    )
    assert runs.record()["run"]["begin"] >= begin + 2.9  # the wait is not part of the run


def test_a_wait_that_is_too_short_ends_as_without_one(runs):
    import pydoca
    from pydoca.qualify.session.lock import DeviceLock

    lock = DeviceLock(pydoca.DeviceInfo("p0"))
    lock.take(force=False)
    try:
        result = runs.run("--pydoca-wait=0.4", body=TWO)
    finally:
        lock.release()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: sim:p0 is still in use by another run (*): give --pydoca-wait more time, *"])
    assert not (runs.path / "runs").exists()


def test_samples_are_written_and_statistics_made(runs):
    body = """
def test_it(pydoca_measure, pydoca_run):
    with pydoca_measure("x", unit="us", stat="p50", better="lower", max=100) as m:
        m.extend([1, 2, 3] * 20)
        assert len(m) == 60
    assert m.result.value == 2
    assert pydoca_run.directory.is_dir()
"""
    assert runs.run(body=body).ret == 0
    (measured,) = runs.record()["cases"][0]["measurements"]
    assert (measured["n"] + measured["warmup"], measured["unit"], measured["better"]) == (60, "us", "lower")
    (folder,) = (runs.path / "runs").iterdir()
    assert (folder / f"{measured['samples']}.npz").is_file()


def test_a_report_can_do_without_plots(runs):
    body = "def test_it(pydoca_measure):\n    with pydoca_measure('x', unit='us') as m: m.extend([1, 2, 3] * 20)\n"
    pages = []
    for words in ([], ["--pydoca-no-plots"]):
        assert runs.run(f"--pydoca-out=out{len(words)}", *words, body=body).ret == 0
        (page,) = (runs.path / f"out{len(words)}").glob("*/report.html")
        pages.append(page.read_text())
    assert pages[0].count("<svg") > pages[1].count("<svg")


def test_has_enough_ends_when_the_time_is_over_and_when_the_interval_is_narrow(runs):
    body = """
import time
def test_narrow(pydoca_measure):
    with pydoca_measure("narrow", unit="us", n_min=40) as m:
        while not m.has_enough():
            m.add(5.0)
    assert 40 <= len(m) <= 100
def test_time(pydoca_measure, pydoca_random):
    with pydoca_measure("wide", unit="us") as m:
        begin = time.monotonic()
        while not m.has_enough():
            m.add(pydoca_random.random())
        assert time.monotonic() - begin >= m.seconds or len(m) > 60
def test_slow(pydoca_measure):
    with pydoca_measure("slow", unit="us", n_min=6, max=9) as m:
        while not m.has_enough():
            m.add(5.0)
            time.sleep(m.seconds / 4)
    assert len(m) == 6
def test_too_slow(pydoca_measure):
    with pydoca_measure("too slow", unit="us", n_min=60, max=9) as m:
        m._around.seconds = 0.02
        while not m.has_enough():
            m.add(5.0)
            time.sleep(0.01)
"""
    assert runs.run("--pydoca-level=smoke", body=body).ret == 3
    assert runs.verdicts() == {
        "test_narrow": "UNJUDGED", "test_time": "UNJUDGED", "test_slow": "PASS", "test_too_slow": "ERROR",
    }  # fmt: skip


def test_xdist_gives_a_device_to_one_worker_and_its_records_are_complete(runs):
    body = """
import os, pytest
@pytest.mark.parametrize("n", range(3))
def test_it(pydoca_device, pydoca_measure, pydoca_run, n):
    pydoca_measure.record(f"pid.{n}", os.getpid(), unit="1")
    pydoca_measure.record(f"seed.{n}", pydoca_run.seed, unit="1")
def test_plain(): pass
"""
    result = runs.run("-n", "2", "--pydoca-repeat=2", "--pydoca-seed=5", "--pydoca-device=sim:p1", body=body)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["pydoca: the cases of one device run one after the other;*", "*12/12? *"])
    for record in runs.records():
        cases = record["cases"]
        measured = {each["name"]: each["value"] for case in cases for each in case["measurements"]}
        assert len({measured[f"pid.{n}"] for n in range(3)}) == 1
        assert {measured[f"seed.{n}"] for n in range(3)} == {5}
        assert sorted((case["node"], case["repeat"]) for case in cases) == [
            (f"test_it.py::test_it[{n}]", repeat) for n in range(3) for repeat in range(2)
        ]
        assert record["run"]["planned"] == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pydoca-device=p9"], "there is no device 'p9'"),
        ([], "choose a device by --pydoca-device"),
        (["--pydoca-device=p0", "--pydoca-duration=1"], "which xdist cannot: leave out -n, or give --pydoca-repeat"),
    ],
)
def test_under_xdist_a_usage_error_is_one_too(runs, words, message):
    result = runs.run("-n", "1", *words, body=TWO, device=None)
    assert result.ret == 4
    assert message in result.stdout.str() + result.stderr.str()


def test_under_xdist_the_first_failure_ends_the_run_and_a_lost_worker_is_the_testers_error(runs):
    runs.write("def test_a(pydoca_device): assert False\ndef test_b(pydoca_device): pass\n")
    assert runs.run("-n", "1", "--pydoca-fail-early").ret == 1
    runs.write("import os\ndef test_a(pydoca_device): os._exit(1)\ndef test_b(pydoca_device): pass\n")
    result = runs.run("-n", "1", "--max-worker-restart=0", "--pydoca-out=lost")
    assert result.ret == 3
    result.stdout.fnmatch_lines(["ERROR: *; not run: * of 2 cases"])


def test_a_plan_needs_no_workers(runs):
    result = runs.run("-n", "2", "--pydoca-plan", body=TWO)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 case of level quick on sim:p0*"])


def test_every_option_is_in_the_table_of_the_command_line(runs):
    from pytest_pydoca.options import OPTIONS

    help = runs.pytester.runpytest_inprocess("--help").stdout.str()
    for option in OPTIONS:
        assert option.flag in help
    state = json.dumps([option.name for option in OPTIONS])
    for name in (
        "device",
        "backend",
        "rep",
        "peer",
        "level",
        "limits",
        "allow-unmet",
        "baseline",
        "out",
        "repeat",
        "duration",
        "seed",
    ):
        assert f'"{name}"' in state
