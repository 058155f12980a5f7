"""The command `pydoca explain`: each kind of name, JSON, and its answers to names that it does not know."""

import json

import pytest

import pydoca
from pydoca import _sdk
from pydoca.cli import main
from pydoca.cli.explain import _document, _names, _table, _text

TABLE = _table.load()
NAMES = _names.Names(TABLE)

# Each name to explain, and what the answer contains.
ANSWERS = {
    "doca_mmap_create_from_export": [
        "doca_mmap_create_from_export  (function, doca_mmap.h)",
        "Device.import_mmap(blob, *, user_data=None)",
        "remote = dev.import_mmap(blob)",
        "Mmap::create_from_export",
        "NOT_CONNECTED (NotConnectedError): the export was withdrawn, or the exporter is gone",
        "-> keep it running, and its map started",
    ],
    "struct doca_mmap": ["doca_mmap  (struct, doca_mmap.h)", "Mmap("],
    "mmap_create": ["doca_mmap_create  (function"],
    "doca_ctx_states": ["ContextState", "DOCA_CTX_STATE_STOPPING = 3"],
    "DOCA_ACCESS_FLAG_PCI_READ_ONLY": ["= 16, in Python Access.PCI_READ_ONLY", "doca_access_flag"],
    "Access.PCI_READ_ONLY": ["DOCA_ACCESS_FLAG_PCI_READ_ONLY = 16"],
    "Mmap.export_pci": ["Mmap.export_pci(device=None)", "doca_mmap_export_pci", "blob = mmap.export_pci()"],
    "Mmap::export_pci": ["Mmap.export_pci(device=None)"],
    "pydoca.Dma": ["Dma(pe, dev, *, num_tasks=32", "doca_dma_create", "doca_dma_task_memcpy_set_conf"],
    "dma.memcpy": ["await dma.memcpy(src, dst)", "States    context running", "NO_MEMORY (NoMemoryError)"],
    "memcpy": ["Dma.memcpy(src, dst"],
    "pe.progress": ["ProgressEngine.progress()"],
    "Dma.start": ["Dma.start()", "doca_ctx_start"],
    "ProgressEngine.gather": ["ProgressEngine.gather(tasks, *, progress=None)", "Awaits all tasks"],
    "DOCA_ERROR_NOT_PERMITTED": [
        "DOCA_ERROR_NOT_PERMITTED = 2  (status)",
        "raised as NotPermittedError, also a PermissionError",
        "Mmap.export_pci: the map is not started",
    ],
    "NotPermittedError": ["DOCA_ERROR_NOT_PERMITTED = 2"],
    "not_permitted": ["DOCA_ERROR_NOT_PERMITTED = 2"],
    "Status.NOT_PERMITTED": ["DOCA_ERROR_NOT_PERMITTED = 2"],
    "2": ["DOCA_ERROR_NOT_PERMITTED = 2"],
    "DOCA_SUCCESS": ["DOCA_SUCCESS = 0"],
    "DOCA_CTX_STATE_STOPPING": ["DOCA_CTX_STATE_STOPPING  (state: context stopping)", "ContextState.STOPPING"],
    "stopping": ["DOCA_CTX_STATE_STOPPING"],
    "map stopped": ["map stopped  (state)", "Mmap.set_permissions", "BAD_STATE: the map is started"],
    "doca_mmap_export_dpu": ["doca_mmap_export_dpu is an old name of", "doca_mmap_export_pci  (function"],
    "doca_cc_client_create": ["doca_cc_client_create is an old name of", "comch.Client("],
    "doca_workq_create": ["workq.WorkQueue(depth", "doca_pe_create: "],
    "doca_graph_start": ["Python    Graph.start()", "Errors"],
    "doca_argp_init": ["Python    stays out: argparse does this in Python"],
    "doca_log_backend_create_standard": ["Python    log.Sink.standard()", "log::Sink::standard"],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_name_is_explained(monkeypatch, capsys, name):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["explain", name]) == 0
    text = capsys.readouterr().out
    for part in ANSWERS[name]:
        assert part in text


@pytest.mark.parametrize("name", ["doca_mmap_create_from_export", "DOCA_CTX_STATE_STOPPING"])
def test_the_installed_command_explains_a_name(commands, name):
    run = commands.run("explain", name, env={**commands.env, "COLUMNS": "120"})
    assert (run.returncode, run.stderr) == (0, "")
    for part in ANSWERS[name]:
        assert part in run.stdout


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("MemoryMap.export", ["is not a name", "Mmap.export_pci", "Mmap.export_rdma"]),
        ("doca_mmap_creat", ["is not a name", "doca_mmap_create"]),
        ("Dma.memcopy", ["Dma.memcpy"]),
        ("DOCA_ERROR_NOT_PERMITED", ["DOCA_ERROR_NOT_PERMITTED"]),
        ("InUsError", ["InUseError"]),
        ("start", ["can be one of", "Context.start", "Mmap.start"]),
        ("doca_flow_init", ["is not a name of DOCA Core", "such as DOCA Flow, are not here"]),
        ("qqqqqqqqqq", ["is not a name", "pydoca --help"]),
        ("", ["is not a name"]),
    ],
)
def test_an_unknown_name_is_answered_in_one_line_with_similar_ones(capsys, name, parts):
    assert main(["explain", name]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f'pydoca: "{name}" ')
    assert output.err.count("\n") == 1
    for part in parts:
        assert part in output.err


