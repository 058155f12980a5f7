"""`pydoca --man`: made from the parser, and read by the programs that it is for; what the extra `cli` brings."""

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
    shown = b""
    while not shown.endswith(b"\n"):
        shown += os.read(ours, 4096)
    os.close(ours)
    assert (run.returncode, (tmp_path / "copy").read_bytes()) == (0, b"bytes")
    assert shown.decode() == "pydoca: working; pip install 'pydoca[cli]' gets tqdm, which shows the progress\r\n"


def test_the_package_needs_no_other_one():
    """The command's libraries are an extra, because programs that import pydoca do not use them."""
    assert all("extra ==" in requirement for requirement in metadata.requires("pydoca") or [])
    assert "cli" in metadata.metadata("pydoca").get_all("Provides-Extra")
