"""pytest's hooks for cases. The plug-in registers them when an option is given or a case is collected."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

import pytest

import pydoca
from pydoca.qualify.session import workers
from pydoca.qualify.session.case_run import CaseRun
from pydoca.qualify.session.choice import ChoiceError, devices, only
from pydoca.qualify.session.interrupt import Interrupt
from pydoca.qualify.session.lock import InUse
from pydoca.qualify.session.passes import run_passes
from pydoca.qualify.session.plan import Plan
from pydoca.qualify.session.progress import Progress
from pydoca.qualify.session.record import Phases, from_wire, to_wire
from pydoca.qualify.session.runs import Run
from pydoca.qualify.session.selection import KEY, cases_of, is_of_level, select, share_time
from pydoca.qualify.session.settings import LEVEL_UNLESS_TOLD, new_seed, settings_of
from pydoca.qualify.session.summary import exit_code_of, write_summary
from pydoca.qualify.session.target import Target, new_target, targets_of, with_options_of
from pytest_pydoca.markers import FIXTURES, is_case

_SESSION = pytest.StashKey["Session"]()
_PHASES = pytest.StashKey[Phases]()


def session_of(config: pytest.Config) -> Session:
    """The one of this pytest; made, and registered for its hooks, by the first call."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = Session(config)
        config.pluginmanager.register(config.stash[_SESSION], "pydoca-session")
    return config.stash[_SESSION]


