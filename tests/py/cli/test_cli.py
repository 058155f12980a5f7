"""The command `pydoca`: `devices`, `caps`, and its answers to a wrong command line."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import pydoca
from pydoca import _sdk
from pydoca.cli._parser import parse

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if not path.is_relative_to(DOCS / "made"))]


def require_one_line(text: str, *parts: str) -> None:
    assert text.startswith("pydoca: "), text
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    for part in parts:
        assert part in text


def test_version_is_the_packages(commands):
    run = commands.run("--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"pydoca {pydoca.__version__}\n", "")


def test_help_names_every_command(commands):
    run = commands.run("--help")
    assert run.returncode == 0
    listed = [line.split()[0] for line in run.stdout.splitlines() if re.match(r" {4}\w", line)]
    assert listed == [
        "devices",
        "caps",
        "copy",
        "sync-event",
        "rdma",
        "graph",
        "sha",
        "qualify",
        "rdma-lab",
        "sdk",
        "explain",
    ]


MODULES = """
import sys
from pydoca.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    print("imported:", *sorted({"asyncio", "numpy", "shtab", "ssl", "subprocess", "tqdm"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["copy", "--help"], ["rdma", "ping-pong", "--help"], ["copy", "a"]])
def test_a_command_that_does_not_run_imports_nothing_heavy(commands, arguments):
    line = [commands.line()[0], "-P", "-c", MODULES, *arguments]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=commands.env)
    assert run.stdout.splitlines()[-1] == "imported:"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["list"], "'list'"),
        (["--json"], "--json"),
        (["copy", "a", "b", "--nothing"], "--nothing"),
        (["devices", "--side", "left"], "'left'"),
        (["caps"], "DEVICE"),
        (["copy", "a"], "SRC and DST"),
        (["copy", "a", "b", "c"], "3 paths"),
        (["copy", "--side", "host", "a", "b"], "SRC, and no DST"),
        (["copy", "--side", "dpu", "a", "b"], "DST, and no SRC"),
        (["copy", "a", "b", "--name", "n"], "--name"),
        (["copy", "--side", "host", "a", "--piece-size", "1K"], "--side dpu"),
        (["copy", "--side", "dpu", "a", "--device", "p0", "--dpu-device", "p1"], "give one"),
        (["copy", "a", "b", "--piece-size", "0"], "'0' is not a size"),
        (["copy", "a", "b", "--piece-size", "1.5M"], "'1.5M' is not a size"),
        (["copy", "a", "b", "--in-flight", "0"], "from 1 on"),
        (["copy", "a", "b", "--in-flight", "-1"], "from 1 on"),
        (["copy", "a", "b", "--timeout", "nan"], "'nan' is not a time"),
        (["copy", "a", "b", "--timeout", "0"], "more than 0"),
        (["copy", "a", "b", "--timeou", "1"], "--timeou"),
        (["rdma-lab", "--pair"], "COMMAND"),
        (["rdma-lab", "--memory", "much", "true"], "'much' is not a size"),
        (["rdma-lab", "--memory", "1M", "true"], "--memory 1M: a guest can have 256M to "),
        (["rdma-lab", "--memory", "9999999G", "true"], "which this machine has"),
        (["rdma-lab", "--cpus", "1000", "true"], "--cpus 1000: a guest can have 1 to 255"),
        (["rdma-lab", "--cpus", "0", "true"], "'0' is not a count"),
        (["rdma", "ping-pong", "--count", "0"], "'0' is not a count"),
        (["copy", "a", "b", "--rep", b"\xff"], "'\\udcff' is not a name"),
        (["caps", b"\xff\xfe"], "'\\udcff\\udcfe' is not a name"),
    ],
)
def test_a_wrong_command_line_is_explained_in_one_line_that_names_the_commands_help(commands, arguments, part):
    run = commands.run(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    words = [word for word in arguments[:2] if word in ("caps", "copy", "devices", "rdma", "ping-pong", "rdma-lab")]
    command = " ".join(["pydoca", *words])
    assert run.stderr.startswith(f"{command}: error: "), run.stderr
    assert run.stderr.endswith(f"; see '{command} --help'\n"), run.stderr
    assert run.stderr.count("\n") == 1
    assert part in run.stderr


@pytest.mark.parametrize("words", [[], ["rdma"], ["sync-event"]])
def test_a_command_line_that_stops_short_of_a_command_shows_its_help(commands, words):
    run = commands.run(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == commands.run(*words, "--help").stdout
    assert run.stderr.startswith(f"usage: {' '.join(['pydoca', *words])} ")


def test_devices_are_a_table(commands):
    run = commands.run("devices")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0].split()[:2] == ["NAME", "PCI"]
    assert {line.split()[0] for line in lines[1:]} == {info.name for info in pydoca.devices()}
    column = lines[0].index("PCI ADDRESS")
    assert all(line[column - 1] == " " and line[column : column + 5] == "0000:" for line in lines[1:])


def test_devices_are_json(commands):
    run = commands.run("devices", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    document = json.loads(run.stdout)
    assert document["devices"] == [json.loads(json.dumps(info.to_dict())) for info in pydoca.devices()]
    assert {"name", "pci_addr", "side", "func_type", "capabilities", "active_rate"} <= document["devices"][0].keys()


@pytest.mark.parametrize("options", [[], ["--representors"]])
@pytest.mark.parametrize("backend", ["", "sim"])
def test_every_device_in_json_has_the_same_keys(commands, backend, options):
    """Backends without devices are in a list of their own."""
    run = commands.run("devices", "--json", *options, env={**commands.env, "PYDOCA_BACKEND": backend})
    document = json.loads(run.stdout)
    assert document.keys() == {"devices", "unavailable_backends"}
    assert all(device["name"] for device in document["devices"])
    assert len({json.dumps(list(device)) for device in document["devices"]}) == 1
    assert len({json.dumps(list(device["capabilities"])) for device in document["devices"]}) == 1


def test_a_backend_without_devices_says_why(commands):
    """A backend that has devices gives no reason."""
    env = {**commands.env, "PYDOCA_BACKEND": ""}
    document = json.loads(commands.run("devices", "--json", env=env).stdout)
    reasons = document["unavailable_backends"]
    assert ("verbs" in reasons) != any(device["backend"] == "verbs" for device in document["devices"])
    text = commands.run("devices", env=env).stdout
    for backend, reason in reasons.items():
        assert reason
        assert f"{backend}: unavailable: {reason}" in text
        run = commands.run("devices", env={**commands.env, "PYDOCA_BACKEND": backend})
        assert run.returncode != 0
        require_one_line(run.stderr, "there is no device", reason)


def test_an_unknown_backend_is_refused(commands):
    run = commands.run("devices", env={**commands.env, "PYDOCA_BACKEND": "left"})
    assert run.returncode != 0
    require_one_line(run.stderr, "PYDOCA_BACKEND", "sim, verbs")


@pytest.mark.parametrize("side", ["host", "dpu"])
def test_devices_of_one_side(commands, side):
    document = json.loads(commands.run("devices", "--side", side, "--json").stdout)
    names = {device["name"] for device in document["devices"]}
    assert names == {info.name for info in pydoca.devices(side=side)}


def test_representors_stand_with_their_device(commands):
    text = commands.run("devices", "--representors").stdout
    assert "REPRESENTOR" in text
    devices = json.loads(commands.run("devices", "--representors", "--json").stdout)["devices"]
    held = {device["name"]: [rep["pci_addr"] for rep in device["representors"]] for device in devices}
    assert "0000:0b:00.0" in held["p0"]
    assert "0000:0b:00.1" in held["p1"]
    assert held["pf0"] == []


def test_a_host_shows_no_representors(commands):
    run = commands.run("devices", "--representors", env={**commands.env, "PYDOCA_SIDE": "host"})
    assert run.returncode == 0
    assert "only DPU devices have them" in run.stdout


JSON_COMMANDS = {
    "devices": ["devices"],
    "caps": ["caps", "p0"],
    "copy": ["copy", "source", "copy"],
    "rdma ping-pong": ["rdma", "ping-pong", "--count", "3"],
    "explain": ["explain", "doca_mmap_create"],
    "qualify plan": ["qualify", "plan", "sim:p0", "--level", "smoke"],
    **({"sdk": ["sdk", "--prefix", "sdk", "--side", "host"]} if _sdk.headers() else {}),
}


@pytest.mark.parametrize("arguments", JSON_COMMANDS.values(), ids=JSON_COMMANDS)
def test_json_is_one_document_and_nothing_else(commands, tmp_path, arguments):
    (tmp_path / "source").write_bytes(b"bytes")
    run = commands.run(*arguments, "--json", "-l", "INFO")
    assert run.returncode == 0
    assert isinstance(json.loads(run.stdout), dict)
    assert all(" INFO pydoca.app.command: " in line for line in run.stderr.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [["caps", "09:00.0"], ["copy", "missing", "copy"], ["rdma", "ping-pong", "--device", "none"]],
    ids=lambda arguments: arguments[0],
)
def test_an_error_leaves_no_json(commands, arguments):
    run = commands.run(*arguments, "--json")
    assert (run.returncode, run.stdout) == (1, "")
    require_one_line(run.stderr, arguments[-2] if arguments[0] == "copy" else arguments[-1])


def test_a_json_file_of_flags_is_told_apart_from_json_output(commands):
    run = commands.run("devices", "--json", "flags.json")
    assert (run.returncode, run.stdout) == (2, "")
    assert "unrecognized arguments: flags.json (--json takes no file; flags come from a file by -j)" in run.stderr


def test_caps_are_a_table(commands):
    run = commands.run("caps", "03:00.0")
    assert (run.returncode, run.stderr) == (0, "")
    rows = dict(line.split(None, 1) for line in run.stdout.splitlines()[2:])
    assert rows["dma.max_buf_size"] == "2097152 (2 MiB)"
    assert rows["comch.server"] == "yes"
    assert rows["mmap_export_pci"] == "no"


def test_caps_of_a_name_that_both_sides_have_take_a_side(commands):
    assert "side" in commands.run("caps", "mlx5_0").stderr
    for side in ("host", "dpu"):
        assert f"  {side}  " in commands.run("caps", "mlx5_0", "--side", side).stdout.splitlines()[0]


def test_caps_are_json(commands):
    device = json.loads(commands.run("caps", "p0", "--json").stdout)
    assert (device["name"], device["pci_addr"]) == ("p0", "0000:03:00.0")
    assert device["capabilities"]["dma"]["max_buf_size"] == 2 << 20


def test_an_unknown_device_is_an_error_that_lists_the_known_ones(commands):
    run = commands.run("caps", "09:00.0")
    assert (run.returncode, run.stdout) == (1, "")
    require_one_line(run.stderr, "09:00.0", "p0")


def test_a_wrong_side_in_the_environment_is_named(commands):
    run = commands.run("devices", env={**commands.env, "PYDOCA_SIDE": "left"})
    assert run.returncode == 1
    require_one_line(run.stderr, "PYDOCA_SIDE", "left")


@pytest.mark.parametrize("way", ["option", "environment"])
def test_tracebacks_are_shown_on_request(commands, way):
    if way == "option":
        run = commands.run("caps", "09:00.0", "--debug")
    else:
        run = commands.run("caps", "09:00.0", env={**commands.env, "PYDOCA_DEBUG": "1"})
    assert run.returncode == 1
    assert "Traceback" in run.stderr


def test_a_reader_that_goes_early_causes_no_message(commands):
    reader, writer = os.pipe()
    os.close(reader)
    run = commands.run("devices", stdout=writer)
    os.close(writer)
    assert run.stderr == ""
    assert run.returncode == 1


def test_an_error_without_standard_error_is_not_output(commands):
    line = ["sh", "-c", '"$@" 2>&-', "sh", *commands.line("caps", "09:00.0")]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=commands.env)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", "")


def test_a_closed_standard_output_is_not_an_error(commands):
    line = ["sh", "-c", '"$@" >&-', "sh", *commands.line("devices")]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=commands.env)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("words", [["devices"], ["--help"], ["--man"], ["explain", "doca_dma_create"]])
