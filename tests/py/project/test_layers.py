"""The files that a file may include or import. Each failure names the rule and every line that breaks it."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PUBLIC = ROOT / "cpp/include/pydoca"
SRC = ROOT / "cpp/src"
BACKENDS = SRC / "backend"
BINDINGS = ROOT / "cpp/bindings"
CAPI = ROOT / "cpp/capi"
PACKAGE = ROOT / "python/pydoca"
TESTS = [ROOT / "tests", ROOT / "benchmarks"]

# A public header includes only headers of earlier rows; headers of one row do not include one another.
ORDER = [
    ["status", "version", "words", "callback"],
    ["types", "value"],
    ["task_traits"],
    ["rdma_tasks", "sha_algorithm"],
    ["interrupt", "cpus", "trace", "turn_points", "virtual_time"],
    ["memory"],
    ["log"],
    ["segment"],
    ["capability/field"],
    [
        *[f"capability/{noun}" for noun in ("dma", "sha", "compress", "comch", "sync_event", "rdma")],
        *[f"capability/{noun}" for noun in ("mmap_advise", "clock", "dpa")],
    ],
    ["capability/libraries"],
    ["device_properties"],
    ["faults"],
    [
        *["backend/notifier", "backend/memory", "backend/queue", "backend/counter", "backend/channel"],
        *["backend/processor", "backend/import", "backend/engine"],
    ],
    ["backend/rdma", "backend/hash", "backend/compress"],
    ["backend/device"],
    ["device"],
    ["capabilities"],
    ["representor", "clock"],
    ["mmap"],
    ["dpa"],
    ["buf"],
    ["buf_source"],
    ["buf_inventory", "buf_pool"],
    ["task"],
    ["context"],
    ["progress_engine"],
    ["import"],
    ["dma", "sha", "compress", "sync_event", "comch", "mmap_advise"],
    ["sync_event_context"],
    ["rdma"],
    ["rdma_bridge", "rdma_connect"],
    ["graph"],
    ["handles"],
    ["job_ledger"],
    ["workq"],
    ["sim_timing"],
    ["sim"],
]
ROW = {header: row for row, headers in enumerate(ORDER) for header in headers}
INTERFACE = [f"pydoca/{header}.hpp" for header in ROW if ROW[header] <= ROW["backend/device"]]
VENDOR_FOLDERS = {"infiniband": "verbs", "rdma": "verbs", "openssl": "sim/sha", "isa-l": "sim/compress"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def cxx_files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.[ch]pp"))


def includes(path: Path) -> Iterator[tuple[str, str]]:
    """Yields each included name with its place, as file:line."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield match[1], f"{path.relative_to(ROOT)}:{number}"


def project_name(path: Path, name: str) -> str:
    """Returns name as seen from cpp/src or cpp/include, also when it was written relative to path's folder."""
    beside = (path.parent / name).resolve()
    for base in (SRC, PUBLIC.parent):
        if beside.is_file() and beside.is_relative_to(base):
            return str(beside.relative_to(base))
    return name


def public_name(path: Path) -> str:
    """Returns the name of a public header in ORDER, such as backend/queue."""
    return str(path.relative_to(PUBLIC).with_suffix(""))


def row_of(included: str) -> int:
    """Returns the row of a public header as it is included; another header comes after all rows."""
    return ROW.get(included.removeprefix("pydoca/").removesuffix(".hpp"), len(ORDER))


def is_of_project(name: str) -> bool:
    return any((base / name).is_file() for base in (SRC, PUBLIC.parent, BINDINGS))


def is_standard(name: str) -> bool:
    """Tells whether name is a header of the C++ library: neither a folder nor a suffix."""
    return "/" not in name and "." not in name


def fail_if_any(rule: str, faults: list[str]) -> None:
    if faults:
        pytest.fail(f"broken: {rule}\n  " + "\n  ".join(faults), pytrace=False)


def test_every_public_header_has_its_place_in_the_order():
    unknown = sorted({public_name(path) for path in cxx_files(PUBLIC)} - ROW.keys())
    fail_if_any("a public header stands in ORDER of this file", unknown)


def test_public_headers_include_only_the_standard_library_and_headers_to_their_left():
    faults = []
    for path in cxx_files(PUBLIC):
        for name, place in includes(path):
            earlier = name.startswith("pydoca/") and row_of(name) < ROW.get(public_name(path), -1)
            if not (is_standard(name) or earlier):
                faults.append(f"{place}: {name}")
    fail_if_any("a public header includes the standard library and public headers to its left, nothing else", faults)


