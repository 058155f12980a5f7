"""Checks the pages of the qualification in a headless Chromium, as wide as a telephone and as wide as a screen.

usage: .venv/bin/python script/reports_check.py      (script/docs --check also does so)
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (360, 500, 900, 1400)
# Things that do not fit: the page, the last column of a table that cannot be scrolled to, content that is wider than
# its
# place, and texts of a picture that leave it or lie on one another.
MEASURE = """() => {
  const faults = [];
  const name = (element) => (element.textContent || element.tagName).trim().slice(0, 50);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} pixels wide`);
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  for (const table of document.querySelectorAll("table")) {
    let place = table.parentElement;
    while (place !== document.body && !scrolls(place)) place = place.parentElement;
    const cells = [...table.rows].filter((row) => row.cells.length).map((row) => row.cells[row.cells.length - 1]);
    place.scrollLeft = place.scrollWidth;
    const right = place.getBoundingClientRect().right;
    if (right > root.clientWidth) faults.push(`a table's place ends at ${right}: ${name(table)}`);
    const lost = cells.find((cell) => cell.getBoundingClientRect().right > right + 1);
    if (lost) faults.push(`a last column cannot be reached: ${name(lost)}`);
    place.scrollLeft = 0;
  }
  for (const each of document.querySelectorAll("h1, h3, p, dd, dt, li, td, th, pre, nav, .pq-figure, .pq-line")) {
    if (each.scrollWidth > each.clientWidth + 1 && each.clientWidth && !scrolls(each))
      faults.push(`${each.tagName} is ${each.scrollWidth - each.clientWidth} pixels too narrow: ${name(each)}`);
  }
  for (const picture of document.querySelectorAll("svg")) {
    const frame = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    for (const [text, box] of texts) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push(`leaves its picture: ${name(text)}`);
    }
    texts.forEach(([text, a], index) => {
      const other = texts.slice(index + 1).find(([, b]) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3);
      if (other) faults.push(`lies on another text of its picture: ${name(text)}, ${name(other[0])}`);
    });
  }
  return faults;
}"""


def faults_of_page(page: Any, path: Path) -> Iterator[str]:
    page.goto(path.as_uri())
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        yield from (f"{path.name}, {width} pixels wide: {fault}" for fault in page.evaluate(MEASURE))


def faults_of_reports() -> list[str]:
    """The faults of the pages of invented runs."""
    from playwright.sync_api import sync_playwright

    sys.path[:0] = [str(ROOT / "tests/py"), str(ROOT / "tests/py/qualify")]
    from qualify.reports.pages import write_pages

    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = program.new_page()
        faults = [fault for path in write_pages(Path(folder)) for fault in faults_of_page(page, path)]
        program.close()
    return faults


def main() -> int:
    argparse.ArgumentParser(prog="reports_check.py", description=(__doc__ or "").splitlines()[0]).parse_args()
    faults = faults_of_reports()
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"pages of the qualification at {len(WIDTHS)} widths: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