def test_output_that_cannot_be_written_is_one_line(commands, words):
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            commands.line(*words), stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, env=commands.env
        )
    assert (run.returncode, run.stderr) == (1, "pydoca: standard output: No space left on device\n")


def test_a_run_whose_output_cannot_be_written_is_not_a_device_that_failed(commands):
    line = commands.line("qualify", "p0", "--level", "smoke", "--select", "INV-1", "--out", "out")
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=commands.env, cwd=commands.directory
        )
    assert (run.returncode, run.stderr) == (3, "pydoca: standard output: No space left on device\n")


def test_a_plan_whose_output_cannot_be_written_is_not_a_device_that_failed(commands):
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            commands.line("qualify", "plan", "p0"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            env=commands.env,
        )
    assert (run.returncode, run.stderr) == (3, "pydoca: standard output: No space left on device\n")


def test_a_plan_without_a_device_is_not_a_document_of_a_plan(commands):
    run = commands.run("qualify", "plan", "--json")
    assert (run.returncode, set(json.loads(run.stdout))) == (4, {"exit_code", "reason"})


def test_a_group_of_qualify_without_its_part_is_a_wrong_command_line_of_qualify(commands):
    assert commands.run("qualify", "limits").returncode == 4


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_names_that_the_encoding_lacks_are_escaped(commands, tmp_path, encoding):
    env = {**commands.env, "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    name = "дата"
    (tmp_path / name).write_bytes(b"abc")
    for words, code in ((["sha", "--profile", "bluefield2", name], 0), (["sha", "--profile", "bluefield2", "нет"], 1)):
        run = subprocess.run(commands.line(*words), capture_output=True, text=True, timeout=30, env=env, cwd=tmp_path)
        assert run.returncode == code
        assert "\\u0434" in run.stdout or "\\u043d" in run.stderr


def test_a_side_that_the_environment_hides_is_told(commands):
    line, env = commands.line("devices", "--side", "host"), {**commands.env, "PYDOCA_SIDE": "dpu"}
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=env)
    assert run.stdout.count("\n") == 1
    assert run.stderr == "pydoca: PYDOCA_SIDE=dpu hides the devices of the other side\n"


def test_a_flag_before_its_command_is_told_where_it_goes(commands):
    run = commands.run("--json", "devices")
    assert run.returncode == 2
    assert "(flags follow their command: pydoca devices --json)" in run.stderr


def test_a_closed_standard_input_is_told(commands):
    line = ["sh", "-c", '"$@" <&-', "sh", *commands.line("sha", "--profile", "bluefield2")]
    run = subprocess.run(line, capture_output=True, text=True, timeout=30, env=commands.env)
    assert (run.returncode, run.stderr) == (1, "pydoca: standard input is closed; give files\n")


def test_the_script_is_installed(commands):
    run = subprocess.run([commands.script(), "--version"], capture_output=True, text=True, timeout=30, env=commands.env)
    assert run.stdout == f"pydoca {pydoca.__version__}\n"


def commands_of_the_pages() -> list[list[str]]:
    text = "".join(path.read_text() for path in sorted(PAGES))
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("$ pydoca ")]
    return [shlex.split(line, comments=True)[2:] for line in dict.fromkeys(lines)]


@pytest.mark.parametrize("words", commands_of_the_pages(), ids=" ".join)
def test_the_commands_of_readme_and_the_documentation_are_right(words):
    assert parse(words).run
