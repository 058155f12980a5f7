"""The engine's messages in Python's logging."""

import logging
import os
import subprocess
import sys
import threading
import time

import pytest

import pydoca
from pydoca import LogLevel, _core, _log


@pytest.fixture(autouse=True)
def limits():
    """Starts with an empty ring, and puts the global limits back."""
    _log.drain()
    lower, upper, sdk = _core.log_global_limits()
    yield
    _core.log_set_lower_limit(lower)
    _core.log_set_upper_limit(upper)
    _core.log_set_sdk_limit(sdk)


@pytest.fixture
def records(caplog):
    caplog.set_level(1, logger="pydoca")
    return caplog


def run(program, **environment):
    """Runs a program in a fresh interpreter; returns its standard output and standard error."""
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=150,
    )
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (LogLevel.CRIT, logging.CRITICAL),
        (LogLevel.ERROR, logging.ERROR),
        (LogLevel.WARNING, logging.WARNING),
        (LogLevel.INFO, logging.INFO),
        (LogLevel.DEBUG, logging.DEBUG),
        (LogLevel.TRACE, 5),
    ],
)
def test_each_level_has_its_counterpart(records, level, expected):
    pydoca.set_sdk_log_level(LogLevel.TRACE)
    _core.log_engine(level, "dma", "text")
    assert _log.drain() == 1
    assert records.record_tuples == [("pydoca.dma", expected, "text")]
    assert records.records[0].doca_level is level


def test_a_record_says_who_when_and_where(records):
    before = time.time()
    _core.log_engine(LogLevel.ERROR, "comch", "100 % of {peers} %s")
    _log.drain()
    (record,) = records.records
    assert record.getMessage() == "100 % of {peers} %s"
    assert before - 0.001 <= record.created <= time.time()
    assert 0 <= record.msecs < 1000
    assert record.native_id == threading.get_native_id()
    assert 0 < record.boottime_ns <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_an_applications_sources_are_loggers_below_app(records):
    source = _core.LogSource("COPY::HOST")
    source.log(LogLevel.WARNING, "text")
    _log.drain()
    assert records.record_tuples == [("pydoca.app.COPY.HOST", logging.WARNING, "text")]
    assert _core.log_sources() == ["COPY::HOST"]
    del source
    assert _core.log_sources() == []


@pytest.mark.parametrize("name", ["", "A::", "::A", "A::::B"])
def test_a_source_without_a_name_is_refused(name):
    with pytest.raises(pydoca.InvalidValueError, match="log source"):
        _core.LogSource(name)


def test_the_two_families_have_limits_of_their_own(records):
    source = _core.LogSource("APP")
    pydoca.set_log_level("debug")
    pydoca.set_sdk_log_level("crit")
    source.log(LogLevel.DEBUG, "shown")
    source.log(LogLevel.TRACE, "hidden")
    _core.log_engine(LogLevel.ERROR, "dma", "hidden")
    _core.log_engine(LogLevel.CRIT, "dma", "shown")
    _log.drain()
    assert [record.name for record in records.records] == ["pydoca.app.APP", "pydoca.dma"]
    assert set(records.messages) == {"shown"}


def test_nothing_is_shown_when_disabled(records):
    pydoca.set_sdk_log_level("disable")
    _core.log_engine(LogLevel.CRIT, "dma", "text")
    assert _log.drain() == 0


def test_lost_records_are_reported_once(records):
    ring = _log._intake.ring
    for number in range(ring.capacity + 3):
        _core.log_engine(LogLevel.INFO, "dma", str(number))
    assert _log.drain() == ring.capacity
    assert records.messages[0].startswith("3 log records were lost")
    assert records.messages[1] == "3"
    assert records.messages[-1] == str(ring.capacity + 2)
    records.clear()
    _core.log_engine(LogLevel.INFO, "dma", "after")
    _log.drain()
    assert records.messages == ["after"]


def test_a_handler_that_logs_and_drains_does_not_recurse():
    class Echo(logging.Handler):
        calls = 0

        def emit(self, record):
            self.calls += 1
            _core.log_engine(LogLevel.ERROR, "echo", "again")
            assert _log.drain() == 0

    handler = Echo()
    logger = logging.getLogger("pydoca.echo")
    logger.addHandler(handler)
    try:
        _core.log_engine(LogLevel.ERROR, "echo", "first")
        assert _log.drain() == 1
    finally:
        logger.removeHandler(handler)
    assert handler.calls == 1
    assert _log.drain() == 1