def test_the_installed_command_fails_for_an_unknown_name(commands):
    run = commands.run("explain", "--json", "Dma.memcopy")
    assert (run.returncode, run.stdout) == (1, "")
    assert "Dma.memcpy" in run.stderr


def explained(capsys, name: str):
    assert main(["explain", "--json", name]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_of_a_function(capsys):
    document = explained(capsys, "doca_dma_task_memcpy_alloc_init")
    assert (document["name"], document["kind"], document["there"]) == (
        "doca_dma_task_memcpy_alloc_init",
        "function",
        "there",
    )
    assert document["python"] == [{"name": "Dma.memcpy", "signature": "(src, dst, *, user_data=None, submit=True)"}]
    assert document["variables"] == {"dma": "Dma", "src": "Buf", "dst": "Buf"}
    assert document["when"] == ["context running"]
    errors = {error["status"]: error for error in document["errors"]}
    assert errors["NO_MEMORY"]["exception"] == "NoMemoryError"
    assert all(error["cause"] and error["remedy"] for error in errors.values())


def test_json_of_a_status_and_a_state(capsys):
    status = explained(capsys, "in_use")
    assert (status["name"], status["number"], status["exception"]) == ("DOCA_ERROR_IN_USE", 3, "InUseError")
    assert "ProgressEngine.close" in [name for reason in status["given_by"] for name in reason["python"]]
    state = explained(capsys, "DOCA_CTX_STATE_IDLE")
    assert "Context.start" in state["calls"]
    assert state["otherwise"][0]["status"] == "BAD_STATE"


def test_a_pipe_gets_lines_of_eighty_columns(commands):
    env = {key: value for key, value in commands.env.items() if key != "COLUMNS"}
    lines = commands.run("explain", "doca_mmap_create_from_export", env=env).stdout.splitlines()
    assert 70 < max(map(len, lines)) <= 80


def every_name() -> list[str]:
    table = (*TABLE.entries, *TABLE.renamed, *TABLE.values, *TABLE.statuses, *TABLE.states)
    return [*table, *(name for name, _ in _names.public_names())]


def test_every_name_has_an_answer_as_text_and_as_json():
    for name in every_name():
        answers = NAMES.find(name)
        assert len(answers) == 1, name
        document = _document.document_of(answers[0], TABLE)
        assert json.loads(json.dumps(document)) == document
        assert _text.text_of(document, 80).strip()


def test_upper_and_lower_case_and_spaces_do_not_matter():
    for name in ("DOCA_MMAP_CREATE", " doca_mmap_create ", "Doca_Mmap_Create()"):
        assert [_names.title_of(answer) for answer in NAMES.find(name)] == ["doca_mmap_create"]


@pytest.mark.parametrize("status", [status for status in pydoca.Status if status])
def test_every_exception_is_explained_by_its_status(status):
    error = _names.exception_of(TABLE.statuses[status.name])
    assert error is not None
    assert error.status is status
    assert [_names.title_of(answer) for answer in NAMES.find(error.__name__)] == [status.error_name]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("get_server_ctx", "doca_comch_server_get_server_ctx"),
        ("create_with_file_sdk", "doca_log_backend_create_with_file_sdk"),
        ("doca_comch_client_get_client_ctx", "link.client"),
        ("doca_sync_event_add_publisher_location_remote_net", "publisher='remote_net'"),
        ("doca_sha_partial_session_copy", "Later versions have no such call"),
        ("EMPTY", "no buf of a pool is free"),
    ],
)
def test_what_was_wrong_once(commands, name, says):
    run = commands.run("explain", name)
    assert (run.returncode, run.stderr) == (0, "")
    assert says in run.stdout


HEADER = """
#include <doca_buf.h>
/* doca_buf_get_len */
const char* text = "doca_ctx";
struct doca_dma;
int doca_dma_create(int a);
int doca_dma_get_gpu_handle(int a);
// not doca_dma_destroy()
"""


@pytest.fixture
def headers(monkeypatch, tmp_path):
    """The package has this header, and no other one."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/doca_dma.h").write_text(HEADER)
    monkeypatch.setattr(_sdk, "FILES", tmp_path)
    _sdk.names.cache_clear()
    yield
    _sdk.names.cache_clear()


@pytest.mark.parametrize(
    ("name", "text", "state", "reason"),
    [
        ("doca_dma_create", "In C      yes\n", "yes", ""),
        ("struct doca_dma", "In C      yes\n", "yes", ""),
        ("doca_dma_get_gpu_handle", "In C      refused because tasks are", "refused", "tasks are submitted on the CPU"),
        ("doca_dma_destroy", "In C      missing: this part", "missing", "this part of DOCA is not in C yet"),
        ("doca_buf_get_len", "In C      missing: this part", "missing", "this part of DOCA is not in C yet"),
        ("doca_ctx", "In C      missing: this part", "missing", "this part of DOCA is not in C yet"),
        ("doca_workq_create", "In C      missing: the name is", "missing", "the name is an old one"),
    ],
)
def test_c_has_a_name_or_refuses_it_or_lacks_it(headers, capsys, name, text, state, reason):
    assert main(["explain", name]) == 0
    assert text in capsys.readouterr().out
    assert explained(capsys, name)["in_c"] == {"state": state, "reason": reason}


def test_a_package_without_headers_says_so(headers, capsys, tmp_path):
    (tmp_path / "include/doca_dma.h").unlink()
    assert explained(capsys, "doca_dma_create")["in_c"]["reason"] == "this pydoca was built without the C API"
