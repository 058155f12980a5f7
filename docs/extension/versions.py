"""The list of the site's pages, which the choice of a version in another version's pages reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write(app: Any, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        site = Path(app.outdir)
        pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
        (site / "pages.js").write_text(f"window.pydocaPages = {json.dumps(pages)};\n")


def setup(app: Any) -> None:
    app.connect("build-finished", write)
