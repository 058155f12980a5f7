"""`pydoca sync-event`: two real processes that signal each other, in every mode, and started in either order."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pydoca

pytestmark = pytest.mark.slow

# Seconds from a fault to the end of both. The project's own limit is one; machines under load get more.
LIMIT = 5.0

PARTS = ["local", "remote"]
MODES = {"set": [], "add": ["--atomic"], "async-set": ["--async"], "async-add": ["--async", "--atomic"]}
OTHER = {"local": "remote", "remote": "local"}

BLUEFIELD2 = """
profile = "bluefield2"

[[function]]
name = "uplink"
pci_addr = "03:00.0"
side = "dpu"

[[function]]
name = "port"
pci_addr = "0b:00.0"
side = "host"
parent = "uplink"
representor = "port_rep"
"""

# Runs the command; instead of publishing, it waits for ever.
HOLDING = """
import asyncio, sys
from pydoca.cli import main
from pydoca.cli.sync_event import _handshake

async def hold(counter, value, over):
    print("held", flush=True)
    await asyncio.Event().wait()

_handshake._publish = hold
sys.exit(main(sys.argv[1:]))
"""


# A host process that connects, sends the given number of its part's messages, and then sends nothing more.
SILENT = """
import asyncio, sys
import pydoca
from pydoca.cli._two_processes.messages import Event, Part, encode

async def main(part, count):
    device = pydoca.open_device("0b:00.0", side="host")
    made = pydoca.SyncEvent(device, subscriber="remote_pci")
    made.start()
    event = Event.of(made.export_to_remote_pci())
    print("ready", flush=True)
    async with pydoca.ProgressEngine() as engine, pydoca.comch.Client(engine, device, "sync-event") as link:
        for message in (Part(part), event)[:count]:
            await link.send(encode(message))
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def require_error(end, *parts: str, code: int = 1) -> None:
    returncode, output, errors = end
    assert (returncode, output) == (code, ""), end
    assert errors.startswith("pydoca: " if code == 1 else "pydoca sync-event"), errors
    assert errors.count("\n") == 1, errors
    for part in parts:
        assert part in errors


def end_of(run) -> tuple[int, str, str]:
    return run.returncode, run.stdout, run.stderr


def ends(processes: "dict[str, subprocess.Popen[str]]", timeout: float = 30.0) -> dict:
    """Exit code, output and errors of each process."""
    outputs = {part: process.communicate(timeout=timeout) for part, process in processes.items()}
    return {part: (processes[part].returncode, *outputs[part]) for part in processes}


def shake_hands(commands, local=(), remote=(), first: str = "local", **options) -> dict:
    """The results of both processes."""
    flags = {"local": local, "remote": remote}
    processes = {}
    for part in (first, OTHER[first]):
        processes[part] = commands.start("sync-event", part, *flags[part], "--json", **options)
        if part == first:
            commands.wait_for_loop(processes[part])
    results = {}
    for part, (code, output, errors) in ends(processes).items():
        assert (code, errors) == (0, ""), (part, errors)
        results[part] = json.loads(output)
        assert results[part]["pid"] == processes[part].pid
    return results


def require_handshake(results: dict, modes: dict[str, str]) -> None:
    local, remote = results["local"], results["remote"]
    assert (local["published"], local["seen"]) == (remote["seen"], remote["published"]) == (10, 20)
    for part, mode in modes.items():
        is_async, adds = "async" in mode, "add" in mode
        verb = ("notify" if is_async else "update") + ("_add" if adds else "_set")
        assert results[part]["mode"] == ("asynchronous" if is_async else "synchronous")
        assert results[part]["published_with"] == verb
        assert results[part]["before"] == ({"local": 0, "remote": 10}[part] if adds else None)
        assert results[part]["waited_with"] == ("wait_eq" if is_async else "wait_eq_yield")


# ---- the handshake


@pytest.mark.parametrize("first", PARTS)
@pytest.mark.parametrize("mode", MODES)
def test_two_commands_in_either_order(commands, mode, first):
    results = shake_hands(commands, MODES[mode], MODES[mode], first)
    require_handshake(results, {"local": mode, "remote": mode})


@pytest.mark.parametrize(
    ("local", "remote"), [(local, remote) for local in MODES for remote in MODES if local != remote]
)
def test_each_part_has_a_mode_of_its_own(commands, local, remote):
    results = shake_hands(commands, MODES[local], MODES[remote])
    require_handshake(results, {"local": local, "remote": remote})


