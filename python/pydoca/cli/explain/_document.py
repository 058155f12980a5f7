"""An answer as plain data: what --json writes, and the text is made of."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from pydoca.cli.explain._c_api import in_c
from pydoca.cli.explain._names import Answer, EnumValue, OldName, PythonName, exception_of, find_public, member_of
from pydoca.cli.explain._table import Entry, Reason, State, Status, Table


def document_of(answer: Answer, table: Table) -> dict[str, Any]:
    match answer:
        case Status():
            return _status(answer, table)
        case State():
            return _state(answer, table)
        case PythonName():
            return _python_name(answer, table)
        case OldName():
            return {**_entry(answer.entry, table), "asked": answer.name, "asked_is": "old name", **_value_now(answer)}
        case EnumValue():
            value = {"number": answer.entry.values[answer.name], "member": member_of(answer.entry, answer.name)}
            return {**_entry(answer.entry, table), "asked": answer.name, "asked_is": "value", **value}
        case Entry():
            return _entry(answer, table)


def _value_now(answer: OldName) -> dict[str, Any]:
    """The value that an old name means today: the one with its last words, with PCI in place of DPU."""
    words = answer.name.replace("_DPU_", "_PCI_")
    found = [
        value
        for value in answer.entry.values
        if words.startswith("DOCA_") and words.endswith(value.removeprefix(answer.entry.prefix))
    ]
    if len(found) != 1:
        return {}
    number, member = answer.entry.values[found[0]], member_of(answer.entry, found[0])
    return {"value": found[0], "number": number, "member": member}


def _entry(entry: Entry, table: Table) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "header": entry.header,
        "library": entry.library,
        "there": entry.there,
        "does": entry.does,
        "reason": entry.not_yet or entry.out,
        "python": [_python(name) for name in entry.python],
        "cpp": list(entry.cpp),
        "in_c": asdict(in_c(entry)),
        **_example(entry.example, table),
        "when": list(entry.when),
        "errors": _errors(entry.errors, table),
        "values": dict(entry.values),
        "old_names": list(entry.old),
        "now": [{"name": name, "does": table.entries[name].does} for name in entry.now],
    }


def _python_name(answer: PythonName, table: Table) -> dict[str, Any]:
    primary = [entry for entry in answer.entries if entry.python[0] == answer.name]
    if len(answer.entries) == 1:
        primary = list(answer.entries)
    errors = {reason.status: reason for entry in reversed(primary) for reason in entry.errors}
    return {
        "name": answer.name,
        "kind": "python",
        "there": "there",
        "does": _first_paragraph(answer.means),
        "python": [_python(answer.name)],
        **_example(next((entry.example for entry in primary if entry.example), ""), table),
        "when": list(dict.fromkeys(state for entry in primary for state in entry.when)),
        "errors": _errors(sorted(errors.values(), key=lambda reason: table.statuses[reason.status].number), table),
        "stands_for": [{"name": entry.name, "does": entry.does} for entry in answer.entries],
    }


def _status(status: Status, table: Table) -> dict[str, Any]:
    error = exception_of(status)
    given: dict[Reason, list[str]] = {}
    for entry in table.entries.values():
        for reason in entry.errors:
            if entry.python and reason.status == status.name:
                given.setdefault(reason, []).append(entry.python[0])
    return {
        "name": status.c,
        "kind": "status",
        "number": status.number,
        "python": [{"name": f"Status.{status.name}", "signature": ""}],
        "exception": error.__name__ if error else "",
        "builtin": [base.__name__ for base in error.__bases__ if base.__module__ == "builtins"] if error else [],
        "does": status.cause,
        "remedy": status.remedy,
        "given_by": [
            {"cause": reason.cause, "remedy": reason.remedy, "python": list(dict.fromkeys(names))}
            for reason, names in given.items()
        ],
    }


def _state(state: State, table: Table) -> dict[str, Any]:
    calls = [entry.python[0] for entry in table.entries.values() if entry.python and state.name in entry.when]
    return {
        "name": state.name,
        "kind": "state",
        "c": state.c,
        "python": [{"name": state.python, "signature": ""}] if state.python else [],
        "does": state.means,
        "allowed": state.allowed,
        "ends": state.ends,
        "calls": list(dict.fromkeys(calls)),
        "otherwise": [
            {"status": status, "cause": text.partition(": ")[0], "remedy": text.partition(": ")[2]}
            for status, text in state.otherwise.items()
        ],
    }


def _python(name: str) -> dict[str, str]:
    return {"name": name, "signature": "" if "(" in name else _signature(find_public(name))}


def _signature(value: object) -> str:
    """The parameters of a function or a class; empty for what is not called."""
    if not callable(value) or (isinstance(value, type) and issubclass(value, BaseException | int)):
        return ""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return ""
    shown = [each.replace(annotation=inspect.Parameter.empty) for each in parameters if each.name != "self"]
    return str(inspect.Signature(shown))


def _first_paragraph(value: object) -> str:
    """The first paragraph of the docstring; empty for a constant, whose docstring is that of its type."""
    has_own = callable(value) or inspect.isdatadescriptor(value) or inspect.ismodule(value)
    doc = inspect.getdoc(value) if has_own else ""
    return " ".join((doc or "").split("\n\n")[0].split())


def _example(example: str, table: Table) -> dict[str, Any]:
    used = used_names(example, table.variables)
    return {"example": example, "variables": {name: table.variables[name] for name in used}}


def used_names(example: str, variables: Mapping[str, str]) -> list[str]:
    """The variables that an example reads."""
    tree = parse_example(example)
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return [name for name in dict.fromkeys(names) if name in variables]


def parse_example(example: str) -> ast.AST:
    """The example's syntax tree; the example may contain await, async for and async with."""
    tree: ast.AST = compile(example, "example", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return tree


def _errors(reasons: Iterable[Reason], table: Table) -> list[dict[str, str]]:
    return [
        {
            "status": reason.status,
            "exception": _exception(table.statuses[reason.status]) if reason.remedy else "",
            "cause": reason.cause,
            "remedy": reason.remedy,
        }
        for reason in reasons
    ]


def _exception(status: Status) -> str:
    error = exception_of(status)
    return error.__name__ if error else ""
