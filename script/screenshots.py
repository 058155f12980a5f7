"""Takes the pictures of script/screenshots, which installs what this needs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests/py/display"
RESULT = ROOT / "build/screenshots"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTHS = (800, 1400)
SHEET = 2400  # pixels: the height of a sheet


def scenes_of(names: list[str]) -> list[str]:
    sys.path.insert(0, str(FOLDER))
    from scenes import SCENES

    if unknown := set(names) - SCENES.keys():
        raise SystemExit(f"no scene is called {', '.join(sorted(unknown))}; there are: {', '.join(SCENES)}")
    return names or list(SCENES)


def write_notebook(path: Path, scenes: list[str]) -> None:
    """A notebook with the display of each scene, as a kernel has made it, and as the user's own, which is trusted."""
    import nbformat
    from nbclient import NotebookClient
    from nbformat.sign import NotebookNotary

    first = f"import sys\nimport pydoca\nsys.path.insert(0, {str(FOLDER)!r})\nfrom scenes import shown"
    # A list shows itself as Python does.
    cells = [first, *(f"with shown({name!r}) as {name}:\n    {_call(name)}({name})" for name in scenes)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    NotebookNotary().sign(notebook)
    nbformat.write(notebook, path)


def _call(name: str) -> str:
    return "pydoca.display" if name == "devices" else "display"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def jupyter_lab(directory: Path) -> Iterator[str]:
    """The address of a server on this machine alone, until the end of the block."""
    token, port = secrets.token_hex(16), free_port()
    line = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root"]
    options = [f"--IdentityProvider.token={token}", "--ServerApp.port_retries=0", "--LabApp.news_url=None"]
    with open(directory / "server.log", "w") as log:
        server = subprocess.Popen([*line, *options], cwd=directory, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/api?token={token}", server)
        yield f"http://127.0.0.1:{port}/lab/tree/displays.ipynb?reset&token={token}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.2)
    raise SystemExit("JupyterLab did not start")


def choose_theme(directory: Path, theme: str) -> None:
    settings = {
        "apputils-extension/themes": {"theme": theme, "adaptive-theme": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    for plugin, values in settings.items():
        path = directory / "settings/@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def take_notebook(browser: Any, address: str, width: int, scenes: list[str], target: Path) -> None:
    """Takes one picture per scene, of its output."""
    # The system's colours are light in both themes: JupyterLab's own must win.
    page = browser.new_page(viewport={"width": width, "height": 3600}, color_scheme="light")
    page.goto(address)
    outputs = page.locator(".jp-CodeCell .jp-OutputArea-output")
    page.wait_for_function(
        "n => document.querySelectorAll('.pydoca-display').length >= n", arg=len(scenes), timeout=60000
    )
    for index, name in enumerate(scenes):
        outputs.nth(index).screenshot(path=target / f"{name}.png")
    page.close()


def write_page(target: Path, scenes: list[str]) -> None:
    """The same displays outside of JupyterLab, one below another."""
    from scenes import shown

    from pydoca._display.notebook import html_of

    displays = []
    for name in scenes:
        with shown(name) as each:
            displays.append(f'<section id="{name}">{html_of(each)}</section>')
        del each
    target.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{"".join(displays)}</body>')


def take_page(browser: Any, page_file: Path, theme: str, width: int, scenes: list[str], target: Path) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=theme)
    page.goto(page_file.as_uri())
    for name in scenes:
        page.locator(f"#{name}").screenshot(path=target / f"{name}.png")
    page.close()


def make_sheets(browser: Any, target: Path, scenes: list[str], width: int) -> None:
    figures = "".join(f'<p>{name}</p><img src="{(target / name).as_uri()}.png">' for name in scenes)
    style = "body{margin:8px;background:#888}p{margin:6px 0 2px;font:bold 13px sans-serif}img{display:block}"
    (target / "sheet.html").write_text(f"<!DOCTYPE html><style>{style}</style>{figures}")
    page = browser.new_page(viewport={"width": width, "height": SHEET})
    page.goto((target / "sheet.html").as_uri())
    height = page.evaluate("document.documentElement.scrollHeight")
    for number, top in enumerate(range(0, height, SHEET)):
        clip = {"x": 0, "y": top, "width": width, "height": min(SHEET, height - top)}
        page.screenshot(path=target / f"sheet-{number + 1:02}.png", clip=clip, full_page=True)
    page.close()


def use_directories(directory: Path) -> None:
    """Has all programs use this directory, so that no setting of the user is read or changed."""
    for name, folder in {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "PYDOCA_FABRIC": f"screenshots-{secrets.token_hex(4)}",
    }.items():
        os.environ[name] = folder if name == "PYDOCA_FABRIC" else str(directory / folder)
    os.environ["PYDOCA_BACKEND"] = "sim"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", nargs="*", help="all scenes unless told")
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        use_directories(directory)
        scenes = scenes_of(arguments.scene)
        write_notebook(directory / "displays.ipynb", scenes)
        write_page(directory / "page.html", scenes)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        stack.callback(browser.close)
        address = stack.enter_context(jupyter_lab(directory))
        for theme, width in [(theme, width) for theme in THEMES for width in WIDTHS]:
            choose_theme(directory, THEMES[theme])
            targets = [RESULT / f"{place}-{theme}-{width}" for place in ("lab", "page")]
            for target in targets:
                shutil.rmtree(target, ignore_errors=True)
                target.mkdir(parents=True)
            take_notebook(browser, address, width, scenes, targets[0])
            take_page(browser, directory / "page.html", theme, width, scenes, targets[1])
            for target in targets:
                make_sheets(browser, target, scenes, width)
                print(target.relative_to(ROOT), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
