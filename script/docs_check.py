"""Checks the built documentation site: its links, its names, and each page in a headless Chromium.

usage: .venv/bin/python script/docs_check.py build/docs/html/VERSION
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from reports_check import faults_of_reports

# A telephone, a tablet and a screen, each in a theme: the layout does not depend on the colours.
WIDTHS = {390: "light", 820: "dark", 1440: "light"}
OLD_PAGES = ["index.html", "start.html"]  # the pages that an older version has
NAMES_PAGE = "made/from-c/index.html"
# The searches, each with the page that one of its first results must be of.
SEARCHES = {
    "doca_mmap_create": "made/from-c/memory-maps.html",
    "doca_mmap_export_dpu": "made/from-c/memory-maps.html",  # an old name
    "DOCA_ACCESS_FLAG_PCI_READ_ONLY": "made/from-c/",  # a value of an enum
    "DOCA_ERROR_IN_USE": "made/statuses.html",
    "Mmap.export_pci": "made/python/mmap.html",
    "tailroom": "concepts/bufs.html",
}
CONTRAST = 4.5  # the contrast of text and its background that WCAG 2 asks for (level AA)
MEASURE = Path(__file__).with_suffix(".js").read_text()  # what Chromium tells of a page


@dataclass
class Page(HTMLParser):
    """The parts of one page: the anchors, the links, and the files that a browser loads for it."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "iframe") and "src" in found:
            self.loaded.append(found["src"])
        elif tag == "link" and found.get("rel") != "canonical" and "href" in found:
            self.loaded.append(found["href"])


def target_of(page: Page, link: str) -> tuple[Path, str] | None:
    """The file and the anchor of a link; None for another site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    return path, unquote(parts.fragment)


def faults_of_links(pages: dict[Path, Page]) -> Iterator[str]:
    for page in pages.values():
        for link in [*page.links, *page.loaded]:
            target = target_of(page, link)
            if target is None:
                if link in page.loaded:
                    yield f"{page.path}: loads {link}"
            elif not target[0].exists():
                yield f"{page.path}: {link} leads nowhere"
            elif target[1] and target[0] in pages and target[1] not in pages[target[0]].anchors:
                yield f"{page.path}: {link} has no anchor"


def faults_of_names(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Faults of names: two clicks must lead from the start page to each name, by the page of names."""
    from pydoca.cli.explain._table import load

    table = load()
    start, names = pages[site / "index.html"], pages[site / NAMES_PAGE]
    if names.path not in {target[0] for link in start.links if (target := target_of(start, link))}:
        yield f"the start page has no link to {NAMES_PAGE}"
    reached = {target[1] for link in names.links if (target := target_of(names, link))}
    enums = {entry.name for entry in table.values.values()}
    for name in {*table.entries, *table.renamed.values(), *enums}:
        if f"doca-{name}" not in reached:
            yield f"{name} is not two clicks away from the start page"
    text = names.path.read_text()
    yield from (f"{name} is not on the page of names" for name in {*table.renamed, *table.values} if name not in text)


