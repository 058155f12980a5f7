"""The files that a file may include or import. Each failure names the rule and every line that breaks it."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ROOT / "cpp/include/pydoca"
SRC = ROOT / "cpp/src"
BACKENDS = SRC / "backend"
BINDINGS = ROOT / "cpp/bindings"
PACKAGE = ROOT / "python/pydoca"

# A public header includes only headers that stand in an earlier row; headers of one row do not include one another.
ORDER = [
    ["status", "version"],
    ["types"],
    ["task_traits"],
    ["rdma_tasks", "sha_algorithm"],
    ["interrupt", "cpus", "trace", "turn_points", "virtual_time"],
    ["memory"],
    ["log"],
    ["segment"],
    ["capability/field"],
    [f"capability/{noun}" for noun in ("dma", "sha", "comch", "sync_event", "rdma", "mmap_advise", "clock", "dpa")],
    ["capability/libraries"],
    ["device_properties"],
    ["faults"],
    [
        *["backend/notifier", "backend/memory", "backend/queue", "backend/counter", "backend/channel"],
        *["backend/processor", "backend/import", "backend/engine"],
    ],
    ["backend/rdma", "backend/hash"],
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
    ["dma", "sha", "sync_event", "comch", "mmap_advise"],
    ["sync_event_context"],
    ["rdma"],
    ["rdma_bridge", "rdma_connect"],
    ["graph"],
    ["job_ledger"],
    ["workq"],
    ["sim_timing"],
    ["sim"],
]
ROW = {header: row for row, headers in enumerate(ORDER) for header in headers}
INTERFACE = [f"pydoca/{header}.hpp" for header in ROW if ROW[header] <= ROW["backend/device"]]
VENDOR_FOLDERS = {"infiniband": "verbs", "rdma": "verbs", "openssl": "sim/sha"}
TOP_MODULES = {"cli", "qualify"}

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


def test_headers_for_authors_of_backends_are_not_included_by_other_public_headers():
    """They may declare the types in backend:: that they point to."""
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
    """The base class has an answer for each call, so that the compiler misses none."""
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
            is_ours = (BINDINGS / name).is_file()  # cpp/bindings has a folder rdma, too
            if owner and "/" in name and not is_ours and not path.is_relative_to(BACKENDS / owner):
                faults.append(f"{place}: {name}")
    fail_if_any("<infiniband/...> and <rdma/...> stand in backend/verbs only, <openssl/...> in backend/sim/sha", faults)


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
    """Exceptions: sync events of network peers are operands of RDMA's tasks; the DPA is a location of sync events."""
    faults = []
    for path in cxx_files(*(folder for folder in (SRC / "library").iterdir() if folder.is_dir())):
        others = {folder.name for folder in (SRC / "library").iterdir() if folder.is_dir()} - {path.parent.name}
        for name, place in includes(path):
            if name.startswith("pydoca/backend/"):
                continue
            noun = Path(name).stem if name.startswith("pydoca/") else Path(name).parent.name
            if noun in others and (path.parent.name, noun) not in {("rdma", "sync_event"), ("sync_event", "dpa")}:
                faults.append(f"{place}: {name}")
    fail_if_any("a folder of cpp/src/library includes the core, detail/, and nothing of another library", faults)


