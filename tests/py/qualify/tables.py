"""The tables of docs/qualification.md, made from the markers of the cases and from the planted defects.

usage: .venv/bin/python tests/py/qualify/tables.py      # writes them again, after a change
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from qualify.case_table import Case, case_table
from qualify.defects import DEFECTS, Defect

PAGE = Path(__file__).resolve().parents[3] / "docs/qualification.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
LEVELS = ("smoke", "quick", "full", "soak")


def cases() -> str:
    lines = ["| id | case | levels | needs |", "|---|---|---|---|"]
    lines += [_row(case) for case in sorted(case_table().values(), key=lambda case: case.file)]
    return "\n".join(lines) + "\n"


def _row(case: Case) -> str:
    levels = ", ".join(level for level in LEVELS if level in case.levels)
    return f"| {case.id} | {case.title} | {levels} | {', '.join(f'`{need}`' for need in case.needs)} |"


def defects() -> str:
    lines = ["| planted defect | planted as | found by | level |", "|---|---|---|---|"]
    lines += [_planted(defect) for defect in DEFECTS.values()]
    return "\n".join(lines) + "\n"


def _planted(defect: Defect) -> str:
    return f"| {defect.what} | {_means(defect)} | {', '.join(defect.cases)} | {defect.level} |"


def _means(defect: Defect) -> str:
    """The means that make the device, the other process or the program defective."""
    means = [f"fault `{rule.action}`" for rule in defect.rules()]
    means += [f"timing of `{name}`" for name in defect.timing if name != "seed"]
    means += [f"fault `{word}` in the other process" for word in re.findall(r'action = "(\w+)"', defect.peer)]
    if defect.plant is not None:
        means.append("a change of the tester's code")
    return ", ".join(means)


def page() -> str:
    """The page with its correct tables."""
    made = {"cases": cases(), "defects": defects()}
    return TABLE.sub(lambda found: found[1] + made[found[2]] + found[3], PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