@pytest.mark.parametrize(
    ("given", "level"), [("info", 50), ("critical", 20), (" 60 ", 60), (70, 70), (LogLevel.CRIT, 20)]
)
def test_a_level_is_a_name_or_docas_number(given, level):
    pydoca.set_sdk_log_level(given)
    assert _core.log_global_limits()[2] == level


@pytest.mark.parametrize("given", ["", "loud", "55", 55, -1, 0])
def test_another_level_is_refused_by_name(given):
    with pytest.raises(pydoca.InvalidValueError, match=r"log level .*50 \(INFO\)"):
        pydoca.set_log_level(given)
    with pytest.raises((pydoca.InvalidValueError, TypeError)):
        _core.log_set_lower_limit(given)


def test_strict_limits_and_windows():
    ring = _core.LogRing(4, drop_newest=True)
    sink = _core.LogSink.ring(False, ring)
    try:
        sink.set_lower_limit(LogLevel.WARNING)
        sink.set_lower_limit_strict()
        with pytest.raises(pydoca.NotPermittedError, match="WARNING to DEBUG"):
            sink.set_lower_limit(LogLevel.DEBUG)
        pydoca.set_log_level("trace")
        assert sink.lower_limit == LogLevel.WARNING
        with pytest.raises(pydoca.NotSupportedError):
            sink.set_sdk_level(LogLevel.INFO)
        source = _core.LogSource("APP")
        for number in range(6):
            source.log(LogLevel.ERROR, str(number))
        assert (len(ring), ring.lost, ring.capacity) == (4, 2, 4)
        assert [record[3] for record in ring.pop()] == ["0", "1", "2", "3"]
    finally:
        sink.close()
        _log.drain()


@pytest.mark.parametrize("capacity", [0, 1 << 40])
def test_a_ring_has_a_bounded_capacity(capacity):
    with pytest.raises(pydoca.InvalidValueError, match=str(capacity)):
        _core.LogRing(capacity)


def test_the_environment_sets_the_limits():
    code, out, err = run(
        "from pydoca import _core; print(_core.log_global_limits())",
        PYDOCA_LOG_LEVEL="trace",
        PYDOCA_SDK_LOG_LEVEL="30",
    )
    assert (code, out, err) == (0, "(70, 20, 30)\n", "")


def test_a_bad_level_in_the_environment_is_named():
    code, _, err = run("import pydoca", PYDOCA_SDK_LOG_LEVEL="loud")
    assert code == 1
    assert "InvalidValueError: the environment's PYDOCA_SDK_LOG_LEVEL: log level 'loud' does not exist" in err


def test_what_waits_at_exit_is_shown():
    program = "import logging, pydoca; logging.basicConfig(); pydoca._core.log_engine(30, 'dma', 'last')"
    assert run(program) == (0, "", "ERROR:pydoca.dma:last\n")


@pytest.mark.parametrize(("level", "printed"), [(20, "text\n"), (30, "text\n"), (40, "text\n"), (50, "")])
def test_without_configuration_warnings_and_errors_are_printed(level, printed):
    """The engine's logger has no handler, so logging.lastResort prints."""
    assert run(f"import pydoca; pydoca._core.log_engine({level}, 'dma', 'text')") == (0, "", printed)


def test_a_forked_child_reports_only_its_own_messages():
    program = """
import logging, os, sys, pydoca
from pydoca import _core, _log
logging.basicConfig(stream=sys.stdout, format="%(message)s")
_core.log_engine(30, "dma", "the parent's")
child = os.fork()
if child == 0:
    _core.log_engine(30, "dma", "the child's")
else:
    os.waitpid(child, 0)
_log.drain()
sys.stdout.flush()
os._exit(0)
"""
    assert run(program) == (0, "the child's\nthe parent's\n", "")


def test_import_needs_no_thread_and_no_heavy_module():
    program = """
import sys, threading
before = threading.active_count()
import pydoca
heavy = [name for name in ("numpy", "asyncio", "pytest") if name in sys.modules]
print(heavy, threading.active_count() - before)
"""
    assert run(program) == (0, "[] 0\n", "")