def test_json_tells_all_of_the_handshake(commands):
    results = shake_hands(commands, ["--atomic"], ["--async", "--async_num_tasks", "8"])
    local, remote = results["local"], results["remote"]
    assert local.pop("round_trip_seconds") > 0
    assert local.pop("pid") != remote.pop("pid")
    assert local == {
        "part": "local",
        "side": "host",
        "device": "0000:0b:00.0",
        "representor": None,
        "mode": "synchronous",
        "published": 10,
        "published_with": "update_add",
        "before": 0,
        "seen": 20,
        "waited_with": "wait_eq_yield",
    }
    assert remote == {
        "part": "remote",
        "side": "dpu",
        "device": "0000:03:00.0",
        "representor": "0000:0b:00.0",
        "mode": "asynchronous",
        "published": 20,
        "published_with": "notify_set",
        "before": None,
        "seen": 10,
        "waited_with": "wait_eq",
    }


def test_text_tells_what_was_seen(commands):
    processes = {part: commands.start("sync-event", part, "--atomic") for part in PARTS}
    told = ends(processes)
    assert re.fullmatch(
        r"local: published 10 with update_add, over 0\n"
        r"local: saw 20 of the remote process with wait_eq_yield, \d+ us later\n",
        told["local"][1],
    )
    assert told["remote"][1:] == (
        "remote: saw 10 of the local process with wait_eq_yield\nremote: published 20 with update_add, over 10\n",
        "",
    )


def test_the_parts_may_change_sides(commands):
    """The DPU makes the event, and the host imports it."""
    results = shake_hands(commands, ["-r", "0b:00.1"], ["-d", "0b:00.1", "--async"], "remote")
    require_handshake(results, {"local": "set", "remote": "async-set"})
    assert (results["local"]["side"], results["local"]["device"]) == ("dpu", "0000:03:00.1")
    assert (results["remote"]["side"], results["remote"]["device"]) == ("host", "0000:0b:00.1")


def test_pairs_with_names_of_their_own_do_not_disturb_each_other(commands):
    pairs = [
        {part: commands.start("sync-event", part, "--name", f"pair{number}") for part in PARTS} for number in range(3)
    ]
    for pair in pairs:
        assert {part: end[0] for part, end in ends(pair).items()} == {"local": 0, "remote": 0}


@pytest.fixture
def bluefield2(commands, tmp_path) -> dict[str, str]:
    (tmp_path / "bluefield2.toml").write_text(BLUEFIELD2)
    return {**commands.env, "PYDOCA_TOPOLOGY": str(tmp_path / "bluefield2.toml")}


def test_a_device_without_wait_tasks_waits_with_get_tasks_and_says_so(commands, bluefield2):
    results = shake_hands(commands, ["--async"], ["--async", "--atomic"], env=bluefield2)
    for part, value in (("local", 20), ("remote", 10)):
        assert results[part]["seen"] == value
        assert "get tasks" in results[part]["waited_with"]
        assert "no wait tasks" in results[part]["waited_with"]


def test_a_device_without_wait_tasks_waits_without_tasks_as_any(commands, bluefield2):
    require_handshake(shake_hands(commands, env=bluefield2), {"local": "set", "remote": "set"})


# ---- flags


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["both"], "'both'"),
        (["local", "-d"], "--pci-addr"),
        (["local", "--async", "--async_num_tasks", "0"], "from 1 on"),
        (["local", "--async_num_tasks", "3"], "goes with --async"),
        (["local", "-l", "45"], "10 (DISABLE)"),
        (["local", "--sdk-log-level", "loud"], "'loud'"),
        (["local", "--timeout", "-1"], "is not a time"),
        (["local", "-j"], "--flag-file"),
        (["local", "extra"], "extra"),
        (["local", "--json", "flags.json"], "-j"),
        (["local", "--qdepth", "3"], "goes with --async"),
        (["local", "--name", b"\xff\xfe"], "--name: '\\udcff\\udcfe' is not a name"),
        (["remote", "-r", b"\xff"], "'\\udcff' is not a name"),
    ],
)
def test_a_wrong_command_line_is_explained_in_one_line(commands, arguments, part):
    require_error(end_of(commands.run("sync-event", *arguments)), part, "--help", code=2)


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_a_part_tells_the_version(commands, flag):
    run = commands.run("sync-event", "local", flag)
    assert end_of(run) == (0, f"pydoca {pydoca.__version__}\n", "")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_every_flag(commands, flag):
    run = commands.run("sync-event", "remote", flag)
    assert run.returncode == 0
    for name in ("--pci-addr", "--rep-pci-addr", "--async", "--async_num_tasks", "--atomic"):
        assert name in run.stdout


def write_flags(path: Path, **sections) -> Path:
    path.write_text(json.dumps(sections))
    return path


