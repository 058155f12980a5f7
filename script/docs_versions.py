"""Lists the versions of the documentation site that stand in a folder, for the choice of a version on each page.

Writes versions.js, and an index.html that leads to the newest release, or to the newest version where none is released.

usage: .venv/bin/python script/docs_versions.py build/docs/html
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from packaging.version import Version

INDEX = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={version}/index.html">
<title>pydoca</title>
</head>
<body><a href="{version}/index.html">pydoca {version}</a></body>
</html>
"""


def versions_in(root: Path) -> list[str]:
    """The versions that have a folder with pages, the newest first."""
    return sorted((path.parent.name for path in root.glob("*/pages.js")), key=Version, reverse=True)


def write(root: Path) -> None:
    versions = versions_in(root)
    newest = next((each for each in versions if not Version(each).is_prerelease), versions[0])
    (root / "versions.js").write_text(f"window.pydocaVersions = {json.dumps(versions)};\n")
    (root / "index.html").write_text(INDEX.format(version=newest))


def main() -> int:
    parser = argparse.ArgumentParser(prog="docs_versions.py", description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="the folder with a folder for each version")
    root: Path = parser.parse_args().root
    if not versions_in(root):
        print(f"{root} has no folder of a version: script/docs makes one", file=sys.stderr)
        return 1
    write(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
