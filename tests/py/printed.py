"""The blocks of code and commands that the pages print to be run. The tests of pages use them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
# The pages that the documentation's build makes are left out.
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if not path.is_relative_to(DOCS / "made")]
# All pages, including those that are not on the site.
ALL_PAGES = [README, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "notebooks/README.md")), *PAGES]
BLOCK = re.compile(
    r"^```python\n(?P<python>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?"
    r"|^:::\{shown\}\n(?P<shown>.*?)^:::"
    r"|^```console\n(?P<console>.*?)^```"
    r"|^```(?:cmake|cpp)\n(?P<file>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
NOT_IN_TEXT = re.compile(r"^ *```.*?^ *```|^:::\{.*?^:::", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    number: int
    kind: str
    text: str
    output: str | None

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT).with_suffix('')}-{self.number}"

    @property
    def file_name(self) -> str:
        """The name in the first line of a file: `# app/CMakeLists.txt`."""
        return self.text.splitlines()[0].lstrip("#/ ")

    def commands(self) -> list[tuple[str, str]]:
        """Each command of a console with what the page shows of its output."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.MULTILINE)
        return [(command, output) for command, output in zip(parts[1::2], parts[2::2], strict=True) if command]


def blocks_of(page: Path) -> list[Block]:
    found = []
    for number, match in enumerate(BLOCK.finditer(page.read_text())):
        kind = next(kind for kind in ("python", "shown", "console", "file") if match[kind] is not None)
        found.append(Block(page, number, kind, match[kind], match["output"]))
    return found


def consoles_of(page: Path) -> list[Block]:
    return [block for block in blocks_of(page) if block.kind == "console"]


def code_in_text(page: Path) -> list[str]:
    """The texts between backquotes in sentences and tables, each in one line."""
    text = NOT_IN_TEXT.sub("", page.read_text())
    return [" ".join(code.split()).replace("\\|", "|") for code in re.findall(r"`([^`]+)`", text)]