def test_flags_from_a_file(commands, tmp_path):
    flags = {"pci-addr": "pf1", "async": True, "atomic": False, "qdepth": 2, "name": "filed", "timeout": 20.5}
    file = write_flags(tmp_path / "local.json", doca_program_flags=flags, doca_general_flags={"sdk-log-level": 20})
    results = shake_hands(commands, ["-j", file], ["--rep-pci", "0b:00.1", "--name", "filed"])
    require_handshake(results, {"local": "async-set", "remote": "set"})
    assert results["local"]["device"] == "0000:0b:00.1"


@pytest.mark.parametrize("place", ["before", "behind"])
def test_the_command_line_wins_over_a_file(commands, tmp_path, place):
    flags = {"pci-addr": "09:00.0", "atomic": True}
    file = ["--flag-file", write_flags(tmp_path / "local.json", doca_program_flags=flags)]
    own = ["-d", "pf0"]
    results = shake_hands(commands, [*own, *file] if place == "before" else [*file, *own])
    require_handshake(results, {"local": "add", "remote": "set"})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{", ["not JSON"]),
        ("[" * 100_000, ["not JSON"]),
        ("\xff", ["not JSON"]),
        ("[]", ["not a JSON object"]),
        ('{"flags": {}}', ["'flags'", "doca_program_flags"]),
        ('{"doca_program_flags": 1}', ["doca_program_flags"]),
        ('{"doca_program_flags": {"asynch": true}}', ["'asynch'", "async_num_tasks"]),
        ('{"doca_program_flags": {"log-level": 50}}', ["'log-level'"]),
        ('{"doca_general_flags": {"log-level": 55}}', ["55", "--log-level"]),
        ('{"doca_program_flags": {"async": "yes"}}', ["--async"]),
        ('{"doca_program_flags": {"pci-addr": true}}', ["--pci-addr"]),
        ('{"doca_program_flags": {"pci-addr": null}}', ["pci-addr", "null"]),
        ('{"doca_program_flags": {"async_num_tasks": 0}}', ["from 1 on"]),
        ('{"doca_program_flags": {"pci-addr": "\\ud800"}}', ["--pci-addr", "'\\ud800' is not a name"]),
        ('{"doca_program_flags": {"name": ["\\u001b[0m"]}}', ["name"]),
    ],
)
def test_a_wrong_file_of_flags_is_explained_in_one_line(commands, tmp_path, text, parts):
    file = tmp_path / "flags.json"
    file.write_bytes(text.encode("latin-1"))
    end = end_of(commands.run("sync-event", "local", "-j", file))
    require_error(end, str(file), *parts, code=2)
    assert "\x1b" not in end[2]


def test_a_missing_file_of_flags(commands, tmp_path):
    end = end_of(commands.run("sync-event", "local", "-j", tmp_path / "none.json"))
    require_error(end, str(tmp_path / "none.json"), "No such file", code=2)


def test_log_levels_show_what_the_command_says(commands):
    flags = {"local": ["-l", "50"], "remote": []}
    told = ends({part: commands.start("sync-event", part, *flags[part]) for part in PARTS})
    assert (told["local"][0], told["remote"][0], told["remote"][2]) == (0, 0, "")
    steps = told["local"][2].splitlines()
    assert all("INFO pydoca.app.command: " in line for line in steps)
    assert any("published 10" in line for line in steps)


# ---- devices


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["local", "-d", "09:00.0"], ["09:00.0", "0b:00.0"]),
        (["remote", "-d", "09:00.0"], ["09:00.0", "03:00.0"]),
        (["remote", "-r", "0c:00.0"], ["0c:00.0", "representor"]),
        (["remote", "-d", "p1", "-r", "0b:00.0"], ["0b:00.0"]),  # p0 holds this representor
        (["local", "-d", "0b:00.0", "-r", "0b:00.0"], ["0b:00.0"]),  # the host has no representors
        (["local", "--async", "--async_num_tasks", "70000"], ["--async_num_tasks", "65536"]),
        (["local", "--name", "n" * 200], ["n" * 20]),
    ],
)
def test_what_the_devices_cannot_do(commands, arguments, parts):
    require_error(end_of(commands.run("sync-event", *arguments)), *parts)


# ---- the other process


@pytest.mark.parametrize("part", PARTS)
def test_the_other_part_never_comes(commands, part):
    end = end_of(commands.run("sync-event", part, "--name", "lonely", "--timeout", "0.3"))
    require_error(end, "'lonely'", f"`pydoca sync-event {OTHER[part]} --name lonely`", "--timeout", "0.3 s")


