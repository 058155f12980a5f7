"""The site's own parts: names of DOCA as link targets, displays, and pages that are made of data.

The readers of the references are the site's own. These libraries were tried on all headers and on the installed stubs:

* breathe 5.1 would replace `cpp_entries.py` (131 lines) by about 60, an estimate: directives (33 lines), and a
  transform for links to DOCA's names. Doxygen's run and the list of headers stay. Its pages sort members by kind, so
  that a comment of a group leaves its group; they show `inline`, deleted copies and friends. Sphinx takes 52 s for them
  instead of 22 s. `doxygenfile` refuses 35 of 71 headers: it cannot tell `capability/dma.hpp` from `dma.hpp`.
* sphinx-autoapi 3.9 makes one page of 740 entries of `pydoca`. 99 signatures show private modules
  (`pydoca._core.device.Device`), 32 have `...` for a default such as 32, and aliases such as `_Side` stay. 64 of 973
  names are absent; with inherited members 38 are, and 227 names are added, most of them members of a base that each
  error repeats. Nitpicky, it gives 291 warnings.
* sphinx-autodoc2 0.5 follows names only through modules that have `__all__`, which stubs do not need: 690 of 973 names
  are absent, and 1,878 private ones are shown. Nitpicky, it gives 181 warnings.
* griffe 2.4 reads the stubs well, but they lack what is shown: 37 signatures lose their defaults, which `inspect`
  knows, and 24 show private aliases. By estimate, 15 lines of `python_names.py` and `python_signatures.py` would go.

None of them has the examples, the links of errors and of DOCA's names, or the pages of source.
"""

from __future__ import annotations

from typing import Any

from extension import details, names, pages, shown, source, state_machines, versions


def setup(app: Any) -> dict[str, bool]:
    for part in (details, names, pages, shown, source, state_machines, versions):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
