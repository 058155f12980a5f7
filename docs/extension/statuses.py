"""The pages of statuses and of states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from extension.markdown import code, fenced, listed, python_role, sentence
from pydoca.cli.explain._document import document_of
from pydoca.cli.explain._table import load

STATUSES = """\
# Statuses

Every operation ends with one of DOCA's statuses. In Python a failure raises the exception of its status, which is also
the built-in exception that it corresponds to: `except TimeoutError` catches a `TimeOutError`. In C++ the control path
throws `pydoca::Error`, and the data path returns a `Status`. The message of an error says what was attempted, with
values, and what to do; this page says what each status means in general, and which calls give it for which reason.
"""

STATES = """\
# States

The states of contexts, tasks, maps and connections: what each one allows, how it ends, and what a call in another state
answers. [The drawings](../concepts/states.md) show how they follow one another.
"""


def pages() -> Iterator[tuple[str, str]]:
    table = load()
    statuses = (line for each in table.statuses.values() for line in lines_of_status(document_of(each, table)))
    states = (line for each in table.states.values() for line in lines_of_state(document_of(each, table)))
    yield "statuses.md", "\n".join([STATUSES, *statuses])
    yield "states.md", "\n".join([STATES, *states])


def lines_of_status(status: Mapping[str, Any]) -> Iterator[str]:
    name = status["python"][0]["name"].removeprefix("Status.")
    exception = status["exception"]
    bases = "".join(f", {code(each)}" for each in status["builtin"])
    raised = f"; raises {{py:exc}}`pydoca.{exception}`{bases}" if exception else ""
    body = [f"Number {status['number']}, {code(status['name'])}{raised}", "", f"**Cause** {status['does']}", ""]
    body += [f"**What to do** {sentence(status['remedy'])}", ""]
    yield from fenced("status", name, [*body, *given_by(status)], 4)


def given_by(status: Mapping[str, Any]) -> Iterator[str]:
    """The calls that answer this status, under their reasons."""
    if not status["given_by"]:
        return
    yield from fenced("details", "Which calls give it, and why", reasons_of(status))


def reasons_of(status: Mapping[str, Any]) -> Iterator[str]:
    for reason in status["given_by"]:
        yield f"* {sentence(reason['cause'])} {sentence(reason['remedy'])}"
        yield f"  {listed(python_role(name) for name in reason['python'])}"


def lines_of_state(state: Mapping[str, Any]) -> Iterator[str]:
    names = [code(state["c"])] if state["c"] else []
    names += [python_role(each["name"]) for each in state["python"]]
    body = [*([", ".join(names), ""] if names else []), state["does"], ""]
    for label, text in {"Allows": state["allowed"], "Ends": state["ends"]}.items():
        body += [f"* **{label}** {text}"] if text else []
    for each in state["otherwise"]:
        body += [f"* **Elsewhere** {{status}}`{each['status']}` {each['cause']}: {each['remedy']}"]
    if state["calls"]:
        body += [f"* **Needed by** {listed(python_role(name) for name in state['calls'])}"]
    yield from fenced("state", state["name"], [*body, ""], 4)
