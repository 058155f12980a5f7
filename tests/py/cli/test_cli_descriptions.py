"""`pydoca --completion` and `pydoca --man`: made from the parser, and used by the programs that they are for."""

import os
import pty
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import pydoca

ENVIRONMENT = (Path(__file__).resolve().parents[3] / "docs/environment.md").read_text()
COMMAND_LINES = (Path(__file__).parents[1] / "command_lines.txt").read_text().splitlines()
SHELLS = ["bash", "zsh", "fish"]

# Prints the candidates for the last of its arguments.
ASK = """
source completion
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_shtab_pydoca pydoca "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def in_bash(commands, tmp_path):
    """Runs a script in its own bash, which has the completion in a file."""
    (tmp_path / "completion").write_text(commands.run("--completion", "bash").stdout)

    def run(script: str, *arguments: str) -> str:
        line = ["bash", "--norc", "-c", script, "bash", *arguments]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True).stdout

    return run


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        ([""], ["devices", "caps", "copy", "sync-event", "rdma", "graph", "sha", "qualify", "rdma-lab", "explain"]),
        (["sy"], ["sync-event"]),
        (["--completion", ""], SHELLS),
        (["copy", "--transport", ""], ["pci", "rdma"]),
        (["copy", "--si"], ["--side"]),
        (["sync-event", ""], ["local", "remote"]),
        (["sync-event", "remote", "--async"], ["--async", "--async_num_tasks", "--async-num-tasks"]),
        (["rdma", "ping-pong", "--sdk"], ["--sdk-log-level"]),
        (["copy", "so"], ["source", "source_directory"]),
        (["copy", "-j", "com"], ["completion"]),
        (["rdma-lab", "--results", "so"], ["source_directory"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bash_completes_commands_options_values_and_files(in_bash, tmp_path, words, candidates):
    (tmp_path / "source").touch()
    (tmp_path / "source_directory").mkdir()
    assert set(in_bash(ASK, "pydoca", *words).split()) == set(candidates)


def read_until(terminal: int, end: bytes) -> bytes:
    text = b""
    while end not in text:
        text += os.read(terminal, 4096)
    return text


def test_the_tab_key_completes_in_an_interactive_bash(commands, tmp_path):
    """`pydoca` is a function here that shows the words that bash gives it."""
    (tmp_path / "completion").write_text(commands.run("--completion", "bash").stdout)
    (tmp_path / "inputrc").write_text("set enable-bracketed-paste off\n")
    env = {**os.environ, "INPUTRC": "inputrc", "PS1": "ready> ", "TERM": "dumb"}
    ours, theirs = pty.openpty()
    line = ["bash", "--norc", "--noprofile", "-i"]
    with subprocess.Popen(line, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as bash:
        os.close(theirs)
        os.write(ours, b"source completion; pydoca() { printf '<%s>' \"$@\"; echo; }\n")
        read_until(ours, b"; echo; }\r\n")
        os.write(ours, b"pydoca cop\t--transp\trd\t--li\t1; exit\n")
        shown = read_until(ours, b">\r\n")
        bash.wait(timeout=20)
    os.close(ours)
    assert b"<copy><--transport><rdma><--listen><1>\r\n" in shown


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_accepts_its_completion(commands, shell):
    text = commands.run("--completion", shell).stdout
    assert all(name in text for name in ("devices", "sync-event", "ping-pong", "--sdk-log-level"))
    subprocess.run([shell, "-n"], input=text, text=True, timeout=30, check=True)


def test_another_shell_is_refused(commands):
    run = commands.run("--completion", "dash")
    assert (run.returncode, run.stdout) == (2, "")
    assert all(name in run.stderr for name in ["'dash'", *SHELLS])


@pytest.fixture
def manual(commands) -> str:
    run = commands.run("--man")
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_the_manual_has_every_command_and_option(manual):
    text = manual.replace("\\-", "-")
    for line in COMMAND_LINES:
        command, option = re.fullmatch(r"(pydoca(?: [a-z][a-z-]*)*)(?: .*?(--[a-z_-]+).*| .*)", line).groups()
        section = text.partition(f"\\fB{command}\\fR\n")[2].partition(".SS")[0] if " " in command else text
        assert section, command
        assert option in (None, "--help") or f"\\fB{option}\\fR" in section, line


def test_the_manual_has_every_variable_of_the_documentation(manual):
    named = set(re.findall(r"PYDOCA_[A-Z_]+", ENVIRONMENT))
    assert named == set(re.findall(r"^\.B (PYDOCA_[A-Z_]+)$", manual, re.MULTILINE))


def test_the_manual_is_valid_roff(manual):
    assert f'"pydoca {pydoca.__version__}"' in manual.splitlines()[0].replace("\\", "")
    assert not re.search(r"^'", manual, re.MULTILINE)
    run = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], input=manual, capture_output=True, text=True, timeout=30
    )
    assert (run.returncode, run.stderr) == (0, "")
    for part in ("COMMANDS", "pydoca rdma ping-pong", "ENVIRONMENT", "EXIT STATUS"):
        assert part in run.stdout


@pytest.mark.parametrize(
    ("option", "package"), [(["--completion", "bash"], "shtab"), (["--man"], "argparse_manpage")], ids=lambda v: v[0]
)
def test_without_its_library_an_option_names_what_to_install(commands, tmp_path, option, package):
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('no {package}', name='{package}')")
    run = commands.run(*option, env={**commands.env, "PYTHONPATH": str(tmp_path)})
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"pydoca: {option[0]} needs {package}: pip install 'pydoca[cli]'\n"


def test_without_tqdm_a_terminal_names_what_to_install(commands, tmp_path):
    (tmp_path / "tqdm.py").write_text("raise ModuleNotFoundError('no tqdm', name='tqdm')")
    (tmp_path / "source").write_bytes(b"bytes")
    ours, theirs = pty.openpty()
    env = {**commands.env, "PYTHONPATH": str(tmp_path)}
    run = commands.run("copy", "source", "copy", stderr=theirs, env=env)
    os.close(theirs)
    shown = read_until(ours, b"\n").decode()
    os.close(ours)
    assert (run.returncode, (tmp_path / "copy").read_bytes()) == (0, b"bytes")
    assert shown == "pydoca: working; pip install 'pydoca[cli]' gets tqdm, which shows the progress\r\n"


def test_the_package_needs_no_other_one():
    """The command's libraries are an extra, because programs that import pydoca do not use them."""
    assert all("extra ==" in requirement for requirement in metadata.requires("pydoca") or [])
    assert "cli" in metadata.metadata("pydoca").get_all("Provides-Extra")
