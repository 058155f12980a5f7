"""The engine logs life cycles at DEBUG and TRACE, and nothing of work that succeeds."""

import pytest

import pydoca
from pydoca import _core, _log


@pytest.fixture
def messages(caplog):
    """The messages so far, as (logger, text)."""
    _log.drain()
    sdk = _core.log_global_limits()[2]
    pydoca.set_sdk_log_level("TRACE")
    caplog.set_level(1, logger="pydoca")

    def messages():
        _log.drain()
        found = [(record.name, record.getMessage()) for record in caplog.records if record.name.startswith("pydoca")]
        caplog.clear()
        return found

    yield messages
    _core.log_set_sdk_limit(sdk)


def test_a_device_tells_when_it_is_opened_and_closed(messages):
    with pydoca.open_device("p0"):
        assert ("pydoca.dev", "p0 opened") in messages()
        with pydoca.open_device("p0"):
            assert messages() == [("pydoca.dev", "p0 opened once more")]
        assert messages() == [("pydoca.dev", "p0 closed once of several openings")]
    assert messages() == [("pydoca.dev", "p0 closed")]


def test_a_map_tells_when_it_is_started_exported_imported_and_stopped(messages):
    with (
        pydoca.open_device("0b:00.0", side="host") as host,
        pydoca.open_device("03:00.0", side="dpu") as dpu,
        host.mmap(pydoca.alloc(64), access="pci_read_write|rdma_read") as mmap,
    ):
        messages()
        blob = mmap.export_pci()
        assert "exported over PCIe on pf0" in messages()[-1][1]
        with dpu.import_mmap(blob):
            assert any("imported mmap of 64 bytes" in text and "imported for p0" in text for _, text in messages())
        mmap.export_rdma()
        assert "exported over RDMA on pf0" in messages()[-1][1]
        mmap.close()
        assert any(text.startswith("mmap of 64 bytes") and text.endswith("stopped on pf0") for _, text in messages())


def test_a_context_tells_its_states_and_the_cause_of_a_failure(make_rig, messages):
    rig = make_rig()
    assert ("pydoca.dma", "p0: idle -> running") in messages()
    src, dst, _ = rig.bufs()
    task = rig.dma.memcpy(src, rig.inventory.get_by_addr(dst.mmap, None, 8), submit=False)
    task.submit()
    with pytest.raises(pydoca.IoFailedError):
        task.wait(5)
    told = [text for name, text in messages() if name == "pydoca.dma"]
    assert told[0].startswith("a task failed: DOCA_ERROR_IO_FAILED: src has")
    assert told[1].startswith("p0: running -> stopping after DOCA_ERROR_IO_FAILED: ")
    task.free()
    rig.dma.stop()
    assert any("-> idle" in text for _, text in messages())
    rig.dma.close()
    assert ("pydoca.dma", "p0: closed") in messages()


def test_a_refused_submission_says_why(rig, messages):
    task = rig.held()
    messages()
    with pytest.raises(pydoca.BadStateError):
        task.submit()
    refusal = ("pydoca.dma", "refused a task: DOCA_ERROR_BAD_STATE: it is in flight; wait for its completion")
    assert messages() == [refusal]
    rig.release()
    task.wait(5)


def test_work_that_succeeds_says_nothing(rig, messages):
    rig.copy().wait(5)
    messages()
    for _ in range(10):
        rig.copy().wait(5)
    assert [text for _, text in messages() if not text.startswith("mmap of")] == []


def test_a_connection_tells_when_it_is_made_and_ended(ends, messages):
    with ends.linked_without_loop():
        found = messages()
        for kind, device in (("server", "p0"), ("client", "pf0")):
            assert (f"pydoca.comch.{kind}", f'"{ends.name}" on {device}: connected') in found
    assert any(text.endswith(": disconnected") for _, text in messages())


def test_a_sync_event_tells_when_it_is_exported_and_imported(messages):
    with (
        pydoca.open_device("0b:00.0", side="host") as host,
        pydoca.open_device("03:00.0", side="dpu") as dpu,
        pydoca.SyncEvent(host, publisher="cpu", subscriber="remote_pci") as event,
        dpu.import_sync_event(event.export_to_remote_pci()),
    ):
        found = messages()
    assert ("pydoca.sync_event", "started on pf0") in found
    assert ("pydoca.sync_event", "exported to the other side of PCIe on pf0") in found
    assert ("pydoca.sync_event", "imported on p0") in found


def test_nothing_is_told_at_the_level_info(messages, make_rig):
    pydoca.set_sdk_log_level("INFO")
    rig = make_rig()
    rig.copy().wait(5)
    rig.dma.__exit__(None, None, None)
    assert messages() == []


@pytest.mark.parametrize(
    "command",
    [["devices"], ["caps", "03:00.0"], ["copy", "SOURCE", "TARGET"], ["rdma", "ping-pong", "--count", "2"]],
    ids=lambda command: command[0],
)
def test_the_environments_sdk_level_shows_on_a_commands_standard_error(commands, tmp_path, command):
    (tmp_path / "SOURCE").write_bytes(b"text")
    result = commands.start(*command)
    result.communicate(timeout=60)
    commands.env["PYDOCA_SDK_LOG_LEVEL"] = "debug"
    shown = commands.run(*command)
    assert shown.returncode == 0
    if command[0] != "devices" and command[0] != "caps":  # these open no device
        assert "DEBUG pydoca.dev: " in shown.stderr
    commands.env["PYDOCA_SDK_LOG_LEVEL"] = "loud"
    assert "PYDOCA_SDK_LOG_LEVEL" in commands.run(*command).stderr
