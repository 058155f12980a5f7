"""A run that cannot start says so in one line, before the first case, with exit code 4."""

import os

import pytest

pytest_plugins = ["pytester"]

BODY = """
import pytest
@pytest.mark.pydoca_case("DMA-1")
def test_dma(pydoca_device): pass
@pytest.mark.pydoca_case("RDMA-1")
def test_rdma(pydoca_device): pass
@pytest.mark.pydoca_case("DMA-2", levels=("full",))
def test_more(pydoca_device): pass
def test_plain(): assert False
"""


def refused(result) -> str:
    """The error line of a run that did not begin."""
    assert result.ret == 4, result.stdout.str()
    text = f"{result.stdout.str()}\n{result.stderr.str()}"
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    return next(line for line in text.splitlines() if line.startswith("ERROR: "))


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_directory_that_cannot_be_written_names_the_option(runs, workers):
    (runs.path / "file").write_text("")
    line = refused(runs.run(*workers, "--pydoca-out=file", body=BODY))
    assert line.startswith("ERROR: --pydoca-out: the run cannot be written: ")
    assert line.endswith("Not a directory; give a directory to write to")


def test_a_run_that_cannot_be_written_is_not_resumed(runs):
    assert runs.run("--pydoca-select=DMA-1", body=BODY).ret == 0
    (folder,) = (runs.path / "runs").iterdir()
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()
    line = refused(runs.run(f"--pydoca-resume={folder}", device=None))
    assert line.startswith("ERROR: --pydoca-resume: the run cannot be written: ")


@pytest.mark.parametrize("variable", ["PYDOCA_FAULTS", "PYDOCA_TOPOLOGY", "PYDOCA_TIMING"])
def test_a_wrong_file_of_the_environment_is_named(runs, monkeypatch, variable):
    monkeypatch.setenv(variable, "absent.toml")
    runs.write(BODY)
    result = runs.pytester.runpytest_subprocess(*runs.line("sim:p0"))  # a process reads the environment once
    line = refused(result)
    assert variable in line
    assert "absent.toml" in line


def test_a_place_of_another_user_is_not_the_devices_fault(runs, monkeypatch, tmp_path):
    place = tmp_path / "theirs"
    place.mkdir(mode=0o755)
    monkeypatch.setenv("PYDOCA_FABRIC_DIR", str(place))
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    result = runs.run(body=BODY)
    assert result.ret == 4
    assert f"{place}, which belongs to user {os.getuid()}; set PYDOCA_FABRIC_DIR" in result.stderr.str()
    assert not (runs.path / "runs").exists()


@pytest.mark.parametrize(
    ("workers", "given", "ids"),
    [
        ([], ["DMA-1"], {"DMA-1"}),
        ([], ["dma-1"], {"DMA-1"}),
        ([], ["*DMA-1"], {"DMA-1", "RDMA-1"}),
        ([], ["DMA-1,RDMA-1"], {"DMA-1", "RDMA-1"}),
        ([], ["DMA-1", "RDMA-1"], {"DMA-1", "RDMA-1"}),
        (["-n", "1"], ["dma-1", "*DMA-1"], {"DMA-1", "RDMA-1"}),
    ],
)
def test_cases_are_selected_by_their_ids(runs, workers, given, ids):
    result = runs.run(*workers, *(f"--pydoca-select={each}" for each in given), body=BODY)
    assert result.ret == 0  # the plain test did not run
    assert set(runs.verdicts()) == ids


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--pydoca-select=NOPE", "--pydoca-select: no case has the id 'NOPE' (a pattern has a *"),
        ("--pydoca-select=DMA-11", "no case has the id 'DMA-11'; did you mean 'DMA-1'"),
        ("--pydoca-select=DMA-2", "'DMA-2' is not a case of level quick: choose --pydoca-level=full"),
        ("--pydoca-rep=nope", "--pydoca-rep: there is no representor 'nope' of sim:p0"),
        ("--pydoca-peer=nope", "--pydoca-peer: there is no device 'nope'"),
    ],
)
@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_what_does_not_exist_is_refused_though_no_case_needs_it(runs, word, message, workers):
    assert message in refused(runs.run(*workers, word, body=BODY))
    if not workers:  # xdist's controller has begun its runs when its workers collect
        assert not (runs.path / "runs").exists()


def test_a_duration_that_is_shorter_than_a_pass_is_told(runs):
    body = "import pytest\n@pytest.mark.pydoca_case('A', seconds=90)\ndef test_it(pydoca_device): pass\n"
    result = runs.run("--pydoca-duration=1", body=body)
    result.stdout.fnmatch_lines(["*longer than --pydoca-duration (1 s): they run once, as a pass is complete"])
    result = runs.run("--pydoca-select=A", body=body)
    assert "longer than --pydoca-duration" not in result.stdout.str()
