"""The glossary of CONTRIBUTING.md: few words that a newcomer has to learn, and each of them in use."""

import re

from printed import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
TABLE = TEXT[TEXT.index("| word | meaning |") :].split("\n\n")[0]
WORDS = [word for row in re.findall(r"^\| ([^|]+) \| ", TABLE, re.MULTILINE)[1:] for word in row.split(", ")]
MOST = 30


def texts() -> list[str]:
    folders = [ROOT / name for name in ("cpp", "python", "docs", "tests")]
    paths = [
        path
        for folder in folders
        for suffix in ("cpp", "hpp", "py", "pyi", "md")
        for path in folder.rglob(f"*.{suffix}")
    ]
    return [path.read_text().lower() for path in paths if "made" not in path.parts]


def test_the_glossary_is_short():
    assert WORDS
    assert TABLE.count("\n") - 1 <= MOST


def test_each_word_is_used_by_three_files():
    found = texts()

    def files_with(word: str) -> int:
        """The number of files that have the word: as text, or as a part of a name."""
        spelled = re.compile("[ _]?".join(word.split()))
        return sum(spelled.search(text) is not None for text in found)

    assert [word for word in WORDS if files_with(word) < 3] == []
