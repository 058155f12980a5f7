"""The cases as their markers describe them: id, title, levels, needs and place.

Reads the files, and imports nothing.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

import pydoca

FOLDER = Path(pydoca.__file__).parent / "qualify/cases"


@dataclass(frozen=True)
class Case:
    id: str
    title: str
    levels: tuple[str, ...]
    needs: tuple[str, ...]
    file: str
    function: str

    @property
    def node(self) -> str:
        return f"{FOLDER / self.file}::{self.function}"


def case_table() -> dict[str, Case]:
    cases = [case for path in sorted(FOLDER.glob("test_*.py")) for case in _cases_of(path)]
    table = {case.id: case for case in cases}
    assert len(table) == len(cases), "an id is there twice"
    return table


def _cases_of(path: Path) -> list[Case]:
    tree = ast.parse(path.read_text())
    names = {
        each.targets[0].id: ast.literal_eval(each.value)
        for each in tree.body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and isinstance(each.value, ast.Tuple)
    }
    common = [
        each.value
        for each in tree.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and each.target.id == "pytestmark"
        and each.value
    ]
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
    return [_case(path.name, function, common, names) for function in functions]


def _case(file: str, function: ast.FunctionDef, common: list[ast.expr], names: dict[str, tuple[str, ...]]) -> Case:
    marks = [mark for mark in [*common, *function.decorator_list] if isinstance(mark, ast.Call)]
    by_name = [(mark.func.attr, mark) for mark in marks if isinstance(mark.func, ast.Attribute)]
    [case] = [mark for name, mark in by_name if name == "pydoca_case"]
    keys = {key.arg: key.value for key in case.keywords}
    needs = [ast.literal_eval(need) for name, mark in by_name if name == "pydoca_needs" for need in mark.args]
    levels = _levels(keys["levels"], names)
    return Case(
        ast.literal_eval(case.args[0]), ast.literal_eval(keys["title"]), levels, tuple(needs), file, function.name
    )


def _levels(node: ast.expr, names: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return names[node.id]
    assert isinstance(node, ast.Tuple)
    found: list[str] = []
    for each in node.elts:
        found += names[each.value.id] if isinstance(each, ast.Starred) else [ast.literal_eval(each)]  # type: ignore[attr-defined]
    return tuple(found)