class Session:
    """One pytest: the devices that it tests, and their runs. With xdist each worker has its own, without runs."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = settings_of(config)
        self.from_controller: dict[str, Any] | None = workers.received(config)
        if self.from_controller is not None:
            self.settings = workers.settings_from(self.settings, self.from_controller)
        self.seed = self.settings.seed if self.settings.seed is not None else new_seed()
        self.level = self.settings.level or LEVEL_UNLESS_TOLD
        self.runs: dict[str, Run] = {}
        self.plan: Plan | None = None
        self.repeat = 0  # of the pass that runs
        self.items: list[pytest.Item] = []  # cases
        self.plain_failures = 0  # of tests that are not cases
        self.collection_failed = False
        self.refused = ""  # a worker's usage error
        self.interrupt = Interrupt(self._say)
        self.shared = workers.SharedPlan()
        self.progress: Progress | None = None
        self._targets: list[Target] | None = None
        if self.is_worker:
            config.pluginmanager.register(workers.Repeater(self), "pydoca-repeater")
        if self.settings.fail_early:
            config.option.maxfail = 1

    # -- before the first case ------------------------------------------------------------------------------------

    @property
    def targets(self) -> list[Target]:
        """Chosen at the first look. Raises pytest.UsageError."""
        if self._targets is None:
            self._targets = targets_of(self.settings)
            before = self._targets[0].before
            if before is not None and not self.is_worker:
                self.settings = with_options_of(before, self.settings)
                self.seed, self.level = before.seed, before.level
            if self.from_controller is not None:
                workers.apply(self._targets, self.from_controller)
        return self._targets

    @property
    def is_worker(self) -> bool:
        return self.from_controller is not None

    @property
    def is_controller(self) -> bool:
        """Of xdist's workers: it runs no case itself."""
        return self.config.pluginmanager.hasplugin("dsession")

    def only_choice(self) -> pydoca.DeviceInfo | None:
        return self.targets[0].info

    def pytest_sessionstart(self) -> None:
        if self.settings.is_recorded:
            _require_packages()
        _ = self.targets
        if self.is_controller and self.settings.duration is not None:
            raise pytest.UsageError(
                "--pydoca-duration repeats all cases until the time is over, which xdist cannot: leave out -n, or give "
                "--pydoca-repeat"
            )

    def pytest_report_header(self) -> list[str]:
        on = ", ".join(target.label for target in self.targets if target.info) or "the devices that cases open"
        lines = [f"pydoca: level {self.level} on {on}, --pydoca-seed={self.seed}"]
        for target in self.targets:
            if target.before is not None:
                lines.append(f"pydoca: resumes {target.directory}: {len(target.finished)} cases are finished")
        if self.is_controller:
            lines.append("pydoca: the cases of one device run one after the other; several devices run side by side")
        return lines

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """With several devices each case runs on each."""
        infos = [target.info for target in self.targets]
        if len(infos) > 1 and "_pydoca_choice" in metafunc.fixturenames:
            names = [f"{info.backend}-{info.name}" for info in infos if info]
            metafunc.parametrize("_pydoca_choice", infos, indirect=True, ids=names, scope="session")

    def select(self, items: list[pytest.Item]) -> None:
        """Leaves the cases of other levels out. Raises pytest.UsageError."""
        try:
            cases = cases_of(items)
            self._require_choice(cases)
            for item in cases:
                select(item, self.info_of(item), self.settings)
        except pytest.UsageError as error:
            items.clear()
            if self.is_worker:
                workers.refuse(self.config, str(error))
                return
            raise
        others = [item for item in cases if not is_of_level(item, self.level)]
        self._other_levels = [item.stash[KEY].mark.id for item in others]
        self._drop(items, others)

    def _drop(self, items: list[pytest.Item], dropped: list[pytest.Item]) -> None:
        if dropped:
            self.config.hook.pytest_deselected(items=dropped)
            gone = set(dropped)
            items[:] = [item for item in items if item not in gone]

    def _require_choice(self, cases: list[pytest.Item]) -> None:
        """Without --pydoca-device the machine's only device is meant."""
        needing = [item for item in cases if not {"pydoca_device", "pydoca_pair"}.isdisjoint(_fixtures(item))]
        if needing and self.targets[0].info is None:
            self._targets = [new_target(self.choose_only(), self.settings)]

    def choose_only(self) -> pydoca.DeviceInfo:
        try:
            return only(devices(self.settings.backend))
        except ChoiceError as error:
            raise pytest.UsageError(str(error)) from None

    def info_of(self, item: pytest.Item) -> pydoca.DeviceInfo | None:
        params = getattr(getattr(item, "callspec", None), "params", {})
        found: pydoca.DeviceInfo | None = params.get("_pydoca_choice", self.targets[0].info)
        return found

    def target_of(self, info: pydoca.DeviceInfo | None) -> Target:
        return next((target for target in self.targets if target.info == info), self.targets[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = [item for item in cases_of(session.items) if KEY in item.stash]
        share_time(self.items, self.level, self.settings.duration)
        finished = sum(1 for item in self.items if self.is_finished(item, 0))
        self.plan = Plan(
            level=self.level,
            seed=self.seed,
            repeat=self.settings.repeat,
            devices=[target.label for target in self.targets if target.info],
            cases=[item.stash[KEY] for item in self.items],
            other_levels=list(getattr(self, "_other_levels", [])),
            finished=finished,
        )
        if self.from_controller:
            workers.write_plan(self.from_controller["plan"], self)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.collection_failed |= report.failed

    # -- the cases ------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly or self.is_worker or self.collection_failed:
            return None
        if self.settings.plan:
            assert self.plan is not None
            self.plan.show(self._say)
            return True
        if not self.items and not self.is_controller:
            return None
        self.begin_runs()
        self._open_progress()
        if self.is_controller:
            return None
        with self.interrupt:
            run_passes(self, session)
        return True

    def make_runs(self) -> None:
        """One per device that has cases, which a controller does not know yet; their directories do not exist yet."""
        if not self.runs:
            labels = {self.target_of(self.info_of(item)).label for item in self.items}
            targets = [each for each in self.targets if self.is_controller or each.label in labels]
            self.runs = {each.label: Run(each, self.settings, self.level, self.seed) for each in targets}

    def begin_runs(self) -> None:
        """Takes the devices. Raises pytest.UsageError for one that is in use."""
        self.make_runs()
        for run in self.runs.values():
            self._take(run.target)
        labels = [self.target_of(self.info_of(item)).label for item in self.items]
        self._set_planned({label: labels.count(label) for label in labels})
        for run in self.runs.values():
            run.begin()

    def _set_planned(self, cases: dict[str, int]) -> None:
        for label, run in self.runs.items():
            run.record.planned = cases.get(label, 0) * self.settings.repeat

    def _take(self, target: Target) -> None:
        try:
            if target.lock is not None:
                target.lock.take(force=self.settings.force)
        except InUse as error:
            raise pytest.UsageError(str(error)) from None

    def is_to_run(self, item: pytest.Item) -> bool:
        """In this pass."""
        if not is_case(item):
            return self.repeat == 0
        return not self.is_finished(item, self.repeat)

    def is_finished(self, item: pytest.Item, repeat: int) -> bool:
        target = self.target_of(self.info_of(item))
        return (item.stash[KEY].node, repeat) in target.finished

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if not is_case(item):
            return (yield)
        target = self.target_of(self.info_of(item))
        with target.lock.case() if target.lock else contextlib.nullcontext():
            self.begin_case(item)
            return (yield)

    def begin_case(self, item: pytest.Item) -> None:
        item.stash[_PHASES] = Phases(self._new_case_run(item))
        if self.progress is not None:
            self.progress.begin_case(item.stash[KEY].mark.id)

    def _new_case_run(self, item: pytest.Item) -> CaseRun:
        info = self.info_of(item)
        target, selected = self.target_of(info), item.stash[KEY]
        return CaseRun(
            device=info,
            level=self.level,
            seed=self.seed,
            node=selected.node,
            repeat=self.repeat,
            seconds=selected.seconds,
            duration=self.settings.duration,
            directory=target.directory,
            limits=target.limits,
            settings=self.settings,
            must_stop=lambda: self.interrupt.requested,
            save=_saver(target),
            choose=self.choose_only,
        )

    def case_run(self, item: pytest.Item, _: object) -> CaseRun:
        return item.stash[_PHASES].run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        phases = item.stash.get(_PHASES, None)
        if phases is not None:
            carried: Any = report
            carried.pydoca_device = self.target_of(self.info_of(item)).label
            phases.add(item, call, report)
            if report.when == "teardown":
                carried.pydoca_case = to_wire(phases.record(item))
                carried.pydoca_estimate = item.stash[KEY].estimate
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not hasattr(report, "pydoca_device"):
            self.plain_failures += report.failed
        elif not self.is_worker and hasattr(report, "pydoca_case"):
            self._take_case(report)

    def _take_case(self, report: Any) -> None:
        case = from_wire(report.pydoca_case)
        run = self.runs.get(report.pydoca_device)
        if run is not None:
            run.add(case)
        if self.progress is not None:
            self.progress.end_case(case, report.pydoca_estimate, report.pydoca_device if len(self.runs) > 1 else "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Without pytest's own dots where the progress has a line for each case."""
        if self.progress is None or not hasattr(report, "pydoca_device"):
            return None
        category = report.outcome if report.when == "call" or report.outcome != "passed" else ""
        return (category if report.when == "call" or report.skipped else "error" if category else "", "", "")

    # -- the end --------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.progress is not None:
            self.progress.close()
            self.progress = None
        if self.is_worker:
            return
        interrupted = self.interrupt.requested or (
            exitstatus == pytest.ExitCode.INTERRUPTED and not self.collection_failed
        )
        for run in [run for run in self.runs.values() if run.has_begun]:
            run.end(interrupted=interrupted, tester_failed=self.collection_failed)
        session.exitstatus = exit_code_of(self, exitstatus, interrupted=interrupted)

    def pytest_unconfigure(self) -> None:
        for target in self._targets or []:
            if target.lock is not None:
                target.lock.release()
        self.shared.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write_summary(self, terminalreporter)

    # -- workers of xdist -----------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self.make_runs()
        self.shared.open()
        workers.send(node, self)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        return workers.scheduler_of(config, log, self.shared)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        if not self.shared.read():
            return
        labels = [label for label, _ in self.shared.cases.values()]
        self._set_planned({label: labels.count(label) for label in labels})
        if self.progress is not None:
            seconds = sum(seconds for _, seconds in self.shared.cases.values())
            self.progress.add_total(len(labels) * self.settings.repeat, seconds * self.settings.repeat)

    # -- what it shows --------------------------------------------------------------------------------------------

    def _open_progress(self) -> None:
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not self.settings.is_recorded:
            return
        total, seconds = len(self.items) * self.settings.repeat, self.plan.seconds if self.plan else 0.0
        reporter.showfspath = False
        self.progress = Progress(reporter._tw._file, total=total, seconds=seconds, title=self.level)

    def _say(self, text: str) -> None:
        if self.progress is not None:
            self.progress.line(text)
            return
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(text)


def _fixtures(item: pytest.Item) -> frozenset[str]:
    return FIXTURES.intersection(getattr(item, "fixturenames", ()))


def _saver(target: Target) -> Callable[..., str]:
    if target.directory is None:
        return lambda name, array, **_: ""
    from pydoca.qualify.results import RunDirectory

    return RunDirectory(target.directory).samples


def _require_packages() -> None:
    for package in ("numpy", "scipy"):
        try:
            __import__(package)
        except ModuleNotFoundError:
            raise pytest.UsageError(f"qualification needs {package}: pip install 'pydoca[qualify]'") from None
