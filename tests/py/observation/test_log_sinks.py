"""DOCA's sinks and sources in Python (pydoca.log)."""

import os

import pytest

import pydoca
from pydoca import LogLevel, _core, _log, log


@pytest.fixture(autouse=True)
def limits():
    """Starts with an empty ring, and puts the global limits back."""
    _log.drain()
    lower, upper, sdk = _core.log_global_limits()
    yield
    _core.log_set_lower_limit(lower)
    _core.log_set_upper_limit(upper)
    _core.log_set_sdk_limit(sdk)


def test_a_file_gets_the_engines_messages(tmp_path):
    path = tmp_path / "log"
    with log.Sink.file(path, sdk=True) as sink:
        assert sink.is_sdk
        sink.set_sdk_level("DEBUG")
        with pydoca.open_device("p0"):
            pass
        assert sink.lost == 0
    pydoca.open_device("p0").close()
    lines = path.read_text().splitlines()
    assert [line.rpartition("] ")[2] for line in lines] == ["p0 opened", "p0 closed"]
    assert "[dev]" in lines[0]


def test_a_descriptor_gets_an_applications_messages():
    reader, writer = os.pipe()
    with log.Sink.fd(writer):
        os.close(writer)  # the sink has a duplicate
        log.Source("COPY::HOST").log("WARNING", "it is late")
    assert os.read(reader, 1000).decode().endswith("[COPY::HOST] it is late\n")
    os.close(reader)


def test_a_buffer_holds_the_last_messages():
    buffer = log.Buffer(2)
    source = log.Source("APP")
    with log.Sink.buffer(buffer):
        for number in range(3):
            source.log(LogLevel.ERROR, str(number))
    assert (len(buffer), buffer.capacity, buffer.lost) == (2, 2, 1)
    assert [line[-1] for line in buffer.read()] == ["1", "2"]
    assert buffer.read() == []


def test_each_sink_has_its_own_window():
    buffers = [log.Buffer(), log.Buffer()]
    source = log.Source("APP")
    with log.Sink.buffer(buffers[0]) as verbose, log.Sink.buffer(buffers[1]) as severe:
        verbose.set_lower_limit("TRACE")
        verbose.set_upper_limit("INFO")
        severe.set_lower_limit(LogLevel.ERROR)
        assert (verbose.lower_limit, verbose.upper_limit) == (LogLevel.TRACE, LogLevel.INFO)
        for level in ("TRACE", "INFO", "WARNING", "ERROR", "CRIT"):
            source.log(level, level)
    assert [[line.rpartition(" ")[2] for line in buffer.read()] for buffer in buffers] == [
        ["TRACE", "INFO"],
        ["ERROR", "CRIT"],
    ]


def test_the_two_families_do_not_mix():
    buffer = log.Buffer()
    with log.Sink.buffer(buffer, sdk=True):
        log.Source("APP").log("CRIT", "the application's")
        _core.log_engine(LogLevel.ERROR, "dma", "the engine's")
    assert [line.rpartition("] ")[2] for line in buffer.read()] == ["the engine's"]


def test_a_strict_limit_holds_against_the_global_one():
    with log.Sink.buffer(log.Buffer()) as sink:
        sink.set_lower_limit_strict()
        pydoca.set_log_level("TRACE")
        assert sink.lower_limit is LogLevel.INFO
        with pytest.raises(pydoca.NotPermittedError):
            sink.set_lower_limit("DEBUG")
        sink.set_upper_limit_strict()
        sink.set_upper_limit("ERROR")
        with pytest.raises(pydoca.NotPermittedError):
            sink.set_upper_limit("CRIT")


def test_the_global_limits_are_those_of_new_sinks():
    pydoca.set_log_level("DEBUG")
    log.set_global_upper_limit("ERROR")
    pydoca.set_sdk_log_level("CRIT")
    assert log.global_limits() == (LogLevel.DEBUG, LogLevel.ERROR, LogLevel.CRIT)
    with log.Sink.standard() as sink, log.Sink.buffer(log.Buffer(), sdk=True) as engines:
        assert (sink.is_sdk, sink.lower_limit, sink.upper_limit) == (False, LogLevel.DEBUG, LogLevel.ERROR)
        assert engines.sdk_level is LogLevel.CRIT


def test_a_source_is_listed_while_it_lives():
    source = log.Source("COPY")
    assert log.sources() == ["COPY"]
    assert source.name == "COPY"
    del source
    assert log.sources() == []


def test_syslog_is_a_sink():
    with log.Sink.syslog("pydoca-test") as sink:
        sink.set_lower_limit("DISABLE")
        assert not sink.is_sdk


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        (lambda: log.Sink.file("/"), pydoca.OperatingSystemError),
        (lambda: log.Sink.fd(-1), pydoca.InvalidValueError),
        (lambda: log.Sink.fd(10**6), pydoca.InvalidValueError),
        (lambda: log.Buffer(0), pydoca.InvalidValueError),
        (lambda: log.Source("A::"), pydoca.InvalidValueError),
        (lambda: log.Source("A").log("LOUD", "text"), pydoca.InvalidValueError),
        (lambda: log.Sink.buffer(log.Buffer(), sdk=True).set_lower_limit("INFO"), pydoca.NotSupportedError),
        (lambda: log.Sink.buffer(log.Buffer()).set_sdk_level("INFO"), pydoca.NotSupportedError),
        (lambda: log.set_global_upper_limit(55), pydoca.InvalidValueError),
    ],
)
def test_what_cannot_be_is_refused(attempt, error):
    with pytest.raises(error):
        attempt()
