"""pytest's hooks for cases. The plug-in registers them when an option is given or a case is collected."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest

from pydoca.qualify.figures import plural
from pydoca.qualify.installing import command_for_extra
from pydoca.qualify.session.marks import device_parameter
from pydoca.qualify.session.passes import run_passes
from pydoca.qualify.session.record import from_wire, to_wire
from pydoca.qualify.session.selection import KEY
from pydoca.qualify.session.session import PHASES, Session
from pydoca.qualify.session.shared import given
from pydoca.qualify.session.summary import exit_code_of, write_summary
from pydoca.qualify.session.workers.crash import tell_crash
from pydoca.qualify.session.workers.repeater import Repeater
from pydoca.qualify.session.workers.scheduling import scheduler_of
from pytest_pydoca.markers import is_case

_SESSION = pytest.StashKey[Session]()


def session_of(config: pytest.Config) -> Session:
    """The session of this pytest; the first call makes it, with its hooks."""
    if _SESSION not in config.stash:
        session = config.stash[_SESSION] = Session(config)
        config.pluginmanager.register(Hooks(session), "pydoca-session")
        if session.is_worker:
            config.pluginmanager.register(Repeater(session), "pydoca-repeater")
        if session.settings.fail_early:
            config.option.maxfail = 1
    return config.stash[_SESSION]


class Hooks:
    """The hooks of pytest, in the order of its calls."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def pytest_sessionstart(self) -> None:
        settings = self._session.settings
        if settings.is_recorded:
            _require_packages()
        _ = self._session.targets  # a wrong name ends here
        if self._session.is_controller and settings.duration is not None:
            raise pytest.UsageError(
                "--pydoca-duration repeats all cases until the time is over, which xdist cannot: leave out -n, or give "
                "--pydoca-repeat"
            )

    def pytest_report_header(self) -> list[str]:
        session = self._session
        on = ", ".join(target.label for target in session.targets if target.info) or "the devices that cases open"
        lines = [f"pydoca: level {session.level} on {on}, --pydoca-seed={session.seed}"]
        for target in session.targets:
            if target.before is not None:
                lines.append(
                    f"pydoca: resumes {target.directory}: {plural(len(target.finished), 'case')} finished before"
                )
        if session.is_controller:
            lines.append("pydoca: the cases of one device run one after the other; several devices run side by side")
        return lines

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Has each case run on each device, when there are several; the device is the first parameter."""
        infos = [target.info for target in self._session.targets]
        if len(infos) > 1 and "_pydoca_choice" in metafunc.fixturenames:
            names = [device_parameter(info) for info in infos if info]
            metafunc.parametrize("_pydoca_choice", infos, indirect=True, ids=names, scope="session")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._session.collection_failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._session.make_plan(session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Runs the passes. True: all is done. None: pytest, or xdist, goes on."""
        own = self._session
        if session.config.option.collectonly or own.is_worker or own.collection_failed:
            return None
        if own.settings.plan and own.plan is not None:
            own.plan.show(own.say)
            return True
        if not own.items and not own.is_controller:
            return None
        if not own.begin_runs():
            return True
        own.interrupt.take(at_once=own.is_controller)
        own.open_progress()
        own.tell_duration()
        if own.is_controller:
            return None
        run_passes(own, session)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if not is_case(item):
            return (yield)
        lock = self._session.target_of(item).lock
        with lock.case() if lock else contextlib.nullcontext():
            self._session.begin_case(item)
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Adds attributes to the report, texts and numbers, which xdist carries from its workers to the controller."""
        report = yield
        phases = item.stash.get(PHASES, None)
        if phases is not None:
            carried: Any = report
            carried.pydoca_device = self._session.target_of(item).label
            phases.add(item, call, report)
            if report.when == "teardown":
                carried.pydoca_case = to_wire(phases.record(item))
                carried.pydoca_estimate = item.stash[KEY].estimate
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        if hasattr(report, "pydoca_case") and not self._session.is_worker:
            self._take_case(report)
        elif not hasattr(report, "pydoca_device") and report.nodeid not in self._session.shared.cases:
            self._session.plain_failures += report.failed

    def _take_case(self, report: Any) -> None:
        case, runs, progress = from_wire(report.pydoca_case), self._session.runs, self._session.progress
        if report.pydoca_device in runs:
            case = runs[report.pydoca_device].add(case)
        if progress is not None:
            progress.end_case(case, report.pydoca_estimate, report.pydoca_device if len(runs) > 1 else "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Drops pytest's own dots where the progress has a line for each case."""
        if self._session.progress is None or not hasattr(report, "pydoca_device"):
            return None
        if report.when == "call" or report.skipped:
            return (report.outcome, "", "")
        return ("error" if report.failed else "", "", "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        own = self._session
        own.close_progress()
        if own.is_worker:
            return
        interrupted = own.interrupt.requested or self._was_interrupted(exitstatus)
        own.end_runs(interrupted=interrupted)
        session.exitstatus = exit_code_of(own, exitstatus, interrupted=interrupted)

    def _was_interrupted(self, exitstatus: int) -> bool:
        """Whether a signal ended the run. xdist has this code after a first failure, pytest after collection errors."""
        own = self._session
        return exitstatus == pytest.ExitCode.INTERRUPTED and not (own.collection_failed or own.settings.fail_early)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write_summary(self._session, terminalreporter)

    def pytest_unconfigure(self) -> None:
        if not self._session.ends_by_wait:
            self._session.interrupt.give_back()
        self._session.release()
        if self._session.has_lost_reader:
            sys.stderr.write("pydoca: the reader of the output has gone, which has interrupted the run\n")

    # -- of xdist's controller ------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        own = self._session
        own.make_runs()
        own.shared.open()
        settings = dataclasses.replace(own.settings, seed=own.seed, level=own.level)
        given.send(node, settings, own.targets, own.shared.path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        return scheduler_of(config, log, self._session.shared)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report: Any) -> None:
        tell_crash(self._session, report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        own = self._session
        if not own.shared.read():
            return
        own.set_planned([case.device for case in own.shared.cases.values()])
        if own.progress is not None:
            seconds = sum(case.seconds for case in own.shared.cases.values())
            finished = sum(len(target.finished) for target in own.targets)
            own.progress.add_total(len(own.shared.cases) * own.settings.repeat, seconds * own.settings.repeat, finished)


def _require_packages() -> None:
    """Looks, and imports none: tests that are not cases take their device from the same option."""
    for package in ("numpy", "scipy", "jinja2"):
        if find_spec(package) is None:
            how = command_for_extra("qualify")
            raise pytest.UsageError(f"qualification needs {package}, which is not installed; this installs it: {how}")
