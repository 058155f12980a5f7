"""Every display of every object, in every state: complete, well-formed, escaped and small; it changes nothing."""

import gc
import json
import logging
import re
import subprocess
import sys
import threading
import weakref
from xml.etree import ElementTree

import pytest
from html_page import Page
from scenes import SCENES, Stack, shown
from scenes.graphs import new_instance

import pydoca
from pydoca import comch, sim
from pydoca._display import notebook
from pydoca._display.frame import svg
from pydoca._display.frame.markup import panel_html
from pydoca._display.frame.panel import Blocks, Code, Names, Note, Panel, Picture, State, Table
from pydoca._display.frame.text import panel_text
from pydoca._display.panels import panel_of

PICTURES = {"Graph", "GraphInstance", "Topology"}
LARGEST = 120_000  # characters of the HTML of any one object


def html_of(each: object) -> str:
    return each._repr_html_() if hasattr(each, "_repr_html_") else notebook.html_of(each)


@pytest.fixture(params=SCENES)
def each(request):
    with shown(request.param) as object:
        yield object
        del object
    gc.collect()


def test_a_display_is_a_complete_well_formed_element(each):
    html = html_of(each)
    page = Page(html)
    assert "cannot be shown" not in page.text
    assert page.links == []
    assert not {"script", "link", "iframe", "object", "foreignobject"} & set(page.tags)
    assert "url(http" not in html
    assert "@import" not in html
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("svg") == html.count('role="img"') == html.count("</title>") - html.count("<g><title>")
    assert len(html) < LARGEST


def test_outputs_of_one_object_have_ids_of_their_own(each):
    one, other = Page(html_of(each)), Page(html_of(each))
    assert set(one.ids) & set(other.ids) == set()
    assert one.tags == other.tags


def test_a_display_says_its_state_in_words(each):
    page = Page(html_of(each))
    marks = [sign for sign in page.text if sign in "\u25cf\u25d0\u25cb\u2715"]
    words = re.findall("[\u25cf\u25d0\u25cb\u2715]\\s*\\w", page.text)
    assert len(words) == len(marks)


def test_a_display_changes_nothing_that_can_be_read(each):
    before = repr(each), sys.getrefcount(each)
    html_of(each)
    assert (repr(each), sys.getrefcount(each)) == before


def test_the_text_form_is_short_lines(each):
    lines = panel_text(panel_of(each)).splitlines()
    assert 1 <= len(lines) < 150
    assert max(map(len, lines)) < 500


def test_an_object_of_another_thread_shows_itself(each):
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(html_of(each)))
    thread.start()
    thread.join(30)
    assert Page(found[0]).tags == Page(html_of(each)).tags


def test_pictures_are_svg_documents(each):
    forms = notebook.bundle_of(each)
    assert ("image/svg+xml" in forms) == ("<svg" in forms["text/html"])
    if picture := forms.get("image/svg+xml"):
        root = ElementTree.fromstring(picture)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("role") == "img"
        assert root.find("{http://www.w3.org/2000/svg}title").text
    if type(each).__name__ in PICTURES:
        assert each._repr_mimebundle_().keys() == {"text/plain", "text/html", "image/svg+xml"}