FLOORS = [  # of cpp/bindings: a folder includes those before its own
    ["convert"],
    ["call", "loop"],
    ["trace"],
    ["device", "engine"],
    ["memory"],
    ["task", "dpa"],
    ["gather", "dma", "sha", "mmap_advise", "sync_event", "comch", "rdma", "graph"],
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
    # verbs' vocabulary; the public headers and the stubs: one per noun
    known = {BACKENDS / "verbs", PUBLIC, PACKAGE / "_core"}
    faults = [
        f"{folder.relative_to(ROOT)}: {len(files)} files"
        for folder, files in folders_of(ROOT / "cpp/include", SRC, BINDINGS, PACKAGE)
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


def test_nothing_imports_the_command_line_or_the_qualification():
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        own_top = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for name, place in imported_modules(path):
            top = name.removeprefix("pydoca.").split(".")[0] if name.startswith("pydoca.") else ""
            is_of_command = top == "qualify" and path.is_relative_to(PACKAGE / "cli/qualify")
            if top in TOP_MODULES and own_top not in {top, "__main__"} and not is_of_command:
                faults.append(f"{place}: {name}")
    fail_if_any("nothing imports pydoca.cli; pydoca.qualify is imported by its command only", faults)


def test_private_modules_do_not_import_the_package_that_is_built_from_them():
    faults = []
    for path in sorted(PACKAGE.glob("_*.py")):
        if path.name == "__init__.py":
            continue
        siblings = {"_core", *(other.stem for other in PACKAGE.iterdir())}
        for name, place in imported_modules(path):
            if name == "pydoca" or (name.startswith("pydoca.") and name.split(".")[1] not in siblings):
                faults.append(f"{place}: {name}")
    fail_if_any("a private module imports its siblings by name, not names of the package above it", faults)


def test_private_modules_import_one_another_downwards():
    siblings = {f"pydoca.{path.stem}": path.stem for path in PACKAGE.glob("_*.py") if path.name != "__init__.py"}
    below: dict[str, set[str]] = {stem: set() for stem in siblings.values()}
    for stem in below:
        for name, _ in imported_modules(PACKAGE / f"{stem}.py"):
            module = ".".join(name.split(".")[:2])
            below[stem] |= {siblings[module]} if module in siblings else set()
    while leaves := {stem for stem, needed in below.items() if not needed}:
        below = {stem: needed - leaves for stem, needed in below.items() if stem not in leaves}
    fail_if_any("private modules import one another downwards, never in a circle", sorted(below))


def test_displays_stand_on_a_frame_that_knows_no_object():
    """The frame renders panels; the files of displays make them, and form no circle."""
    folder, own = PACKAGE / "_display", "pydoca._display."
    faults = [
        f"{place}: {name}"
        for path in sorted((folder / "frame").glob("*.py"))
        for name, place in imported_modules(path)
        if name.startswith("pydoca") and not name.startswith(f"{own}frame.")
    ]
    fail_if_any("pydoca._display.frame imports the standard library and its own files only", faults)
    files = [*folder.glob("*.py"), *(folder / "frame").glob("*.py")]
    names = {f"{own}{path.relative_to(folder).with_suffix('')}".replace("/", "."): path for path in files}
    graph = {
        path: {
            names[found]
            for name, _ in imported_modules(path)
            for found in (name, name.rpartition(".")[0])
            if found in names
        }
        for path in files
    }
    circles = [", ".join(sorted(path.name for path in circle)) for circle in circles_of(graph)]
    fail_if_any("files of displays import one another downwards, never in a circle", circles)


def test_commands_do_not_import_one_another():
    """A folder holds the parts of one command or group; only the parser imports all commands."""
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


def test_the_rdma_lab_stands_apart():
    """Its command line may import the commands' shared modules; its other files import the standard library only."""
    lab = PACKAGE / "cli/rdma_lab"
    command = {lab / "__init__.py": "pydoca.cli._", lab / "_run.py": "pydoca.cli._"}
    own = "pydoca.cli.rdma_lab."
    faults = [
        f"{place}: {name}"
        for path in sorted(lab.glob("*.py"))
        for name, place in imported_modules(path)
        if name.startswith("pydoca") and not name.startswith((own, command.get(path, own)))
    ]
    faults += [
        f"{place}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.is_relative_to(lab) and path != PACKAGE / "cli/_parser.py"
        for name, place in imported_modules(path)
        if (name + ".").startswith(own)
    ]
    fail_if_any("pydoca.cli.rdma_lab imports nothing of the library, and only the parser imports it", faults)


def test_optional_packages_are_imported_in_their_places():
    """IPython by the extension for notebooks and by displays, tqdm by what shows bars, the others by qualification."""
    qualify = ("qualify/", "cli/qualify/")
    places = {
        "IPython": ("_notebook/", "_display/notebook.py"),
        "tqdm": ("_progress.py", "cli/", "qualify/session/progress.py"),
        **dict.fromkeys(["numpy", "packaging", "pytest", "scipy", "xdist"], qualify),
    }
    faults = [
        f"{place}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, place in imported_modules(path)
        if (owners := places.get(name.split(".")[0])) and not str(path.relative_to(PACKAGE)).startswith(owners)
    ]
    rule = "IPython is imported for notebooks, tqdm for bars, NumPy and pytest for qualification, only"
    fail_if_any(rule, faults)


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
