"""`pydoca --completion`: each shell completes commands, options, and the values that only this machine knows."""

import json
import os
import pty
import re
import select
import subprocess
from pathlib import Path

import pytest

import pydoca
from pydoca.cli._completion import values
from pydoca.cli._parser import create_parser

SHELLS = ["bash", "zsh", "fish"]
NAMES = ["pf0", "pf1", "pf0vf0", "pf0vf1", "pf1vf0", "p0", "p1", "p0s0", "p1s0"]
ADDRESSES = [*(f"0000:0b:00.{index}" for index in range(5)), "0000:03:00.0", "0000:03:00.1"]

# Prints the candidates for the last of its arguments, by the function that bash calls.
ASK = """
source completion
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
registered=$(complete -p pydoca)
[[ $registered =~ -F\\ ([^ ]+) ]]
"${BASH_REMATCH[1]}" pydoca "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def env(commands):
    """The environment of a shell that finds this pydoca."""
    return {**commands.env, "PATH": f"{Path(commands.script()).parent}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.fixture
def in_bash(commands, env, tmp_path):
    """The candidates for a line, whose words bash has split at colons and equals signs."""
    (tmp_path / "completion").write_text(commands.run("--completion", "bash").stdout)

    def ask(line: str) -> list[str]:
        words = re.findall(r"[^\s:=]+|[:=]+|(?<=\s)$", line)
        program = ["bash", "--norc", "-c", ASK, "bash", line, *words]
        ran = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout.split()

    return ask


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        (
            "pydoca ",
            ["devices", "caps", "copy", "sync-event", "rdma", "graph", "sha", "qualify", "rdma-lab", "sdk", "explain"],
        ),
        ("pydoca sy", ["sync-event"]),
        ("pydoca --completion ", SHELLS),
        ("pydoca --comp", ["--completion"]),
        ("pydoca copy --transport ", ["pci", "rdma"]),
        ("pydoca copy --transport=", ["pci", "rdma"]),
        ("pydoca copy --transport=r", ["rdma"]),
        ("pydoca copy --si", ["--side"]),
        ("pydoca sync-event ", ["local", "remote"]),
        ("pydoca sync-event remote --async", ["--async", "--async_num_tasks", "--async-num-tasks"]),
        ("pydoca rdma ping-pong --sdk", ["--sdk-log-level"]),
        ("pydoca copy so", ["source", "source_directory"]),
        ("pydoca copy -j com", ["completion"]),
        ("pydoca rdma-lab --results so", ["source_directory"]),
        ("pydoca qualify run --level ", ["smoke", "quick", "full", "soak"]),
        ("pydoca qualify --level ", ["smoke", "quick", "full", "soak"]),
        ("pydoca qualify sim:p0 --level=q", ["quick"]),
        ("pydoca qualify run --backend ", ["sim", "verbs"]),
        ("pydoca qualify run -n ", ["auto", "logical"]),
        ("pydoca caps -l D", ["DISABLE", "DEBUG"]),
        ("pydoca graph --profile ", ["bluefield2", "bluefield3"]),
    ],
)
def test_bash_completes_commands_options_words_and_files(in_bash, tmp_path, line, candidates):
    (tmp_path / "source").touch()
    (tmp_path / "source_directory").mkdir()
    assert sorted(in_bash(line)) == sorted(candidates)


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("pydoca copy --device pf0", ["pf0", "pf0vf0", "pf0vf1"]),
        ("pydoca copy --device=pf1", ["pf1", "pf1vf0"]),
        ("pydoca copy --dpu-device mlx5_", ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]),
        ("pydoca copy --rep hpf0", ["hpf0", "hpf0vf0", "hpf0vf1"]),
        ("pydoca caps 0b", [f"0b:00.{index}" for index in range(5)]),
        ("pydoca caps 03:", ["00.0", "00.1"]),  # bash keeps what stands before the last colon
        ("pydoca caps 0000:03:00.1", ["00.1"]),
        ("pydoca caps --log-level ERROR ens1f0v", ["ens1f0v0", "ens1f0v1"]),
        ("pydoca devices --match p0", ["p0", "p0s0"]),
        ("pydoca qualify dpu:mlx5_1", ["mlx5_1"]),
        ("pydoca qualify p0 sim:p1s", ["p1s0"]),
        ("pydoca qualify r", ["run", "report"]),
        ("pydoca qualify run --select DMA-BW-", ["DMA-BW-PCI"]),
        ("pydoca qualify run --select dma-1,SHA-B", ["dma-1,SHA-BW"]),
        ("pydoca explain mmap.export", ["Mmap.export_pci", "Mmap.export_rdma"]),
        ("pydoca caps nothing", []),
    ],
)
def test_bash_completes_what_the_machine_has(in_bash, line, candidates):
    assert sorted(in_bash(line)) == sorted(candidates)


def test_all_devices_are_offered_by_every_name(in_bash):
    offered = in_bash("pydoca copy --device ")
    assert offered[: len(NAMES) + len(ADDRESSES)] == [*NAMES, *ADDRESSES]
    infos = pydoca.devices()
    assert set(offered) == {
        name for each in infos for name in (each.name, each.pci_addr, each.iface_name, each.ibdev_name)
    }


def test_the_beginning_of_an_id_offers_its_cases(in_bash):
    offered = in_bash("pydoca qualify run --select DM")
    assert {"DMA-1", "DMA-BW", "DMA-ORD"} <= set(offered)
    assert all(each.startswith("DMA-") for each in offered)


def test_the_devices_are_those_of_this_moment(in_bash, env):
    env["PYDOCA_SIDE"] = "dpu"
    assert in_bash("pydoca sha --device p") == ["p0", "p1", "p0s0", "p1s0"]


@pytest.mark.parametrize(
    ("name", "value"), [("PYDOCA_TOPOLOGY", "/nowhere"), ("PYDOCA_SIDE", "left"), ("PYDOCA_LOG_LEVEL", "loud")]
)
def test_a_failure_shows_nothing(in_bash, commands, env, name, value):
    env[name] = value
    assert in_bash("pydoca copy --transport r") == ["rdma"]
    offered = in_bash("pydoca caps pf1v")  # asserts that nothing is on standard error
    assert offered == (["pf1vf0"] if name == "PYDOCA_LOG_LEVEL" else [])
    ran = commands.run("--complete-values", "devices", "pf1v", env=env)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_program_without_values_offers_none(in_bash, env, tmp_path):
    """An older pydoca, or one whose package is gone."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pydoca").write_text("#!/bin/sh\necho 'no such option' >&2\nexit 2\n")
    (tmp_path / "bin/pydoca").chmod(0o755)
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    assert in_bash("pydoca caps p") == []