def test_a_file_has_the_same_display(each, tmp_path):
    pydoca.display(each, tmp_path / "display.html")
    text = (tmp_path / "display.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert Page(text.removeprefix("<!DOCTYPE html>")).tags.count("body") == 1
    assert "prefers-color-scheme:dark" in text


@pytest.mark.parametrize(
    "name", ["task_done", "dma_in_flight", "buf_chain", "mmap_with_bufs", "comch_connection", "graph_new"]
)
def test_a_display_keeps_nothing_alive(name):
    with shown(name) as each:
        html_of(each)
        held = weakref.ref(each)
    del each
    gc.collect()
    assert held() is None


# ---- what displays say


def text_of(each: object) -> str:
    return " ".join(Page(html_of(each)).text.split())


def test_a_map_shows_permissions_devices_exports_and_bufs():
    with shown("mmap_exported") as mmap:
        text = text_of(mmap)
    assert "pf0 (host)" in text
    assert "over PCIe on pf0, over RDMA on pf0" in text
    with shown("mmap_with_bufs") as mmap:
        assert "16,384" in text_of(mmap)


def test_an_export_ends_with_the_map():
    with Stack() as stack:
        mmap = stack.mmap(device=stack.host(), access="pci_read_only")
        mmap.export_pci()
        mmap.export_pci()
        assert mmap._snapshot(0)[1] == [("pci", "pf0")]
        mmap.stop()
        assert mmap._snapshot(0)[1] == []
        assert "exportsnone" in text_of(mmap)


def test_an_engine_shows_its_contexts_and_tasks_in_flight():
    with shown("engine_in_flight") as engine:
        text = text_of(engine)
    assert "3 contexts, 3 tasks in flight" in text
    assert text.count("dma memcpy of 4096 bytes") == 3
    assert "rdma" in text


def test_large_objects_say_how_much_is_left_out():
    expected = {
        "mmap_many_bufs": "9,976 more bufs",
        "inventory_large": "9,976 more bufs",
        "buf_long_chain": "988 more elements",
        "engine_large": "284 more contexts",
        "dma_in_flight": "8 more tasks",
        "graph_large": "353 more nodes",
        "topology_large": "175 more functions",
    }
    for name, words in expected.items():
        with shown(name) as each:
            assert words in text_of(each), name


def test_ten_thousand_tasks_in_flight_make_a_short_display():
    with Stack() as stack:
        context = stack.enter_context(pydoca.SyncEvent(stack.host()).as_context(stack.engine(), {"wait_eq": 10_000}))
        waits = [context.wait_eq(1) for _ in range(10_000)]
        html = html_of(context), html_of(context.progress_engine)
        for wait in waits:
            wait.cancel()
        context.progress_engine.run_until(lambda: context.num_inflight_tasks == 0, 30)
        waits.clear()
    assert "9,988 more tasks" in html[0]
    assert "9,984 more tasks" in html[1]
    assert max(map(len, html)) < 20_000


def test_a_failed_task_shows_its_cause_and_is_not_seen_by_that(caplog):
    with Stack() as stack:
        dma = stack.dma()
        task = stack.copy(dma, room=100)
        task.submit()
        while not task.done:
            dma.progress_engine.progress()
        text = text_of(task)
        with caplog.at_level(logging.ERROR, logger="pydoca"):
            del task
            gc.collect()
    assert "src has 4096 bytes of data, and dst has 100 bytes of tailroom" in text
    assert "What to do" in text
    assert "no code asked for its outcome" in caplog.text


def test_an_error_shows_status_explanation_remedy_task_and_cause():
    with shown("error_with_task") as error:
        text = text_of(error)
    assert "DOCA_ERROR_IO_FAILED" in text
    assert "dst has 100 bytes of tailroom" in text
    assert "dma memcpy of 4096 bytes" in text
    with shown("error_with_cause") as error:
        text = text_of(error)
    assert "FileNotFoundError" in text


def test_text_is_escaped_wherever_it_comes_from(tmp_path):
    evil = "<script>alert('x')</script>&\"\0\x1b[31m\udc80"
    functions = [
        {"name": evil, "pci_addr": evil, "side": "dpu", "func_type": evil, "profile": evil, "iface_name": evil},
        {"name": "vf", "pci_addr": "", "side": "host", "func_type": "vf", "parent": evil, "representor": evil},
    ]
    error = pydoca.NotFoundError(f"{evil}; {evil}")
    error.__cause__ = ValueError(evil)
    for each in (sim.Topology(function=functions), error):
        page = Page(html_of(each))
        assert "script" not in page.tags
        assert "<script>" in page.text
        pydoca.display(each, tmp_path / "evil.html")
        assert "\x1b" not in panel_text(panel_of(each))
    ElementTree.fromstring(sim.Topology(function=functions)._repr_mimebundle_()["image/svg+xml"])


def test_a_name_of_a_server_is_escaped(ends):
    server = comch.Server(None, ends.dpu, ends.rep, "<b>&name</b>")
    assert "<b>" not in html_of(server)
    assert '"<b>&name</b>"' in text_of(server)


def test_every_text_of_a_panel_is_escaped():
    """The frame alone makes HTML of panels, whichever object they show."""
    made: list[str] = []

    def text() -> str:
        made.append(f"""T{len(made)}<B>&"'<SCRIPT>""")
        return made[-1]

    shapes = [svg.text(0, 0, text()), svg.mark(0, 0, text(), "good"), svg.heading(0, 0, text()), svg.group("", text())]
    parts = [
        Table(text(), [text(), f">{text()}"], [[text(), Code(text())], [State(text()), 1]], more=1, what=text()),
        Blocks(text(), [(text(), [(text(), text())])]),
        Names(text(), [text()]),
        Note(text(), text()),
        Picture(text(), 1, 1, lambda prefix: shapes),
    ]
    html = panel_html(Panel(text(), text(), State(text()), [(text(), text())], parts))
    page = Page(html)
    assert {"b", "script"} & set(page.tags) == set()
    assert [each for each in made if each not in page.text or each in html] == []


def test_the_name_of_a_function_in_a_graph_is_escaped():
    def function(cookie):
        pass

    function.__name__ = "<b>&\x1bname</b>"
    graph = pydoca.Graph(pydoca.ProgressEngine())
    graph.node(function)
    for html in (html_of(graph), graph._repr_mimebundle_()["image/svg+xml"]):
        assert "<b>" not in html
        assert "<b>&\ufffdname</b>" in Page(html).text


def test_an_object_that_breaks_the_display_is_shown_with_the_reason():
    class Broken(sim.Topology):
        def get(self, *_):
            raise ValueError("no functions <here>")

    page = Page(html_of(Broken()))
    assert "cannot be shown" in page.text
    assert "ValueError: no functions <here>" in page.text


def test_the_topology_is_still_the_mapping_that_load_topology_takes():
    topology = sim.topology()
    assert json.loads(json.dumps(topology)) == topology
    sim.load_topology(topology)
    assert sim.topology() == topology
    text = text_of(topology)
    assert all(name in text for name in ("pf0vf1", "hpf0vf1", "p0s0", "pf0sf0", "03:00.1"))


def test_only_a_task_that_has_ended_has_a_result():
    with shown("event_task") as task:
        assert "result" not in text_of(task)
        assert "0xff00" in text_of(task)
    with Stack() as stack:
        context = stack.enter_context(pydoca.SyncEvent(stack.host()).as_context(stack.engine()))
        task = context.notify_add(5)
        task.wait(10)
        assert "result0" in text_of(task)


@pytest.mark.parametrize("state", ["new", "running", "done", "failed"])
def test_an_instance_of_a_graph_says_how_far_it_is(state):
    with shown(f"graph_instance_{state}") as instance:
        expected = {"new": "not submitted", "failed": "failed: UNEXPECTED"}.get(state, state)
        assert f"GraphInstance {expected}" in html_of(instance)


def test_a_failed_instance_of_a_graph_is_not_seen_by_its_display(caplog):
    with Stack() as stack:
        instance = new_instance(stack, "wrong")
        instance.submit()
        while instance.is_running:
            instance.graph.progress_engine.progress()
        text = html_of(instance)
        with caplog.at_level(logging.ERROR, logger="pydoca"):
            del instance
            gc.collect()
    assert "failed: UNEXPECTED" in text
    assert "asked for its outcome" in caplog.text


def test_a_node_of_a_graph_says_what_it_runs_and_between_which():
    with shown("graph_node") as node:
        lines = [line.strip() for line in panel_text(panel_of(node)).splitlines()]
        assert lines[0] == "GraphNode  2: check"
        assert [line.split(maxsplit=1) for line in lines[1:]] == [
            ["runs", "check"],
            ["type", "user"],
            ["place", "2 of 3 nodes"],
            ["after", "0: Dma, 1: Dma"],
            ["before", "\u2013"],
        ]


def test_an_object_with_a_picture_of_its_own_is_shown_by_it(tmp_path, capsys):
    class Drawing:
        def _own_forms(self) -> dict[str, str]:
            return {"text/plain": "a drawing", "image/svg+xml": "<svg/>"}

        def __repr__(self) -> str:
            return "Drawing()"

    pydoca.display(Drawing())
    assert capsys.readouterr().out == "a drawing\n"
    pydoca.display(Drawing(), tmp_path / "drawing.svg")
    assert (tmp_path / "drawing.svg").read_text() == "<svg/>\n"
    pydoca.display(Drawing(), tmp_path / "drawing.html")
    assert "<title>Drawing()</title>" in (tmp_path / "drawing.html").read_text()


def test_a_failed_node_of_a_graph_is_named():
    with shown("graph_instance_failed") as instance:
        text = text_of(instance)
    assert "2: check" in text
    assert "failed" in text


def test_a_display_of_a_connection_shows_no_blob():
    with shown("rdma_connection_exported") as connection:
        html = html_of(connection)
        assert connection.details[:8].hex() not in html
        assert f"{len(connection.details)} B" in html


# ---- pydoca.display


def test_without_a_notebook_it_prints_the_text(capsys):
    with pydoca.BufInventory(4) as inventory:
        pydoca.display(inventory)
    assert capsys.readouterr().out.startswith("BufInventory  0 of 4 out  \u25cf started\n  elements  4\n")


@pytest.mark.parametrize("suffix", [".svg", ".SVG"])
def test_a_picture_is_written_as_svg(tmp_path, suffix):
    pydoca.display(sim.topology(), str(tmp_path / f"machine{suffix}"))
    assert ElementTree.parse(tmp_path / f"machine{suffix}").getroot().get("class") == "pydoca-display"


def test_what_cannot_be_shown_or_written_is_refused(tmp_path):
    with pytest.raises(pydoca.NotSupportedError, match="type int"):
        pydoca.display(1)
    with pytest.raises(pydoca.NotSupportedError, match="type list"):
        pydoca.display([])
    with pytest.raises(pydoca.InvalidValueError, match=r"Memory is not a picture; write it as \.html"):
        pydoca.display(pydoca.alloc(8), tmp_path / "memory.svg")
    with pytest.raises(pydoca.InvalidValueError, match=r"neither \.html nor \.svg"):
        pydoca.display(pydoca.alloc(8), tmp_path / "memory.png")
    with pytest.raises(pydoca.InvalidValueError, match=r"'' is not the name of a file; give one, such as 'object"):
        pydoca.display(pydoca.alloc(8), "")
    with pytest.raises(TypeError, match="not by 3"):
        pydoca.display(pydoca.alloc(8), 3)
    with pytest.raises(FileNotFoundError):
        pydoca.display(pydoca.alloc(8), tmp_path / "nowhere/memory.html")
    assert list(tmp_path.iterdir()) == []


def test_in_a_notebook_it_shows_every_form(monkeypatch):
    given = []

    class Ipython:
        @staticmethod
        def get_ipython():
            return type("Shell", (), {"kernel": object()})()

        class display:  # noqa: N801
            @staticmethod
            def display(forms, raw):
                given.append((sorted(forms), raw))

    monkeypatch.setitem(sys.modules, "IPython", Ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", Ipython.display)
    pydoca.display(sim.topology())
    assert given == [(["image/svg+xml", "text/html", "text/plain"], True)]


def test_import_loads_nothing_of_the_displays():
    code = "import pydoca, sys; print([m for m in sys.modules if m.startswith('pydoca._display') or m == 'html'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_display_loads_neither_asyncio_nor_numpy():
    code = "import pydoca, sys; pydoca.open_device('p0')._repr_html_(); print({'asyncio', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
