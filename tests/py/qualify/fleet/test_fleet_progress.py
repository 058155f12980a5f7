"""The progress that a person sees while cards are tested."""

import contextlib
import io
import os
import pty
import termios

import pytest

from pydoca.qualify.fleet.progress import FleetProgress
from pydoca.qualify.fleet.record import CardRecord, not_tested
from pydoca.qualify.verdicts import Verdict
from qualify.fleet.fleets import card, run_of, value

GOOD = CardRecord(card(0), run_of(value("a", 1.0)))
LOST = CardRecord(card(1), not_tested(card(1), "smoke", 1, "its run was lost", at=0.0, verdict=Verdict.ERROR))


def show(stream):
    progress = FleetProgress(stream, "fleet, level smoke")
    progress.tell("worker a: 2 cards", known=2)
    progress.card(GOOD, known=2)
    progress.card(LOST, known=3)
    progress.close()


def test_in_a_pipe_there_is_a_line_for_each_card_with_the_reason_of_a_bad_one():
    stream = io.StringIO()
    show(stream)
    assert stream.getvalue().splitlines() == [
        "worker a: 2 cards",
        "[1/2] PASS        host0 sim:p0  1 s",
        "[2/3] ERROR       host1 sim:p0  FLEET: not tested: its run was lost",
    ]


def read_to_the_end(terminal: int) -> str:
    """Reads a terminal to its end: the kernel gives the text in pieces, and EIO at the end."""
    pieces = []
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 1 << 16):
            pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode()


def test_on_a_terminal_there_is_a_bar_with_the_time_that_is_left():
    pytest.importorskip("tqdm")
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (40, 100))
    with os.fdopen(writer, "w", buffering=1) as stream:
        show(stream)
    text = read_to_the_end(reader)
    assert "fleet, level smoke" in text
    assert " left]" in text
    assert "| 1/3 [" in text, "beside the line of the second card, which has brought a third one"
