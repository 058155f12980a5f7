"""Errors with their status, explanation and remedy."""

from __future__ import annotations

from pydoca._core import Task
from pydoca._display.frame.panel import Code, Fact, Note, Panel, Part, State, Table
from pydoca._display.frame.reading import call
from pydoca._display.frame.values import clip
from pydoca._display.tasks import reasons, state_of
from pydoca._errors import DocaError

_MOST_CAUSES = 5


def error_panel(error: DocaError) -> Panel:
    status = error.status
    facts: list[Fact] = [("status", Code(status.name)), ("number", int(status)), ("meaning", status.descr)]
    builtin = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"][:1]
    facts.append(("also a", Code(builtin[0] if builtin else "Exception")))
    parts = reasons(str(call(str, error, default="")), status)
    task = error.task
    if isinstance(task, Task):
        describe, words, last, *_ = task._snapshot()
        parts.append(Table("Task", ("what", "state"), [[describe, state_of(words, last)]]))
    return Panel(type(error).__name__, status.error_name, State("error", "bad"), facts, [*parts, *_causes(error)])


def _causes(error: BaseException) -> list[Part]:
    """The errors that this one was raised from, or while one was handled."""
    found: list[Part] = []
    seen: set[int] = {id(error)}
    while len(found) < _MOST_CAUSES:
        label = "Because of" if error.__cause__ else "While handling"
        following = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if following is None or id(following) in seen:
            break
        seen.add(id(following))
        found.append(Note(label, clip(f"{type(following).__name__}: {call(str, following, default='')}")))
        error = following
    return found
