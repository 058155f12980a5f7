"""The option --fleet: the command lines that it refuses, and the remedies that it names."""

import asyncio

import pytest

from pydoca.qualify.fleet import cluster
from pydoca.qualify.fleet.cards import list_cards
from pydoca.qualify.fleet.cluster import FleetError, connect, require_distributed
from pydoca.qualify.fleet.order import Order, OrderError, SentFile, seconds_of_a_run, write_files
from pydoca.qualify.session.choice import ChoiceError


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fleet", "sim:p0"], "'sim:p0' is not the address of a scheduler: write tcp://HOST:PORT, or --fleet behind"),
        (["--fleet", "tcp://127.0.0.1:1", "-n", "2"], "-n starts workers of a local cluster"),
        (["--fleet", "-n", "no"], "-n no: with --fleet, write a number of worker processes"),
        (["--fleet", "--resume", "runs/x"], "--resume does not go with --fleet"),
        (["--fleet", "--peer", "pf0"], "--peer does not go with --fleet"),
        (["sim:p0", "--patience", "3s"], "--patience is for --fleet"),
        (["--fleet", "--limits", "none.toml"], "none.toml: the limits file cannot be read: No such file"),
        (["--fleet", "--tests", "."], ". is a directory: with --fleet, name the files"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_remedy(commands, words, says):
    run = commands.run("qualify", *words)
    assert run.returncode == 4, run.stderr
    assert says in run.stderr
    assert not (commands.directory / "runs").exists()


def test_the_help_says_how_a_fleet_is_set_up(commands):
    text = " ".join(commands.run("qualify", "run", "--help").stdout.split())
    for part in ("--fleet [ADDRESS]", "dask worker tcp://HOST:8786 --nthreads 1", "pydoca[fleet]", "TLS", "outliers"):
        assert part in text


@pytest.mark.parametrize("package", ["distributed", "cryptography"])
def test_a_missing_package_is_named_with_the_extra(package, monkeypatch):
    find = cluster.find_spec
    monkeypatch.setattr(cluster, "find_spec", lambda name: None if name == package else find(name))
    with pytest.raises(FleetError, match=rf"--fleet needs {package}.*pip install .*'distributed>=.*'scipy>="):
        require_distributed()


def test_a_scheduler_that_does_not_answer_is_named_with_what_starts_one(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_CONNECT", 0.5)

    async def attempt():
        async with connect("tcp://127.0.0.1:1", 0):
            pass

    with pytest.raises(FleetError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1 .*dask scheduler"):
        asyncio.run(attempt())


def test_without_names_one_device_of_each_card_is_chosen():
    [card] = list_cards(backend="sim")
    assert (card.device, card.side, card.profile) == ("sim:p0", "dpu", "bluefield3")
    assert [each.name for each in list_cards(["sim:pf*", "p0"])][-1] == "p0"
    assert len({each.serial for each in list_cards(["sim:pf*", "sim:p?"])}) == 1, "functions of one card"


def test_a_name_that_a_worker_does_not_have_gives_none_and_an_ambiguous_one_is_refused():
    assert list_cards(["sim:card77-p0"]) == []
    with pytest.raises(ChoiceError, match="ambiguous"):
        list_cards(["sim"])


def test_files_go_to_workers_by_their_content(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.toml").write_text(folder)
    files = [SentFile.read("--pydoca-limits", str(tmp_path / folder / "x.toml")) for folder in ("a", "b")]
    (tmp_path / "worker").mkdir()
    options, cases = write_files([*files, SentFile("", "test_a.py", "")], tmp_path / "worker")
    assert options == ["--pydoca-limits=x.toml", "--pydoca-limits=file1/x.toml"]
    assert cases == ["test_a.py"]
    assert (tmp_path / "worker" / "file1" / "x.toml").read_text() == "b"
    (tmp_path / "large").write_bytes(b" " * ((4 << 20) + 1))
    with pytest.raises(OrderError, match="larger than 4 MiB"):
        SentFile.read("", str(tmp_path / "large"))


def test_a_run_has_several_times_the_time_of_its_level():
    assert seconds_of_a_run("smoke", 1, None) == 160.0
    assert seconds_of_a_run("smoke", 10, None) == 520.0
    assert seconds_of_a_run("soak", 1, 3600.0) == 5520.0
    assert Order(words=(), level="smoke", seed=1).options["seconds"] == 3600.0