@pytest.mark.parametrize("flags", [[], ["--async"]], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize(("part", "count"), [("remote", 0), ("remote", 1), ("remote", 2), ("local", 0), ("local", 1)])
def test_the_other_part_comes_and_keeps_silent(commands, part, count, flags):
    """The timeout ends the command, but not the other process."""
    line = [sys.executable, "-P", "-c", SILENT, OTHER[part], str(count)]
    with subprocess.Popen(
        line, env=commands.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as other:
        try:
            assert other.stdout.readline() == "ready\n"
            end = end_of(commands.run("sync-event", part, "-d", "p0", "--timeout", "1", *flags))
            assert other.poll() is None
        finally:
            other.kill()
    require_error(end, f"the handshake with the {OTHER[part]} process was not complete after 1 s", "--timeout")


def test_waiting_without_standard_error(commands):
    line = ["sh", "-c", '"$@" 2>&-', "sh", *commands.line("sync-event", "local", "--timeout", "0.3")]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=commands.env)
    assert end_of(run) == (1, "", "")


def test_two_halves_of_one_part_do_not_go_together(commands):
    processes = {
        "host": commands.start("sync-event", "local"),
        "dpu": commands.start("sync-event", "local", "-d", "p0"),
    }
    told = ends(processes)
    assert {end[0] for end in told.values()} == {1}
    assert any("both processes are 'local': one must be 'remote'" in end[2] for end in told.values())
    for end in told.values():
        require_error(end)


@pytest.mark.parametrize(
    ("part", "number"), [("local", signal.SIGINT), ("remote", signal.SIGINT), ("local", signal.SIGTERM)]
)
def test_waiting_for_the_other_part_ends_by_a_signal(commands, part, number):
    process = commands.start("sync-event", part)
    commands.wait_for_loop(process)
    process.send_signal(number)
    text = "pydoca: interrupted\n" if number == signal.SIGINT else "pydoca: ended by SIGTERM\n"
    assert ends({part: process}, LIMIT)[part] == (128 + number, "", text)


class Held:
    """One part waits for the other one's event, which never comes."""

    def __init__(self, commands, waiting: str, *flags: str) -> None:
        self.waiting, self.holding = waiting, OTHER[waiting]
        line = [sys.executable, "-P", "-c", HOLDING, "sync-event", self.holding]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.processes = {
            self.holding: subprocess.Popen(line, env=commands.env, **streams),
            self.waiting: commands.start("sync-event", waiting, *flags),
        }
        assert self.processes[self.holding].stdout.readline() == "held\n"

    def send_signal(self, part: str, number: int) -> dict:
        self.processes[part].send_signal(number)
        return ends(self.processes, LIMIT)

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()


@pytest.mark.parametrize("way", ["option", "environment"])
def test_log_levels_show_what_the_engine_says(commands, way):
    if way == "environment":
        commands.env = {**commands.env, "PYDOCA_SDK_LOG_LEVEL": "INFO"}
    pair = Held(commands, "local", *(["--sdk-log-level", "50"] if way == "option" else []))
    try:
        *engine, error = pair.send_signal("remote", signal.SIGKILL)["local"][2].splitlines()
    finally:
        pair.close()
    assert error.startswith("pydoca: the remote process ended")
    assert engine
    assert all(" INFO pydoca." in line and "pydoca.app" not in line for line in engine)


@pytest.fixture(params=["synchronous", "asynchronous", "get tasks"])
def held(request, commands, bluefield2):
    if request.param == "get tasks":
        commands.env = bluefield2
    flags = [] if request.param == "synchronous" else ["--async"]
    made = []

    def make(waiting: str) -> Held:
        made.append(Held(commands, waiting, *flags))
        return made[-1]

    yield make
    for pair in made:
        pair.close()


@pytest.mark.parametrize("waiting", PARTS)
def test_the_death_of_the_other_process_ends_the_wait(held, waiting):
    pair = held(waiting)
    told = pair.send_signal(pair.holding, signal.SIGKILL)
    assert told[pair.holding][0] == -signal.SIGKILL
    require_error(told[waiting], f"the {pair.holding} process ended before the handshake was complete")


@pytest.mark.parametrize("waiting", PARTS)
def test_an_interrupted_process_tells_the_one_that_waits(held, waiting):
    pair = held(waiting)
    told = pair.send_signal(pair.holding, signal.SIGINT)
    assert told[pair.holding] == (130, "", "pydoca: interrupted\n")
    require_error(told[waiting], f"the {pair.holding} process gave up: interrupted")


@pytest.mark.parametrize("waiting", PARTS)
def test_a_wait_for_an_event_ends_by_a_signal(held, waiting):
    pair = held(waiting)
    told = pair.send_signal(waiting, signal.SIGINT)
    assert told[waiting] == (130, "", "pydoca: interrupted\n")
    require_error(told[pair.holding], f"the {waiting} process gave up: interrupted")