def test_no_library_is_a_friend_of_a_public_class():
    """The library reaches the class as a derived class, in cpp/src/library."""
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in cxx_files(PUBLIC)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(r"\bfriend\b.*\blibrary::", line)
    ]
    fail_if_any("a public header names no class of cpp/src/library as a friend", faults)


def test_public_classes_have_few_friends():
    """The friends are bufs and what gives and lends them, tasks with contexts and engines, and log sinks."""
    friends = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in cxx_files(PUBLIC)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.match(r"\s*friend\b", line)
    ]
    assert len(friends) <= 13, "\n".join(friends)


def test_headers_for_authors_of_backends_are_not_included_by_other_public_headers():
    """Other public headers may declare the types in backend:: that they point to."""
    faults = [
        f"{place}: {name}"
        for path in PUBLIC.glob("*.hpp")
        for name, place in includes(path)
        if name.startswith("pydoca/backend/")
    ]
    fail_if_any("a public header outside backend/ includes nothing of backend/", faults)


def test_only_the_list_of_backends_includes_backends():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(SRC)
        if not path.is_relative_to(BACKENDS) and path != SRC / "backends.cpp"
        for name, place in includes(path)
        if project_name(path, name).startswith("backend/")
    ]
    fail_if_any("only cpp/src/backends.cpp includes anything of cpp/src/backend", faults)


def may_backend_include(backend: str, name: str) -> bool:
    """A backend may see the interface, the controls that carry its own name, detail/ and its own folder."""
    own = (f"backend/{backend}/", f"pydoca/{backend}_", "detail/")
    return name in INTERFACE or name == f"pydoca/{backend}.hpp" or name.startswith(own)


def test_a_backend_includes_the_interface_detail_and_its_own_folder():
    faults = []
    for path in cxx_files(BACKENDS):
        backend = path.relative_to(BACKENDS).parts[0]
        for written, place in includes(path):
            name = project_name(path, written)
            if is_of_project(name) and not may_backend_include(backend, name):
                faults.append(f"{place}: {name}")
    fail_if_any("a backend includes pydoca/backend/, headers before it in ORDER, detail/ and its own folder", faults)


def test_a_device_with_planned_faults_passes_every_call_on():
    """The base class answers every call itself, so the compiler does not notice a call that is missing here."""
    interface = (PUBLIC / "backend/device.hpp").read_text()
    calls = re.findall(r"virtual [\w:<>,&* ]*?(\w+)\(", interface[: interface.index("class Recordings")])
    passed_on = (BACKENDS / "faulty/device.hpp").read_text()
    assert [name for name in calls if f" {name}(" not in passed_on] == []
    assert len(calls) > 15


def test_vendor_headers_stand_in_their_backend_only():
    faults = []
    for path in cxx_files(ROOT / "cpp"):
        for name, place in includes(path):
            owner = VENDOR_FOLDERS.get(name.split("/")[0])
            is_ours = any((folder / name).is_file() for folder in (BINDINGS, CAPI / "src"))  # which have folders rdma
            if owner and "/" in name and not is_ours and not path.is_relative_to(BACKENDS / owner):
                faults.append(f"{place}: {name}")
    fail_if_any(
        "<infiniband/...> and <rdma/...> stand in backend/verbs only, <openssl/...> in backend/sim/sha, "
        "<isa-l/...> in backend/sim/compress",
        faults,
    )


def test_detail_stands_below_everything_else_of_the_engine():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(SRC / "detail")
        for name, place in includes(path)
        if name.startswith("pydoca/") and name not in INTERFACE
    ]
    fail_if_any("cpp/src/detail includes no public header behind backend/ in ORDER", faults)


def test_the_core_knows_no_library():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(SRC / "core")
        for name, place in includes(path)
        if name.startswith("library/") or (name.startswith("pydoca/") and row_of(name) >= ROW["dma"])
    ]
    fail_if_any("cpp/src/core includes nothing of a library", faults)


def test_a_library_knows_no_other_library():
    """A library does not include another one, with three exceptions.

    Sync events of network peers are operands of RDMA's tasks; the DPA is a location of sync events; a library's jobs
    (<noun>_jobs.cpp) are its part of work queues.
    """
    allowed = {("rdma", "sync_event"), ("sync_event", "dpa")}
    faults = []
    for path in cxx_files(*(folder for folder in (SRC / "library").iterdir() if folder.is_dir())):
        others = {folder.name for folder in (SRC / "library").iterdir() if folder.is_dir()} - {path.parent.name}
        for name, place in includes(path):
            if name.startswith("pydoca/backend/"):
                continue
            noun = Path(name).stem if name.startswith("pydoca/") else Path(name).parent.name
            is_job = noun == "workq" and path.name == f"{path.parent.name}_jobs.cpp"
            if noun in others and (path.parent.name, noun) not in allowed and not is_job:
                faults.append(f"{place}: {name}")
    fail_if_any("a folder of cpp/src/library includes the core, detail/, and nothing of another library", faults)


