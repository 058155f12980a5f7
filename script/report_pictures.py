"""Makes the pictures of docs/qualification.md anew: the reports of a simulated device and of Soft-RoCE in a guest.

usage: .venv/bin/python script/report_pictures.py      (script/docs and script/test-rdma install what it needs)
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYDOCA = Path(sys.executable).with_name("pydoca")
SIZE = {"width": 1000, "height": 1000}  # pixels: what the page begins with


def report(folder: Path, *device: str, guest: bool = False) -> Path:
    """Makes the report of a run of level smoke; returns its page."""
    folder.mkdir()
    runs = folder / "runs"
    lab = [str(PYDOCA), "rdma-lab", "--pair", "--results", str(folder)] if guest else []
    line = [*lab, str(PYDOCA), "qualify", *device, "--level", "smoke", "--out", str(runs)]
    subprocess.run(line, check=True, cwd=folder)  # apart from the repository, whose state it would name
    return next(runs.glob("*/report.html"))


def main() -> None:
    argparse.ArgumentParser(prog="report_pictures.py", description=(__doc__ or "").splitlines()[0]).parse_args()
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = {
            "report-simulated": report(Path(folder, "sim"), "sim:p0"),
            "report-soft-roce": report(Path(folder, "lab"), "rxe0", "--peer", "rxe1", guest=True),
        }
        program = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name, path in pages.items():
            page = program.new_page(viewport=SIZE, color_scheme="light")
            page.goto(path.as_uri())
            page.screenshot(path=ROOT / "docs/images" / f"{name}.png")
        program.close()


if __name__ == "__main__":
    main()
