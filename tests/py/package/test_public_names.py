"""Public names do not change unnoticed: names of Python, and commands with their options."""

import difflib
from pathlib import Path

import pytest

from public_names import TABLES

HOW_TO_CHANGE = "if it is meant, run `.venv/bin/python tests/py/public_names.py`, and state the change in CHANGELOG.md"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_what_users_can_name_is_what_the_table_says(table: Path):
    changes = difflib.unified_diff(table.read_text().splitlines(), TABLES[table](), "frozen", "now", lineterm="", n=0)
    differences = [line for line in changes if not line.startswith("@@")]
    if differences:
        pytest.fail("\n".join([f"{table.name} does not match:", *differences[2:], HOW_TO_CHANGE]), pytrace=False)