FLOORS = [  # the floors of cpp/bindings: a folder includes those before its own
    ["convert"],
    ["call"],
    ["loop"],
    ["trace"],
    ["device", "engine"],
    ["memory"],
    ["task", "dpa"],
    ["batch"],
    ["gather", "future", "dma", "sha", "compress", "mmap_advise", "sync_event", "comch", "rdma", "graph"],
    ["import", "workq"],
]


def test_the_folders_of_the_bindings_use_one_another_downwards():
    floor = {folder: number for number, folders in enumerate(FLOORS) for folder in folders}
    faults = [
        f"{place}: {name}"
        for path in cxx_files(BINDINGS)
        if path.parent != BINDINGS
        for name, place in includes(path)
        if "/" in name and (BINDINGS / name).is_file() and name.split("/")[0] != path.parent.name
        if floor[name.split("/")[0]] >= floor[path.parent.name]
    ]
    fail_if_any("a folder of cpp/bindings includes folders on lower floors only (FLOORS of this file)", faults)


def test_the_extension_imports_no_module_of_python():
    # PyImport_GetModule() only looks whether the program has imported it.
    calls = re.compile(r"module_::import|PyImport_Import")
    faults = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in cxx_files(BINDINGS)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if calls.search(line)
    ]
    fail_if_any("pydoca._augment attaches what the extension needs of Python (convert/python.hpp)", faults)


def test_one_file_names_what_is_private_to_pybind11():
    private = re.compile(r"\b(?:py|pybind11)::detail\b|<pybind11/detail/")
    home = BINDINGS / "convert/pybind_internals.hpp"
    assert private.search(home.read_text())
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in cxx_files(BINDINGS)
        if path != home
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if private.search(line)
    ]
    fail_if_any("only convert/pybind_internals.hpp names py::detail, with the reason for each use", faults)


def included_stems(*roots: Path) -> dict[Path, set[Path]]:
    """Returns what each file of the roots includes of them. A header and a source of one name count as one file."""
    graph: dict[Path, set[Path]] = {}
    for path in cxx_files(*roots):
        included = graph.setdefault(path.with_suffix(""), set())
        for name, _ in includes(path):
            for base in (path.parent, SRC, BINDINGS, PUBLIC.parent):
                if (base / name).is_file():
                    included.add((base / name).resolve().with_suffix(""))
                    break
        included.discard(path.with_suffix(""))
    return graph


def circles_of(graph: dict[Path, set[Path]]) -> list[set[Path]]:
    """Returns the largest sets of nodes that all lead to one another."""
    reached: dict[Path, set[Path]] = {}
    for node in graph:
        reached[node], ahead = set(), [*graph[node]]
        while ahead:
            if (following := ahead.pop()) not in reached[node]:
                reached[node].add(following)
                ahead += graph.get(following, ())
    in_circles = {node for node in graph if node in reached[node]}
    circles = []
    while in_circles:
        node = min(in_circles)
        circles.append({other for other in reached[node] & in_circles if node in reached[other]})
        in_circles -= circles[-1]
    return circles


def test_files_form_no_circle():
    circles = [
        sorted(str(path.relative_to(ROOT / "cpp")) for path in circle)
        for circle in circles_of(included_stems(PUBLIC, SRC, BINDINGS))
    ]
    faults = [", ".join(circle) for circle in circles]
    fail_if_any("files form no circle: none includes, directly or over others, a file that includes it", faults)


def test_folders_of_the_backends_form_no_circle():
    graph: dict[Path, set[Path]] = {}
    for stem, included in included_stems(BACKENDS, SRC / "detail").items():
        graph.setdefault(stem.parent, set()).update(other.parent for other in included if other.parent != stem.parent)
    faults = [", ".join(sorted(str(path.relative_to(SRC)) for path in circle)) for circle in circles_of(graph)]
    fail_if_any(
        "folders of a backend form no circle: none includes, directly or over others, a folder that includes it", faults
    )


def folders_of(*roots: Path) -> Iterator[tuple[Path, list[Path]]]:
    for root in roots:
        for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
            yield folder, [path for path in folder.iterdir() if path.suffix in {".cpp", ".hpp", ".py", ".pyi"}]


