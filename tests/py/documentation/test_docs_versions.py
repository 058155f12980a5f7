"""The documentation site's versions: which are listed, and to which one the start page leads."""

import json
import sys
from pathlib import Path

import pytest

import docs_versions


def root_with(directory: Path, *versions: str) -> Path:
    for version in versions:
        (directory / version).mkdir()
        (directory / version / "pages.js").touch()
    return directory


def listed(root: Path) -> list[str]:
    return json.loads((root / "versions.js").read_text().removeprefix("window.pydocaVersions = ").removesuffix(";\n"))


def test_the_newest_version_is_the_first(tmp_path):
    docs_versions.write(root_with(tmp_path, "0.9.0", "0.10.0", "0.10.0rc1"))
    assert listed(tmp_path) == ["0.10.0", "0.10.0rc1", "0.9.0"]


@pytest.mark.parametrize(
    ("versions", "first"),
    [(["0.9.0", "1.0.0.dev0"], "0.9.0"), (["1.0.0.dev0", "1.0.0rc1"], "1.0.0rc1")],
    ids=["a release before a pre-release", "a pre-release where nothing is released"],
)
def test_the_start_page_leads_to_the_newest_release(tmp_path, versions, first):
    docs_versions.write(root_with(tmp_path, *versions))
    assert f'url={first}/index.html"' in (tmp_path / "index.html").read_text()


def test_a_folder_without_pages_is_not_a_version(tmp_path):
    root = root_with(tmp_path, "1.0.0")
    (root / "2.0.0").mkdir()
    docs_versions.write(root)
    assert listed(root) == ["1.0.0"]


def test_a_root_without_versions_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["docs_versions.py", str(tmp_path)])
    assert docs_versions.main() == 1
    assert "has no folder of a version" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