@dataclass
class Browser:
    """A page of Chromium, with the faults that it meets."""

    page: Any
    faults: list[str] = field(default_factory=list)
    place: str = ""

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.add(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.add(str(error)))
        self.page.on("request", lambda request: self.check_request(request.url))

    def add(self, fault: str) -> None:
        self.faults.append(f"{self.place}: {fault}")

    def check_request(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.add(f"asks for {url}")

    def look(self, site: Path, path: Path) -> None:
        """Looks at one page, at every width."""
        self.place = str(path.relative_to(site))
        self.page.goto(path.as_uri())
        for width, theme in WIDTHS.items():
            self.page.emulate_media(color_scheme=theme)
            self.page.set_viewport_size({"width": width, "height": 900})
            self.measure(theme, width)

    def measure(self, theme: str, width: int) -> None:
        seen = self.page.evaluate(MEASURE)
        if seen["excess"] > 0:
            self.add(f"{seen['excess']} pixels wider than a window of {width}")
        if seen["cut"]:
            self.add(f"cut in a window of {width}: {seen['cut']}")
        if seen["lost"]:
            self.add(f"out of reach in a window of {width}: {seen['lost']}")
        if seen["contrast"] < CONTRAST:
            self.add(f"contrast {seen['contrast']:.1f} in {theme}")

    def search(self, site: Path, words: str, wanted: str) -> None:
        self.place = f"search for {words}"
        self.page.goto(f"{(site / 'search.html').as_uri()}?q={words}")
        self.page.wait_for_selector("#search-results li a", timeout=20000)
        found = self.page.eval_on_selector_all("#search-results li a", "all => all.slice(0, 10).map(each => each.href)")
        if not any(wanted in each for each in found):
            self.add(f"{wanted} is not among {found}")

    def click_twice(self, site: Path, name: str) -> None:
        """Clicks from the start page to the page of names, and to the entry of the name."""
        self.place = f"two clicks to {name}"
        self.page.goto((site / "index.html").as_uri())
        self.page.click(f"article a[href='{NAMES_PAGE}']")
        self.page.click(f".name-list a:has(:text-is('{name}'))")
        entry = self.page.wait_for_selector(":target", timeout=20000).inner_text()
        if name not in entry.split():
            self.add(f"they lead to {self.page.url}, {entry[:60]!r}")

    def switch_version(self, root: Path, page: str, wanted: str) -> None:
        """Chooses the other version of two on a page, which must lead to the wanted page of that version."""
        self.place = f"the other version of {page}"
        self.page.goto(f"{root.as_uri()}/new/{page}")
        with self.page.expect_navigation(timeout=20000):
            self.page.select_option(".version-switch select", "0.0.1", timeout=20000)
        if self.page.url != f"{root.as_uri()}/0.0.1/{wanted}":
            self.add(f"leads to {self.page.url}")

    def show_one_version(self, root: Path) -> None:
        self.place = "one version alone"
        self.page.goto((root / "new/index.html").as_uri())
        if self.page.query_selector(".version-switch select") or not self.page.inner_text(".version-switch span"):
            self.add("has a choice, or shows no version")

    def filter_names(self, site: Path) -> None:
        """Types into the field of the page of names, which must show those that contain the text."""
        self.place = NAMES_PAGE
        self.page.goto((site / NAMES_PAGE).as_uri())
        self.page.fill(".name-filter", "mmap_create_from")
        visible = "all => all.filter(each => each.offsetParent).map(each => each.innerText)"
        shown = self.page.eval_on_selector_all(".name-list li", visible)
        if not shown or any("mmap_create_from" not in name for name in shown):
            self.add(f"the field shows {shown[:5]}")


@contextmanager
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield Browser(program.new_page())
        program.close()


def faults_of_looks(site: Path, paths: list[Path]) -> list[str]:
    with chromium() as browser:
        for path in paths:
            browser.look(site, path)
    return browser.faults


@contextmanager
def root_of(site: Path, versions: list[str]) -> Iterator[Path]:
    """A folder with the site and a list of versions, of which 0.0.1 has two pages."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "new").symlink_to(site)
        (root / "0.0.1").mkdir()
        for name in OLD_PAGES:
            (root / "0.0.1" / name).write_text("<!DOCTYPE html>")
        (root / "0.0.1/pages.js").write_text(f"window.pydocaPages = {OLD_PAGES};")
        (root / "versions.js").write_text(f"window.pydocaVersions = {versions};")
        yield root


def faults_of_use(site: Path) -> list[str]:
    from pydoca import version

    with chromium() as browser:
        for words, wanted in SEARCHES.items():
            browser.search(site, words, wanted)
        browser.click_twice(site, "doca_mmap_create")
        browser.filter_names(site)
        with root_of(site, [version()]) as root:
            browser.show_one_version(root)
        with root_of(site, [version(), "0.0.1"]) as root:
            browser.switch_version(root, "start.html#install-it", "start.html#install-it")
            browser.switch_version(root, "concepts/bufs.html", "index.html")
    return browser.faults


def faults_in_chromium(site: Path, paths: list[Path]) -> Iterator[str]:
    """The faults that Chromium shows, in as many browsers at a time as there are cores."""
    count = os.cpu_count() or 1
    with ProcessPoolExecutor(count) as pool:
        looks = [pool.submit(faults_of_looks, site, paths[index::count]) for index in range(count)]
        for part in [*looks, pool.submit(faults_of_use, site)]:
            yield from part.result()


def main() -> int:
    parser = argparse.ArgumentParser(prog="docs_check.py", description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the folder of one version")
    site = parser.parse_args().site.resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    of_site = [*faults_of_links(pages), *faults_of_names(site, pages), *faults_in_chromium(site, list(pages))]
    faults = [*of_site, *faults_of_reports()]
    print(*faults, sep="\n", end="\n" if faults else "")
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages at {len(WIDTHS)} widths, {links} links: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
