"""The table of DOCA's names: what it says about pydoca is true, and nothing is missing."""

import ast
import inspect
import re
from enum import EnumType
from pathlib import Path

import pytest

import public_names
import pydoca
from pydoca.cli.explain import _document, _names, _table

ROOT = Path(__file__).resolve().parents[3]
TABLE = _table.load()
ENTRIES = TABLE.entries
HEADERS = sorted((ROOT / "cpp/include/pydoca").rglob("*.hpp"))
HOW_TO_ADD = 'CONTRIBUTING.md, "Change a public name", says how to add a row to from_c.toml'


def fail_if_any(rule: str, faults: list[str]) -> None:
    if faults:
        pytest.fail(f"broken: {rule}\n  " + "\n  ".join(faults), pytrace=False)


# ---- Python ----


def resolves(python: str) -> bool:
    """Tells whether the package has the name, and its parameter if the name gives one."""
    try:
        value = _names.find_public(_table.base_name(python))
    except AttributeError:
        return False
    parameter = _table.parameter_of(python)
    return not parameter or parameter in inspect.signature(value).parameters


def test_every_python_name_of_the_table_exists():
    faults = [f"{entry.name}: {name}" for entry in ENTRIES.values() for name in entry.python if not resolves(name)]
    fail_if_any("a name in `python` is one of the package, with this parameter", faults)


def test_what_is_there_has_a_name_and_what_is_not_has_a_reason():
    named = {"there": True, "C++ only": False, "renamed": False, "not there yet": False, "stays out": False}
    faults = [
        f"{entry.name}: {entry.there}"
        for entry in ENTRIES.values()
        if bool(entry.python) != named[entry.there]
        or bool(entry.not_yet or entry.out) != (not (entry.python or entry.cpp or entry.now))
    ]
    fail_if_any("a row has names, or else what took its place, or else a reason in not_yet or out", faults)


def has_meaning_of_its_own(name: str, kind: str) -> bool:
    """Tells whether the table lists the name: enum members, protocols and what every class has are left out."""
    last = name.rpartition(".")[2]
    return kind != "constant" and not last.startswith("_") and last not in {"close", "closed", "to_dict"}


def test_every_public_name_is_in_the_table_or_pydocas_own():
    """The table's `own` lists the names that have no equivalent in DOCA."""
    kinds = dict(line.split(": ", 1) for line in public_names.public_names() if line.startswith("pydoca."))
    names = {name.removeprefix("pydoca."): kind for name, kind in kinds.items()}
    errors = {error.__name__ for error in map(_names.exception_of, TABLE.statuses.values()) if error}
    expected = {name for name, kind in names.items() if has_meaning_of_its_own(name, kind)} - errors
    missing = expected - TABLE.by_python.keys() - TABLE.own
    fail_if_any(f"a public name stands in the table, or in its list `own`: {HOW_TO_ADD}", sorted(missing))
    fail_if_any(
        "`own` has public names only, and none that stand in a row",
        sorted(TABLE.own - names.keys() | TABLE.own & TABLE.by_python.keys()),
    )


@pytest.mark.parametrize("status", pydoca.Status, ids=lambda status: status.name)
def test_every_status_is_there(status: pydoca.Status):
    entry = TABLE.statuses[status.name]
    assert (entry.number, entry.c) == (status.value, status.error_name)
    assert entry.cause.endswith(".")
    assert entry.remedy
    assert len(TABLE.statuses) == len(pydoca.Status)


@pytest.mark.parametrize("enum", [pydoca.ContextState, pydoca.TaskState, pydoca.RdmaConnectionState])
def test_every_state_is_there(enum: EnumType):
    found = {state.python for state in TABLE.states.values()}
    assert {f"{enum.__name__}.{name}" for name in enum.__members__} <= found


def test_every_state_is_one_that_exists_and_is_needed():
    needed = {state for entry in ENTRIES.values() for state in entry.when}
    for state in TABLE.states.values():
        if state.python:
            _names.find_public(state.python)
        else:
            assert state.name in needed or state.name == "task completed", state.name


def test_enums_have_docas_numbers():
    compared = 0
    for entry in ENTRIES.values():
        for value, number in entry.values.items():
            if member := _names.member_of(entry, value):
                assert _names.find_public(member) == number, value
                compared += 1
    assert compared > 60


# ---- examples ----


def type_of(node: ast.expr) -> object:
    """The class, module or function that an expression of an example means; None if that is unknown."""
    if isinstance(node, ast.Name) and node.id in TABLE.variables:
        return _names.find_public(TABLE.variables[node.id])
    if isinstance(node, ast.Name) and node.id == "pydoca":
        return pydoca
    if isinstance(node, ast.Attribute) and (owner := type_of(node.value)) is not None:
        value = inspect.getattr_static(owner, node.attr)  # raises AttributeError
        return None if inspect.isdatadescriptor(value) else getattr(owner, node.attr)
    return None


