"""Tasks, and why one has failed."""

from __future__ import annotations

from typing import Any

from pydoca._core import Buf, LibraryTask, Task
from pydoca._display.frame.panel import Code, Fact, Note, Panel, Part, State, Table, Value
from pydoca._display.frame.reading import call, read
from pydoca._display.frame.values import address, code, word
from pydoca._errors import Status

_NUMBERS = (
    "operand",
    "mask",
    "cmp_data",
    "swap_data",
    "add_data",
    "immediate_data",
    "result_immediate_data",
    "result_len",
)


def state_of(words: str, status: Status) -> State:
    if words == "done":
        return State("done", "good") if status == Status.SUCCESS else State(f"failed: {status.name}", "bad")
    return State(words, "busy" if words == "in flight" else "quiet")


def reasons(explanation: str, status: Status, label: str = "Cause") -> list[Part]:
    """The cause and the remedy, which messages separate by a semicolon."""
    cause, remedy = _parted(explanation)
    notes: list[Part] = [Note(label, cause or status.descr, "bad")]
    return [*notes, Note("What to do", remedy)] if remedy else notes


def _parted(explanation: str) -> tuple[str, str]:
    """The parts before and after the first semicolon outside parentheses."""
    depth = 0
    for index, character in enumerate(explanation):
        depth += (character == "(") - (character == ")")
        if depth == 0 and explanation.startswith("; ", index):
            return explanation[:index], explanation[index + 2 :]
    return explanation, ""


def task_panel(task: Task) -> Panel:
    describe, words, status, reason, completions, freed = task._snapshot()
    words = "freed" if freed and not completions else words
    is_failed = words == "done" and status != Status.SUCCESS
    facts: list[Fact] = [
        ("context", _context(task)),
        ("status", code(status.name if completions or words == "in flight" else "")),
        ("completions", completions),
        ("slot", "given back" if freed else "taken"),
        *_details(task),
    ]
    parts: list[Part] = reasons(reason, status) if is_failed else []
    return Panel(type(task).__name__, describe, state_of(words, status), facts, [*parts, *_bufs(task)])


def _context(task: Task) -> Value:
    kind, device, state, *_ = task.context._snapshot(0)
    return f"{kind} on {device}, {word(state)}"


def _details(task: Task) -> list[Fact]:
    """The numbers that tasks of some libraries have."""
    found: list[Fact] = []
    for name in _NUMBERS:
        value = read(task, name)
        if isinstance(value, int) and value:
            found.append((name.replace("_", " "), Code(f"{value:#x}") if name == "mask" else value))
    value = call(lambda: task._value)
    if isinstance(value, int) and task._snapshot()[1] == "done":
        found.append(("result", value))
    return found


def _bufs(task: Task) -> list[Part]:
    if not isinstance(task, LibraryTask):
        return []
    rows = [row for name in ("src", "dst", "result_buf") if (row := _row(name, read(task, name)))]
    heads = ("operand", "address", ">bytes", ">headroom", ">data", ">tailroom", ">elements")
    return [Table("Operands", heads, rows)] if rows else []


def _row(name: str, buf: Any) -> list[Value]:
    snapshot = call(buf._snapshot, 1) if isinstance(buf, Buf) else None
    if snapshot is None:
        return []
    own, count, _, _, start, elements = snapshot
    head, length, data, data_len, _ = elements[own - start]
    return [name, address(head), length, data - head, data_len, head + length - data - data_len, count]
