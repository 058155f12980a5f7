"""`pydoca graph`: DOCA's graph sample."""

import json
import re
import resource

import pytest

from pydoca.cli import main

LINE = re.compile(r" *(\d) (\w+) +COMPLETED +[\d.]+ us from [\d.]+ us on(?: +-> (\d))?")


def lines_of(output):
    """The nodes that a picture shows: index, what it runs, successor."""
    return [LINE.fullmatch(line).groups() for line in output.splitlines()[1:4]]


def test_two_copies_run_side_by_side(commands):
    run = commands.run("graph")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("10 instance(s) on p0, 1024 bytes each")
    assert lines_of(run.stdout) == [("0", "Dma", "2"), ("1", "Dma", "2"), ("2", "compare", None)]
    assert "SHA" not in run.stdout


def test_a_card_with_a_sha_engine_makes_a_digest_beside_the_copy(commands):
    run = commands.run("graph", "--profile", "bluefield2", "--instances", "3", "--size", "100K")
    assert (run.returncode, run.stderr) == (0, "")
    assert lines_of(run.stdout) == [("0", "Dma", "2"), ("1", "Sha", "2"), ("2", "compare", None)]
    assert re.fullmatch(r"compare got the SHA-256 [0-9a-f]{64}", run.stdout.splitlines()[-1])


def test_json_has_the_digest_of_each_message(commands):
    run = commands.run("graph", "--profile", "bluefield2", "--instances", "3", "--json")
    digests = json.loads(run.stdout)["digests"]
    assert len(set(digests)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)


def test_json_has_the_states_and_times_of_every_instance(capsys):
    assert main(["graph", "--json", "--instances", "2", "--size", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["device"], document["size"], len(document["instances"])) == ("p0", 1, 2)
    assert document["digests"] == [None, None]
    for nodes in document["instances"]:
        copied, also, compared = nodes
        assert {node["state"] for node in nodes} == {"COMPLETED"}
        assert max(copied["ended_ns"], also["ended_ns"]) <= compared["started_ns"] <= compared["ended_ns"]


def test_dot_is_the_plan_alone(capsys):
    assert main(["graph", "--dot"]) == 0
    assert {"  0 -> 2;", "  1 -> 2;"} <= set(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--device", "nope"], 'no device is called "nope"'),
        (["--instances", "100000"], "--instances 100000: p0 runs at most 32768 at a time"),
        (["--size", "5M"], "at most 2097152"),
    ],
)
def test_what_cannot_run_is_one_line(capsys, arguments, part):
    assert main(["graph", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("pydoca: ")
    assert part in error
    assert error.count("\n") == 1


def test_a_message_beyond_the_limit_is_refused_before_it_is_made(commands):
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    run = commands.run("graph", "--size", "10G", preexec_fn=limit)
    assert (run.returncode, run.stdout) == (1, "")
    assert "--size 10737418240: a task of p0 takes at most 2097152 bytes" in run.stderr
