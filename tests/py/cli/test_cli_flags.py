"""The flags that every command has, as DOCA's programs have them: log levels, flags from a file, the version."""

import json
import re
import subprocess

import pytest

import pydoca
from pydoca import LogLevel

LEAVES = [
    "devices",
    "caps",
    "copy",
    "sync-event local",
    "sync-event remote",
    "rdma ping-pong",
    "graph",
    "qualify run",
    "qualify plan",
    "qualify limits check",
    "qualify train",
    "qualify compare",
    "qualify report",
    "qualify study",
    "rdma-lab",
    "sdk",
    "explain",
]

# The command, in a process whose engine logs something.
SPEAKING = """
import sys
from pydoca import _core
from pydoca.cli import main
_core.log_engine(30, "dma", "the engine speaks")
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", LEAVES)
def test_every_command_has_docas_flags(commands, command):
    text = commands.run(*command.split(), "--help").stdout
    for flag in ("-h, --help", "-v, --version", "--sdk-log-level LEVEL", "--debug"):
        assert flag in text
    for flag in (r"-l( LEVEL)?, --log-level LEVEL", r"-j( FILE)?, --flag-file FILE"):
        assert re.search(flag, text), "since Python 3.13 the value is named once"
    for level in ("10=DISABLE", "20=CRITICAL", "30=ERROR", "40=WARNING", "50=INFO", "60=DEBUG", "70=TRACE"):
        assert level in text


@pytest.mark.parametrize("command", ["", "rdma", "sync-event", *LEAVES])
def test_every_command_tells_the_version(commands, command):
    run = commands.run(*command.split(), "-v")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"pydoca {pydoca.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("copy -f big.bin", "(-f of DOCA's programs: SRC or DST, without a flag)"),
        ("copy --rep-pci=0b:00.0 SRC DST", "(--rep-pci of DOCA's programs: --rep)"),
        ("copy -p 0b:00.0 -d export.txt SRC", "(-p of DOCA's programs: --device, or --dpu-device)"),
        ("sha --data text", "(--data of DOCA's programs: FILE, or standard input)"),
        ("graph -p 03:00.0", "(-p of DOCA's programs: --device)"),
        ("graph --json flags.json", "flags come from a file by -j"),
    ],
)
def test_flags_of_docas_programs_are_named_with_what_takes_their_place(commands, arguments, part):
    run = commands.run(*arguments.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert part in run.stderr


@pytest.mark.parametrize("level", ["10", "20", "CRITICAL", "CRIT", "error", "Warning", "50", "DEBUG", "70"])
def test_a_level_is_a_name_or_a_number(commands, level):
    run = commands.run("devices", "-l", level, "--sdk-log-level", level)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("flag", ["-l", "--sdk-log-level"])
def test_another_level_is_refused_with_those_that_exist(commands, flag):
    run = commands.run("caps", "p0", flag, "loud")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("pydoca caps: error: argument ")
    for part in ("'loud'", "10 (DISABLE)", "20 (CRIT)", "70 (TRACE)"):
        assert part in run.stderr


@pytest.mark.parametrize(("way", "count"), [("-l 50", 2), ("PYDOCA_LOG_LEVEL", 2), ("-l 40", 0), ("", 0)])
def test_both_halves_of_a_copy_tell_their_steps(commands, tmp_path, way, count):
    (tmp_path / "source").write_bytes(b"bytes")
    env = {**commands.env, way: "INFO"} if way.startswith("PYDOCA") else commands.env
    options = way.split() if way.startswith("-") else []
    run = commands.run("copy", "source", "copy", *options, env=env)
    steps = [line for line in run.stderr.splitlines() if " INFO pydoca.app.command: waiting for the " in line]
    assert (run.returncode, len(steps), run.stderr.count("\n")) == (0, count, count)


@pytest.mark.parametrize("way", ["--sdk-log-level", "PYDOCA_SDK_LOG_LEVEL", "the option wins", ""])
@pytest.mark.parametrize("command", ["devices", "caps p0", "rdma ping-pong --count 3 --quiet", "caps missing"])
def test_what_the_engine_says_is_shown_by_every_command(commands, command, way):
    options = {"--sdk-log-level": ["--sdk-log-level", "30"], "the option wins": ["--sdk-log-level", "20"]}.get(way, [])
    env = {**commands.env, "PYDOCA_SDK_LOG_LEVEL": "ERROR"} if way not in ("--sdk-log-level", "") else commands.env
    line = [commands.line()[0], "-P", "-c", SPEAKING, *command.split(), *options]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=env)
    fails = command == "caps missing"
    told = [" ERROR pydoca.dma: the engine speaks"] if way in ("--sdk-log-level", "PYDOCA_SDK_LOG_LEVEL") else []
    assert run.returncode == fails
    lines = run.stderr.splitlines()
    assert len(lines) == len(told) + fails
    assert all(line.endswith(text) for line, text in zip(lines, told, strict=False))
    assert not fails or lines[-1].startswith("pydoca: ")


@pytest.mark.parametrize("variable", ["PYDOCA_LOG_LEVEL", "PYDOCA_SDK_LOG_LEVEL"])
@pytest.mark.parametrize("start", ["module", "script"])
def test_a_bad_level_in_the_environment_is_an_error_in_one_line(commands, variable, start):
    line = commands.line("devices") if start == "module" else [commands.script(), "devices"]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env={**commands.env, variable: "loud"})
    known = ", ".join(f"{level.value} ({level.name})" for level in LogLevel)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        f"pydoca: the environment's {variable}: log level 'loud' does not exist; use one of {known}\n"
    )


def test_help_needs_no_good_environment(commands):
    run = commands.run("--help", env={**commands.env, "PYDOCA_LOG_LEVEL": "loud"})
    assert (run.returncode, run.stderr) == (0, "")


def write_flags(path, **sections) -> str:
    path.write_text(json.dumps(sections))
    return str(path)


def test_a_file_has_flags_for_any_command(commands, tmp_path):
    file = write_flags(
        tmp_path / "flags.json",
        doca_general_flags={"log-level": "INFO"},
        doca_program_flags={"piece-size": "1K", "in-flight": 3, "json": True},
    )
    (tmp_path / "source").write_bytes(bytes(5000))
    run = commands.run("copy", "-j", file, "source", "copy")
    document = json.loads(run.stdout)
    assert (document["piece_size"], document["in_flight"]) == (1024, 3)
    assert run.stderr.count("INFO") == 2
    run = commands.run("copy", "--flag-file", file, "source", "copy", "--piece-size", "2K", "-l", "10")
    assert (json.loads(run.stdout)["piece_size"], run.stderr) == (2048, "")


def test_flags_of_a_file_are_those_of_the_command(commands, tmp_path):
    file = write_flags(tmp_path / "flags.json", doca_program_flags={"side": "left"})
    run = commands.run("caps", "-j", file, "p0")
    assert run.returncode == 2
    assert run.stderr.startswith(f"pydoca caps: error: {file}: argument --side: 'left' is none of host, dpu; see ")
    run = commands.run("rdma", "ping-pong", "-j", file)
    assert "'side' is not known; there are: " in run.stderr
    assert "backend" in run.stderr


def test_a_file_has_no_flags_that_end_the_command(commands, tmp_path):
    for name in ("help", "version", "flag-file", "front-end"):
        file = write_flags(tmp_path / "flags.json", doca_program_flags={name: True})
        assert f"{name!r} is not known" in commands.run("copy", "a", "b", "-j", file).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["device"], "'device' does not exist; did you mean 'devices'? (flags follow their command)"),
        (["rdma", "ping"], "'ping' does not exist; did you mean 'ping-pong'?"),
        (["-l", "55", "devices"], "flags follow their command"),
        (["copy", "--backend", "verbs", "a", "b"], "--backend verbs goes with --transport rdma"),
    ],
)
def test_a_wrong_word_says_what_is_right(commands, words, says):
    run = commands.run(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr


def test_a_name_of_few_letters_is_not_taken_for_another(commands):
    run = commands.run("explain", "foo")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "did you mean" not in run.stderr
