"""The pages of the design: references name pages and headings that exist, and each page is listed and fits a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OVERVIEW = ROOT / "cpp/DESIGN.md"
PAGES = {path.name: path for path in sorted((ROOT / "cpp/design").glob("*.md"))}
WIDTH = 120

# A page, and the heading that may follow it: design/memory.md, "Revocation". Pages name one another without the folder.
REFERENCE = re.compile(r'\bdesign/([\w-]+\.md)`?(?:, "([^"]+)")?')
AMONG_PAGES = re.compile(r'(?<![\w/.])`([a-z][\w-]*\.md)`(?:, "([^"]+)")?')

FOLDERS = ("cpp", "python", "tests", "benchmarks", "examples", "docs", "script")
TEXTS = {".md", ".py", ".hpp", ".cpp", ".txt", ".cmake", ".json", ".toml", ".clang-tidy", ""}


def headings(text: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))


def in_one_line(text: str) -> str:
    """Without the beginnings of lines, such as those of comments, and with plain quotation marks."""
    return re.sub(r"\s*\n\s*(?:///?|#|\*)?\s*", " ", text).replace('\\"', '"')


def bad_references(text: str, pattern: re.Pattern[str], pages: dict[str, str]) -> Iterator[str]:
    for page, heading in pattern.findall(in_one_line(text)):
        if page not in pages:
            yield f"there is no page {page!r}"
        elif heading and heading not in headings(pages[page]):
            yield f"{page} has no heading {heading!r}"


def sources() -> list[Path]:
    """The texts of the project, but for this one and what a build has made."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    made = {"made", "__pycache__", "node_modules"}
    return [
        path
        for path in (*ROOT.glob("*"), ROOT / ".clang-tidy", *below)
        if path.suffix in TEXTS and path.is_file() and path != Path(__file__).resolve() and not made & set(path.parts)
    ]


def test_references_name_pages_and_headings_that_exist():
    texts = {name: path.read_text() for name, path in PAGES.items()}
    found = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in sources()
        for pattern in ([REFERENCE, AMONG_PAGES] if path in PAGES.values() else [REFERENCE])
        for problem in bad_references(path.read_text(errors="ignore"), pattern, texts)
    ]
    assert found == []


def test_no_file_names_a_heading_of_the_overview():
    by_heading = re.compile(r'\bDESIGN(?:\.md)?`?, "')
    assert [path.name for path in sources() if by_heading.search(in_one_line(path.read_text(errors="ignore")))] == []


def test_the_overview_lists_every_page():
    listed = re.findall(r"^\| \[[\w-]+\]\(design/([\w-]+\.md)\)", OVERVIEW.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(PAGES)


@pytest.mark.parametrize("path", [OVERVIEW, *PAGES.values()], ids=lambda path: path.name)
def test_lines_fit(path):
    assert [n for n, line in enumerate(path.read_text().splitlines(), 1) if len(line) > WIDTH] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("see cpp/design/none.md", ["there is no page 'none.md'"]),
        ('(`cpp/design/a.md`, "Two\n// words")', []),
        ('(cpp/design/a.md, \\"Other\\")', ["a.md has no heading 'Other'"]),
    ],
)
def test_the_check_finds_what_is_wrong(text, problem):
    assert list(bad_references(text, REFERENCE, {"a.md": "# A\n## Two words\n"})) == problem