def cases(word):
    return [line.partition("\t")[0] for line in values(create_parser(), "cases", word)]


def test_the_cases_are_those_that_a_qualification_has(commands):
    ran = commands.run("qualify", "plan", "sim:p0", "--level", "full", "--json")
    planned = {case["id"] for case in json.loads(ran.stdout)["cases"]}
    assert planned
    assert planned <= set(cases(""))
    [line] = values(create_parser(), "cases", "DMA-1")
    assert line == "DMA-1\tevery size, offset and pattern arrives, and nothing around it changes"


def test_a_list_of_cases_is_a_selection(commands):
    ran = commands.run("qualify", "plan", "sim:p0", "--select", cases("INV-1,DMA-")[0])
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_values_leave_nothing_behind(commands, tmp_path):
    """Representors are those of devices that are open for a moment."""
    assert "hpf0\t" in commands.run("--complete-values", "representors", "").stdout
    assert list((tmp_path / "run").rglob("*")) == []


def test_the_option_for_shells_is_not_shown(commands):
    assert "complete-values" not in commands.run("--help").stdout
    assert "complete-values" not in commands.run("--man").stdout


class Terminal:
    """A shell at a terminal, in which `pydoca` is a function that shows the words that it gets."""

    def __init__(self, line: list[str], set_up: str, env: dict[str, str], directory: Path) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            line, cwd=directory, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self._type(set_up + "; pydoca() { printf '<%s>' \"$@\"; echo; }; echo re''ady\n")
        self._read_until("ready\r\n")

    def words(self, typed: str) -> list[str]:
        """The words of a line as the program gets them."""
        self._type(typed + "\n")
        return re.findall("<([^<>]*)>", self._read_until(">\r\n"))

    def close(self) -> None:
        self._process.kill()
        self._process.wait(timeout=60)
        os.close(self._ours)

    def _type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def _read_until(self, end: str, timeout: float = 60.0) -> str:
        text = b""
        while end.encode() not in text:
            assert select.select([self._ours], [], [], timeout)[0], text
            text += os.read(self._ours, 4096)
        return text.decode()


SET_UP = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source completion"),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -D -u; eval "$(cat completion)"'),
}


@pytest.fixture(params=SET_UP)
def terminal(request, commands, env, tmp_path):
    line, set_up = SET_UP[request.param]
    (tmp_path / "completion").write_text(commands.run("--completion", request.param).stdout)
    (tmp_path / "inputrc").write_text("set enable-bracketed-paste off\n")
    terminal = Terminal(line, set_up, {**env, "INPUTRC": "inputrc", "PS1": "$ "}, tmp_path)
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("pydoca cop\t--transp\trd\t--li\t1", ["copy", "--transport", "rdma", "--listen", "1"]),
        ("pydoca caps 03:00.1\t--log\tTR\t", ["caps", "03:00.1", "--log-level", "TRACE"]),
        ("pydoca caps 0000:0b:00.4\t", ["caps", "0000:0b:00.4"]),
        ("pydoca qualify sim:p1s\t--level q\t--select DMA-1,SHA-B\t", "sim:p1s0 --level quick --select DMA-1,SHA-BW"),
    ],
    ids=["options", "address", "domain", "qualify"],
)
def test_the_tab_key_completes_at_a_terminal(terminal, typed, words):
    expected = ["qualify", *words.split()] if isinstance(words, str) else words
    assert terminal.words(typed) == expected


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("pydoca caps 03:", ["03:00.0\tPF of the DPU, p0", "03:00.1\tPF of the DPU, p1"]),
        ("pydoca copy --rep=hpf1v", ["--rep=hpf1vf0\tVF behind p1, 0000:0b:00.4"]),
        ("pydoca qualify dpu:mlx5_3", ["dpu:mlx5_3\tSF of the DPU, p1s0"]),
        ("pydoca qualify run --select CAP-BW,SHA-B", ["CAP-BW,SHA-BW\tthroughput of each algorithm"]),
    ],
)
def test_fish_offers_values_with_their_descriptions(commands, env, tmp_path, line, candidates):
    (tmp_path / "completion").write_text(commands.run("--completion", "fish").stdout)
    program = ["fish", "--no-config", "-c", "source completion; complete -C $argv[1]", line]
    ran = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert (ran.stdout.splitlines(), ran.stderr) == (candidates, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_accepts_its_completion(commands, shell):
    text = commands.run("--completion", shell).stdout
    assert all(name in text for name in ("devices", "sync-event", "ping-pong", "--sdk-log-level"))
    subprocess.run([shell, "-n"], input=text, text=True, timeout=30, check=True)


def test_another_shell_is_refused(commands):
    run = commands.run("--completion", "dash")
    assert (run.returncode, run.stdout) == (2, "")
    assert all(name in run.stderr for name in ["'dash'", *SHELLS])