def check_call(call: ast.Call) -> None:
    """Raises TypeError for arguments that the function does not take."""
    called = type_of(call.func)
    if called is None:
        return
    is_method = (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id != "pydoca"
    )
    arguments = [*([None] if is_method else []), *call.args]
    inspect.signature(called).bind(*arguments, **{each.arg: each.value for each in call.keywords if each.arg})


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES.values() if entry.example], ids=lambda entry: entry.name)
def test_examples_are_one_line_of_calls_that_exist(entry: _table.Entry):
    assert "\n" not in entry.example
    for node in ast.walk(_document.parse_example(entry.example)):
        if isinstance(node, ast.Attribute):
            type_of(node)
        if isinstance(node, ast.Call):
            check_call(node)


def test_what_is_there_in_python_has_an_example():
    fail_if_any(
        "a row with a name in Python has an example",
        [entry.name for entry in ENTRIES.values() if entry.python and not entry.example],
    )


# ---- C++ ----


def cpp_scopes() -> dict[str, str]:
    """The text of each class, struct and enum of the public headers, and of each namespace, by its name."""
    scopes: dict[str, str] = {}
    for header in HEADERS:
        text = re.sub(r"//.*", "", header.read_text())
        for match in re.finditer(
            r"\b(?:class|struct|namespace|enum class)\s+(?:alignas\(\d+\) )?([\w:]+)[^;{()]*\{", text
        ):
            name = match[1].removeprefix("pydoca::")
            scopes[name] = scopes.get(name, "") + match[0] + body_from(text, match.end())
    return scopes


def body_from(text: str, start: int) -> str:
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start:]


SCOPES = cpp_scopes()


def is_in_headers(name: str) -> bool:
    """Tells whether the last word is in the class before it, or in one of that class's bases."""
    *owners, last = name.split("::")
    if not owners:
        return re.search(rf"\b{last}\b", SCOPES["pydoca"]) is not None
    scope = SCOPES.get(owners[-1], "")
    if re.search(rf"\b{last}\b", scope.partition("{")[2]):
        return True
    bases = re.findall(r"(?:public|(?<!:):(?!:)) (?!public)(?:\w+::)*(\w+)", scope.partition("{")[0])
    return any(is_in_headers(f"{base}::{last}") for base in bases)


def test_every_cpp_name_of_the_table_is_in_the_public_headers():
    faults = [f"{entry.name}: {name}" for entry in ENTRIES.values() for name in entry.cpp if not is_in_headers(name)]
    fail_if_any("a name in `cpp`, or Python's with :: for the dot, stands in cpp/include/pydoca", faults)


# ---- the names of DOCA ----


def test_no_name_stands_twice():
    names = [entry.name for library in TABLE.libraries for row in library.entries for entry in row]
    assert len(names) == len(set(names))
    assert not TABLE.renamed.keys() & ENTRIES.keys()


def test_what_took_the_place_of_an_old_name_is_in_the_table():
    faults = [f"{entry.name}: {now}" for entry in ENTRIES.values() for now in entry.now if now not in ENTRIES]
    fail_if_any("`now` names rows of the table", faults)


# The number of functions of each library of DOCA 3.0; brackets name those of 2.x and later versions that the table
# adds.
NUM_FUNCTIONS = {
    ("doca_pe_", "doca_task_"): 27,
    ("doca_ctx_",): 12,
    ("doca_buf_",): 19 + 13 + 9 + 11,  # bufs, inventories with their two inline functions, arrays, pools
    ("doca_mmap_",): 26 + 10,  # mmap advise is included
    ("doca_dev",): 34 + 2,  # (pci_func_type and sf_index)
    ("doca_log",): 23,
    ("doca_argp_",): 35 + 2,  # (gRPC)
    ("doca_graph_",): 19 + 4,  # (failed nodes)
    ("doca_sync_event_",): 78 + 8,  # (wait_gt tasks)
    ("doca_dma_",): 15 + 1,  # (ordered completions)
    ("doca_sha_",): 32,
    ("doca_compress_",): 56 + 12,  # (decompress_lz4)
    ("doca_aes_gcm_",): 50,
    ("doca_ec_",): 50,
    ("doca_comch_",): 42 + 35 + 22 + 10,  # consumer, producer and msgq are included
    ("doca_rdma_",): 179 + 4,  # the bridge is included
}


@pytest.mark.parametrize("prefixes", NUM_FUNCTIONS, ids=lambda prefixes: prefixes[0])
def test_functions_of_a_library_are_all_there(prefixes: tuple[str, ...]):
    functions = [each for each in ENTRIES.values() if each.kind == "function" and not each.now]
    assert len([each for each in functions if each.name.startswith(prefixes)]) == NUM_FUNCTIONS[prefixes]