def test_no_folder_is_too_large_to_be_looked_through():
    known = {PUBLIC, PACKAGE / "_core"}  # one per noun
    faults = [
        f"{folder.relative_to(ROOT)}: {len(files)} files"
        for folder, files in folders_of(ROOT / "cpp/include", SRC, BINDINGS, CAPI, PACKAGE, *TESTS)
        if len(files) > 22 and folder not in known
    ]
    fail_if_any("a folder holds at most about 20 files", faults)


def test_spdlog_is_private_to_the_log():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(ROOT / "cpp")
        if path != SRC / "core/log.cpp"
        for name, place in includes(path)
        if name.startswith(("spdlog/", "fmt/"))
    ]
    fail_if_any("spdlog is included in cpp/src/core/log.cpp only", faults)


def test_the_reader_of_toml_is_private_to_one_file():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(ROOT / "cpp")
        if path != SRC / "detail/text/toml.cpp"
        for name, place in includes(path)
        if name.startswith("toml++/")
    ]
    fail_if_any("toml++ is included in cpp/src/detail/text/toml.cpp only", faults)


def test_the_reader_of_json_is_private_to_one_file():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(ROOT / "cpp")
        if path != CAPI / "src/argp/json.cpp"
        for name, place in includes(path)
        if name.startswith("nlohmann/")
    ]
    fail_if_any("nlohmann/ is included in cpp/capi/src/argp/json.cpp only", faults)


def test_the_engine_knows_no_python():
    words = re.compile(r"pybind11|Python\.h|\bPy[A-Z_]\w*|\bGIL\b|\bgil_", re.ASCII)
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in cxx_files(PUBLIC, SRC)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if words.search(line)
    ]
    fail_if_any("the engine knows no Python, not even in a name", faults)


def test_the_bindings_see_public_headers_only():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(BINDINGS)
        for name, place in includes(path)
        if name.startswith(("detail/", "backend/", "pydoca/backend/", "..")) or (SRC / name).is_file()
    ]
    fail_if_any("cpp/bindings includes public headers of the engine only", faults)


def test_the_c_api_sees_public_headers_only():
    faults = [
        f"{place}: {name}"
        for path in cxx_files(CAPI)
        for name, place in includes(path)
        if name.startswith(("detail/", "core/", "backend/", "pydoca/backend/", ".."))
    ]
    fail_if_any("cpp/capi includes public headers of the engine, and its own", faults)


def python_files(*folders: Path) -> list[Path]:
    roots = folders or (PACKAGE, PACKAGE.parent / "pytest_pydoca")
    return sorted(path for root in roots for path in root.rglob("*.py"))


