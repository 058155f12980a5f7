"""The glossary: the table of words that CONTRIBUTING has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
HEAD = """\
# Glossary

Words of pydoca's pages, messages and code. Those of DOCA stand in [its guides](https://docs.nvidia.com/doca/sdk/).

:::{glossary}
"""


def pages() -> Iterator[tuple[str, str]]:
    terms = (f"{word}\n  {meaning[:1].upper()}{meaning[1:]}.\n" for word, meaning in words())
    yield "glossary.md", "\n".join([HEAD, *terms, ":::", ""])


def words() -> list[tuple[str, str]]:
    section = re.search(r"^## Words$(.*?)^## ", CONTRIBUTING.read_text(), re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError("CONTRIBUTING.md has no section 'Words'")
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", section[1], re.MULTILINE)
    return sorted(rows[1:], key=lambda row: row[0].lower())
