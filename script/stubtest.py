"""Compares the stubs with the extension module, and fails where they differ. Run by script/lint.

The stubs are a package with a file for each noun; the extension is one module. So each file is compared with a module
that has the names of the extension which the file declares. Names that no file declares are missed here: stubtest skips
classes that belong to another module, and the public ones do.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
STUBS = ROOT / "python/pydoca/_core"


def declared(stub: Path) -> Iterator[str]:
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def part_of(core: ModuleType, stub: Path) -> ModuleType:
    """The extension as this stub file declares it."""
    part = ModuleType(f"{core.__name__}.{stub.stem}")
    vars(part).update({name: getattr(core, name) for name in declared(stub) if hasattr(core, name)})
    return part


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    # Imported here, so that --help needs neither.
    from mypy import stubtest

    from pydoca import _core

    names = {name for stub in STUBS.glob("*.pyi") for name in declared(stub)}
    if missed := sorted(name for name in vars(_core) if not name.startswith("_") and name not in names):
        print(f"no stub has {', '.join(missed)}")
        return 1
    parts = [part_of(_core, stub) for stub in STUBS.glob("*.pyi") if stub.stem != "__init__"]
    sys.modules.update({part.__name__: part for part in parts})
    options = ["--mypy-config-file", str(ROOT / "pyproject.toml")]
    options += ["--allowlist", str(ROOT / "script/stubtest-allowlist")]
    return stubtest.test_stubs(stubtest.parse_options([*options, _core.__name__]))


if __name__ == "__main__":
    sys.exit(main())
