"""The pair: two real processes whose failures name their side, and which end with their case."""

import os
import time

import pair_functions
import pytest

import pydoca
from pydoca.qualify.session.outcome import verdict_of_exception
from pydoca.qualify.session.pair import NoPair, Pair, PairError
from pydoca.qualify.session.pair.ends import ends_of
from pydoca.qualify.session.settings import Settings
from pydoca.qualify.verdicts import Verdict

pytest_plugins = ["pytester"]


@pytest.fixture
def pair():
    pair = Pair(*ends_of(pydoca.DeviceInfo("p0"), Settings()))
    for side in (pair.host, pair.dpu):
        side._begin()
    yield pair
    for side in (pair.host, pair.dpu):
        side._end()


def test_each_side_is_a_process_of_its_own(pair):
    host, dpu = pair.host.call(pair_functions.identity), pair.dpu.call(pair_functions.identity)
    assert (host[1], dpu[1]) == ("host", "dpu")
    assert len({host[0], dpu[0], os.getpid()}) == 3
    assert (pair.host.pid, pair.dpu.pid) == (host[0], dpu[0])
    assert pair.dpu.call(pair_functions.name_of, pair.dpu.device) == "p0"
    assert pair.host.call(pair_functions.name_of, pair.host.device) == "pf0"


def test_both_sides_run_at_the_same_time(pair):
    words = (pair.host.device, pair.dpu.device, pair.dpu.representor, f"pair-{os.getpid()}")
    assert pair.both(pair_functions.ask, pair_functions.serve, *words) == (b"cba", b"abc")


def test_a_failure_names_its_side_and_has_its_traceback_and_its_cause(pair):
    with pytest.raises(PairError, match=r"^host: fail\(\): ValueError: wrong value") as error:
        pair.host.call(pair_functions.fail, "wrong value")
    assert error.value.side == "host"
    assert "in fail\n    raise ValueError(text)" in error.value.traceback
    assert isinstance(error.value.__cause__, ValueError)
    assert pair.host.call(pair_functions.identity)[1] == "host"  # the process goes on


def test_the_first_failure_ends_both(pair):
    call = pair.dpu.start(pair_functions.wait_forever)
    with pytest.raises(PairError, match=r"dpu: wait_forever\(\) has not returned after 0.1 s"):
        call.result(timeout=0.1)
    pair.dpu.restart()
    begin = time.monotonic()
    with pytest.raises(PairError, match=r"host: _fail_on_host\(\): ValueError: fail"):
        pair.both(_fail_on_host, _wait_on_dpu)
    assert time.monotonic() - begin < 50  # the time-out of a call is 60 s


def _fail_on_host() -> None:
    pair_functions.fail("fail")


def _wait_on_dpu() -> None:
    pair_functions.wait_forever()


def test_the_end_of_a_process_is_an_error_with_its_output_and_it_starts_again(pair):
    before = pair.dpu.pid
    with pytest.raises(PairError, match=r"(?s)dpu: the process ended during end\(\) \(exit code 7\).*last words"):
        pair.dpu.call(pair_functions.end, 7)
    assert not pair.dpu.is_running
    with pytest.raises(PairError, match="dpu: its process has ended; restart"):
        pair.dpu.call(pair_functions.identity)
    pair.dpu.restart()
    assert pair.dpu.call(pair_functions.identity)[0] != before


def test_a_killed_side_is_gone(pair):
    pair.host.kill()
    assert not pair.host.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(pair.host.pid, 0)


@pytest.mark.parametrize("function", [lambda: 1, "text", None])
def test_only_functions_of_a_module_can_be_called(pair, function):
    with pytest.raises(TypeError, match="is not a function at the top of a module"):
        pair.host.call(function)


def test_a_result_that_cannot_be_carried_is_an_error(pair):
    with pytest.raises(PairError, match="the result cannot be pickled"):
        pair.host.call(pair_functions.unpicklable)


def test_one_call_at_a_time_runs_on_a_side(pair):
    pair.host.start(pair_functions.wait_forever)
    with pytest.raises(PairError, match=r"wait_forever\(\) still runs: take its result\(\) before the next call"):
        pair.host.start(pair_functions.identity)


@pytest.mark.parametrize(
    ("name", "host", "dpu"), [("p0", "pf0", "p0"), ("pf1", "pf1", "p1"), ("pf0vf0", "pf0vf0", "p0")]
)
def test_the_other_end_follows_from_the_topology(name, host, dpu):
    ends = ends_of(pydoca.DeviceInfo(name), Settings())
    assert (ends[0].device, ends[1].device) == (host, dpu)
    assert pydoca.DeviceInfo(host).is_equal_pci_addr(ends[1].representor)


def test_a_peer_is_the_other_end(device_info):
    ends = ends_of(device_info("p0"), Settings(peer="pf0vf1"))
    assert (ends[0].device, ends[1].representor) == ("pf0vf1", "0000:0b:00.3")
    with pytest.raises(NoPair, match="p0 and p1 are on the same side"):
        ends_of(device_info("p0"), Settings(peer="p1"))
    with pytest.raises(NoPair, match="p0s0 has no function at the other end"):
        ends_of(device_info("p0s0"), Settings())


def test_a_failure_of_a_side_is_that_of_its_cause():
    def error(cause):
        try:
            raise PairError("host", "failed") from cause
        except PairError as caught:
            return verdict_of_exception(caught)

    assert error(AssertionError()) is Verdict.FAIL
    assert error(pydoca.IoFailedError("x")) is Verdict.FAIL
    assert error(KeyError()) is Verdict.ERROR
    assert error(None) is Verdict.ERROR


def test_processes_end_with_their_case_also_when_it_fails(runs):
    body = """
import os
def pid(): return os.getpid()
def test_it(pydoca_pair):
    open("pids", "w").write(f"{pydoca_pair.host.call(pid)} {pydoca_pair.dpu.call(pid)}")
    assert False
"""
    assert runs.run(body=body).ret == 1
    for pid in (runs.path / "pids").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
