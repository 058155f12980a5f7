"""Displays of objects whose peer was killed, that another thread uses, and of a forked child."""

import contextlib
import os
import sys
import threading

from scenes import Stack, shown
from test_displays import html_of, text_of

import pydoca

PEER = """
import sys, time, pydoca
with pydoca.open_device("pf0", side="host") as dev, pydoca.SyncEvent(dev, publisher="remote_pci") as event:
    with dev.mmap(pydoca.alloc(4096), access="pci_read_only") as mmap:
        print(mmap.export_pci().hex(), event.export_to_remote_pci().hex(), flush=True)
        with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "display") as link:
            pe.run_until(lambda: False)
"""


def test_objects_of_a_killed_peer_show_what_is_known(commands):
    with Stack() as stack:
        device, engine = stack.dpu(), stack.engine()
        server = stack.enter_context(pydoca.comch.Server(engine, device, stack.representor(), "display"))
        peer = commands.start_program([sys.executable, "-P", "-c", PEER], env={**os.environ, **here()})
        mmap_blob, event_blob = (bytes.fromhex(text) for text in peer.stdout.readline().split())
        mmap = stack.enter_context(device.import_mmap(mmap_blob))
        event = stack.enter_context(device.import_sync_event(event_blob))
        connection = server.accept().wait(30)
        assert "connected" in text_of(connection)
        peer.kill()
        peer.communicate()
        engine.run_until(lambda: not connection.is_connected, 30)
        commands.wait_until(lambda: "out of reach" in text_of(event), "the loss of the event's owner")
        assert "ended" in text_of(connection)
        assert "4 KiB" in text_of(mmap)
        assert "Server" in text_of(server)


def here() -> dict[str, str]:
    """The environment that names the fabric of this process."""
    return {"PYDOCA_FABRIC": pydoca.sim.fabric()}


def test_an_event_on_which_a_thread_waits_shows_itself(commands):
    with Stack() as stack:
        event = stack.event()
        thread = threading.Thread(target=event.wait_gt, args=(0,), kwargs={"timeout": 30})
        thread.start()
        commands.wait_until(lambda: "waiting threads1" in text_of(event), "a waiting thread")
        event.update_set(1)
        thread.join(30)
        assert "waiting threads0" in text_of(event)


def test_an_engine_in_whose_thread_a_call_blocks_shows_itself(commands):
    with shown("engine_in_flight") as engine:
        texts: list[str] = []
        thread = threading.Thread(target=lambda: texts.append(text_of(engine)))
        thread.start()
        with contextlib.suppress(pydoca.TimeOutError):
            engine.wait(0.2)
        thread.join(30)
        assert "3 tasks in flight" in texts[0]


def test_a_forked_child_shows_the_objects_of_its_parent():
    with shown("engine_in_flight") as engine, shown("mmap_with_bufs") as mmap, shown("task_failed") as task:
        child = os.fork()
        if child == 0:
            shown_all = all("cannot be shown" not in html_of(each) for each in (engine, mmap, task))
            os._exit(0 if shown_all else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