def imported_modules(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the full name of each module or name that path imports, also inside functions, with its place."""
    package = path.relative_to(PACKAGE.parent).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            yield from ((alias.name, place) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", place) for alias in node.names)


# Runs import-linter by its contracts in pyproject.toml: all rules of Python except those below.
LINT_IMPORTS = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True))
"""


def lint_imports(sources: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, str(ROOT / "pyproject.toml")],
        env={**os.environ, "PYTHONPATH": str(sources), "COLUMNS": "200"},
        cwd=sources,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_python_modules_import_what_the_contracts_allow():
    run = lint_imports(PACKAGE.parent)
    fail_if_any("the contracts of import-linter in pyproject.toml", [run.stdout + run.stderr] if run.returncode else [])


def test_import_linter_finds_every_module():
    folders = {path.parent for path in python_files()}
    missed = sorted(str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists())
    fail_if_any("a folder with Python modules has an __init__.py: import-linter looks into packages only", missed)


# The module of each contract, and an import that breaks it.
PLANTED = {
    "modules and packages form no circle": ("pydoca/qualify/session/passes.py", "pydoca.qualify.session.hooks"),
    "nothing imports the command line": ("pydoca/_stats.py", "pydoca.cli._values"),
    "qualification is imported by its command and by pytest's plugin": ("pydoca/_stats.py", "pydoca.qualify.names"),
    "pytest's plugin stands above pydoca, its markers and its options below": (
        "pydoca/qualify/names.py",
        "pytest_pydoca.plugin",
    ),
    "the frame of the displays knows no object": ("pydoca/_display/frame/panel.py", "pydoca._stats"),
    "only the parser imports the RDMA lab": ("pydoca/cli/caps.py", "pydoca.cli.rdma_lab"),
    "the RDMA lab imports nothing of pydoca but its command line": ("pydoca/cli/rdma_lab/_guest.py", "pydoca._stats"),
    "Jinja2, NumPy, packaging, SciPy and xdist are imported by the qualification": ("pydoca/sim.py", "numpy"),
    "pytest is imported by the qualification and by the plugin": ("pydoca/sim.py", "pytest"),
    "the private modules of pytest are imported by one file": ("pydoca/qualify/start.py", "_pytest.runner"),
    "IPython is imported by the extension for notebooks and by displays": ("pydoca/_log.py", "IPython"),
    "tqdm is imported by what shows bars": ("pydoca/_log.py", "tqdm"),
}


def test_each_contract_finds_an_import_that_breaks_it(tmp_path):
    """The planted imports are inside a function, or only for type checkers."""
    for name in ("pydoca", "pytest_pydoca"):
        shutil.copytree(PACKAGE.parent / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for number, (module, imported) in enumerate(PLANTED.values()):
        place = ("if TYPE_CHECKING:", "def planted():")[number % 2]
        with (tmp_path / module).open("a") as file:
            file.write(f"\n\nfrom typing import TYPE_CHECKING\n{place}\n    import {imported}\n")
    found = re.findall(r"^(.*) (?:KEPT|BROKEN)\b", (output := lint_imports(tmp_path).stdout), re.MULTILINE)
    assert found == list(PLANTED)
    assert re.findall(r"^(.*) KEPT\b", output, re.MULTILINE) == []


def test_private_names_of_pytests_objects_stand_in_one_file():
    """import-linter sees modules only."""
    objects = re.compile(r"\b(?:item|node|report|reporter|request|terminalreporter|config)\._[a-z]\w*")
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in python_files(PACKAGE / "qualify", PACKAGE / "cli/qualify", PACKAGE.parent / "pytest_pydoca")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if objects.search(line) and path.name != "pytest_private.py"
    ]
    fail_if_any("pydoca.qualify.pytest_private has the names of pytest that are not public", faults)


def test_modules_do_not_import_the_package_that_is_built_from_them():
    """import-linter sees no module in the extension, and takes `from pydoca import _core` for an import of pydoca."""
    modules = {"_core", *(path.stem for path in PACKAGE.iterdir())}
    faults = [
        f"{place}: {name}"
        for path in python_files(PACKAGE)
        if path.relative_to(PACKAGE).parts[0] not in {"cli", "qualify", "__init__.py"}
        for name, place in imported_modules(path)
        if name == "pydoca" or (name.startswith("pydoca.") and name.split(".")[1] not in modules)
    ]
    fail_if_any("a module below pydoca imports others by name, not names of the package above it", faults)


def test_commands_do_not_import_one_another():
    """A folder holds the parts of one command or group; only the parser imports all commands.

    A contract of import-linter would list them by name, and miss a new one.
    """
    cli = PACKAGE / "cli"
    commands = {path.name.removesuffix(".py") for path in cli.iterdir() if path.name[0].isalpha()}
    faults = []
    for path in sorted(cli.rglob("*.py")):
        own = path.relative_to(cli).parts[0].removesuffix(".py")
        for name, place in imported_modules(path):
            command = name.removeprefix("pydoca.cli.").split(".")[0]
            if name.startswith("pydoca.cli.") and command in commands - {own} and path != cli / "_parser.py":
                faults.append(f"{place}: {name}")
    fail_if_any("commands do not import one another; pydoca.cli._parser imports them all", faults)


def test_a_started_process_imports_nothing_of_pydoca_before_it_has_the_path():
    tree = ast.parse((PACKAGE / "_spawn/child.py").read_text())
    names = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)]
    fail_if_any(
        "pydoca._spawn.child imports pydoca in functions", [name for name in names if name.startswith("pydoca")]
    )


PROBE = """
import json, sys
before = set(sys.modules)
import pydoca
loaded = sorted({name.split(".")[0] for name in set(sys.modules) - before})
with open("/proc/self/status") as status:
    threads = next(int(line.split()[1]) for line in status if line.startswith("Threads:"))
print(json.dumps({"loaded": loaded, "threads": threads}))
"""


def test_importing_pydoca_starts_no_thread_and_imports_nothing_heavy():
    run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=30)
    seen = json.loads(run.stdout)
    heavy = {"numpy", "asyncio", "pytest", "uvloop", "IPython", "tqdm", "subprocess"} & set(seen["loaded"])
    fail_if_any("import pydoca imports neither NumPy nor asyncio nor pytest nor what notebooks need", sorted(heavy))
    fail_if_any("import pydoca starts no thread", [] if seen["threads"] == 1 else [f"{seen['threads']} threads run"])
