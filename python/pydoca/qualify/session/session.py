"""One pytest: the devices that it tests, its cases and their runs. pytest's hooks call it (`hooks.py`)."""

from __future__ import annotations

import _thread
import contextlib
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pydoca
from pydoca.qualify.figures import duration
from pydoca.qualify.session.case_run import CaseRun
from pydoca.qualify.session.choice import ChoiceError, devices, only
from pydoca.qualify.session.interrupt import Interrupt
from pydoca.qualify.session.lock import InUse, WaitEnded
from pydoca.qualify.session.opening import wrong_place
from pydoca.qualify.session.plan import Plan
from pydoca.qualify.session.progress import Progress
from pydoca.qualify.session.record import Phases
from pydoca.qualify.session.runs import Run
from pydoca.qualify.session.selection import KEY, cases_of, is_of_level, not_selected, select, share_time
from pydoca.qualify.session.settings import LEVEL_UNLESS_TOLD, Settings, new_seed, settings_of
from pydoca.qualify.session.shared import given
from pydoca.qualify.session.shared.cases import SharedCase, SharedPlan, shared_case, write_plan
from pydoca.qualify.session.target import Target, new_target, targets_of, with_options_of
from pydoca.qualify.spelling import as_command
from pytest_pydoca.markers import FIXTURES, is_case

PHASES = pytest.StashKey[Phases]()
_OPENING = frozenset({"pydoca_device", "pydoca_pair"})


class Session:
    """One pytest. Each worker of xdist also has one: a worker's runs cases, the controller's has the runs."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings: Settings = settings_of(config)
        self.from_controller: dict[str, Any] | None = given.received(config)
        if self.from_controller is not None:
            self.settings = given.settings_from(self.settings, self.from_controller)
        self.seed: int = self.settings.seed if self.settings.seed is not None else new_seed()
        self.level: str = self.settings.level or LEVEL_UNLESS_TOLD
        self.items: list[pytest.Item] = []  # cases
        self.other_levels: list[str] = []  # ids of cases that the level leaves out
        self.plan: Plan | None = None
        self.runs: dict[str, Run] = {}  # each run by the label of its device
        self.repeat = 0  # the number of the pass that runs
        self.plain_failures = 0  # the number of failed tests that are not cases
        self.collection_failed = False
        self.refused = ""  # a worker's usage error
        self.not_begun: InUse | None = None  # why no run has begun
        self.interrupt: Interrupt = Interrupt(self.say)
        self.shared: SharedPlan = SharedPlan()
        self.progress: Progress | None = None
        self.has_lost_reader: bool = False
        self.front_end: str | None = None  # its command line without --resume, where it runs pytest
        self._targets: list[Target] | None = None

    @property
    def is_worker(self) -> bool:
        return self.from_controller is not None

    @property
    def is_controller(self) -> bool:
        """Whether it controls xdist's workers, and so runs no case itself."""
        return self.config.pluginmanager.hasplugin("dsession")

    @property
    def ends_by_wait(self) -> bool:
        """Whether a command ends because its wait for a device was ended: one more Ctrl-C has nothing to interrupt."""
        return self.front_end is not None and isinstance(self.not_begun, WaitEnded)

    @property
    def targets(self) -> list[Target]:
        """The targets, chosen at the first look; one without a device when none is named. Raises pytest.UsageError."""
        if self._targets is None:
            self._targets = targets_of(self.settings)
            before = self._targets[0].before
            if before is not None:
                self.settings = with_options_of(before, self.settings)
                self.seed, self.level = before.seed, before.level
            if self.from_controller:
                given.apply(self._targets, self.from_controller)
        return self._targets

    def info_of(self, item: pytest.Item) -> pydoca.DeviceInfo | None:
        """The device that the item tests."""
        params = getattr(getattr(item, "callspec", None), "params", {})
        found: pydoca.DeviceInfo | None = params.get("_pydoca_choice", self.targets[0].info)
        return found

    def target_of(self, item: pytest.Item) -> Target:
        info = self.info_of(item)
        return next((target for target in self.targets if target.info == info), self.targets[0])

    def choose_only(self) -> pydoca.DeviceInfo:
        """The machine's only device. Raises pytest.UsageError."""
        try:
            return only(devices(self.settings.backend))
        except ChoiceError as error:
            raise pytest.UsageError(str(error)) from None

    # -- which cases ----------------------------------------------------------------------------------------------

    def select(self, items: list[pytest.Item]) -> None:
        """Leaves the cases of other levels out. Raises pytest.UsageError; for a worker, its controller raises it."""
        try:
            self._select(items)
        except pytest.UsageError as error:
            items.clear()
            if not self.is_worker:
                raise
            given.refuse(self.config, str(error))

    def _select(self, items: list[pytest.Item]) -> None:
        cases = cases_of(items)
        if self.targets[0].info is None and any(_opens_a_device(item) for item in cases):
            self._targets = [new_target(self.choose_only(), self.settings)]
        for item in cases:
            select(item, self.info_of(item), self.settings, self.spelled)
        others = {item for item in cases if not is_of_level(item, self.level)}
        self.other_levels = [item.stash[KEY].mark.id for item in cases if item in others]
        left_out = others
        if self.settings.select and not self.collection_failed:
            plain = set(items).difference(cases)
            left_out = others | plain | not_selected(cases, self.level, self.settings.select)
        if left_out:
            self.config.hook.pytest_deselected(items=list(left_out))
            items[:] = [item for item in items if item not in left_out]

    def make_plan(self, items: list[pytest.Item]) -> None:
        self.items = [item for item in cases_of(items) if KEY in item.stash]
        share_time(self.items, self.level, self.settings.duration)
        self.plan = Plan(
            level=self.level,
            seed=self.seed,
            repeat=self.settings.repeat,
            devices=[target.label for target in self.targets if target.info],
            cases=[item.stash[KEY] for item in self.items],
            other_levels=self.other_levels,
            finished=sum(self.is_finished(item, 0) for item in self.items),
        )
        if self.from_controller:
            write_plan(self.from_controller["plan"], {item.nodeid: self._shared_case(item) for item in self.items})

    def _shared_case(self, item: pytest.Item) -> SharedCase:
        return shared_case(item, self.target_of(item), self.level, self.seed, self.settings)

    def is_to_run(self, item: pytest.Item) -> bool:
        """Whether the item runs in this pass."""
        return not self.is_finished(item, self.repeat) if is_case(item) else self.repeat == 0

    def is_finished(self, item: pytest.Item, repeat: int) -> bool:
        """Whether the item ran in the run that is resumed."""
        return (item.stash[KEY].node, repeat) in self.target_of(item).finished

    def _finished_passes(self, item: pytest.Item) -> int:
        node, most = item.stash[KEY].node, self.settings.repeat
        return sum(each == node and repeat < most for each, repeat in self.target_of(item).finished)

    # -- runs -----------------------------------------------------------------------------------------------------

    def make_runs(self) -> None:
        """Makes a run, without its directory yet, per device that has cases; a controller does not know those yet."""
        if not self.runs:
            labels = {self.target_of(item).label for item in self.items}
            targets = [each for each in self.targets if self.is_controller or each.label in labels]
            self.runs = {each.label: Run(each, self.settings, self.level, self.seed, self.spelled) for each in targets}

    def begin_runs(self) -> bool:
        """Takes the devices. False: a signal has ended the wait for one. Raises pytest.UsageError for one in use."""
        self.make_runs()
        simulated = any(run.target.info is not None and run.target.info.backend == "sim" for run in self.runs.values())
        if simulated and (why := wrong_place()):
            raise pytest.UsageError(why)
        if not self._take_devices():
            return False
        self.set_planned([self.target_of(item).label for item in self.items])
        for run in self.runs.values():
            self._begin(run)
        return True

    def _begin(self, run: Run) -> None:
        try:
            run.begin()
        except OSError as error:
            option = "resume" if self.settings.resume else "out"
            place = error.filename or run.target.directory
            raise pytest.UsageError(
                f"--pydoca-{option}: the run cannot be written: {place}: {error.strerror}; give a directory to write to"
            ) from None

    def set_planned(self, labels: list[str]) -> None:
        """labels: that of each case's device."""
        for label, run in self.runs.items():
            run.record.planned = labels.count(label) * self.settings.repeat

    def end_runs(self, *, interrupted: bool) -> None:
        """Ends all runs. Cases that have not run, though nothing ended the run early, were lost, as with a worker."""
        ended_early = interrupted or bool(self.config.getoption("maxfail"))
        for run in self.runs.values():
            if run.has_begun:
                lost = not ended_early and not run.is_complete
                run.end(interrupted=interrupted, tester_failed=self.collection_failed or lost)

    def release(self) -> None:
        """Gives the devices back."""
        for target in self._targets or []:
            if target.lock is not None:
                target.lock.release()
        self.shared.close()

    def _take_devices(self) -> bool:
        """Takes all devices in one order: two runs that wait for each other's device would never end."""
        until = time.monotonic() + self.settings.wait if self.settings.wait else 0.0
        locks = [run.target.lock for _, run in sorted(self.runs.items()) if run.target.lock is not None]
        try:
            with self.interrupt.only_noted() if until else contextlib.nullcontext():
                for lock in locks:
                    lock.take(
                        force=self.settings.force,
                        until=until,
                        tell=self._say_at_once,
                        must_stop=lambda: self.interrupt.requested,
                    )
        except InUse as error:
            self.not_begun = error
            self.config.option.verbose = -2  # pytest would add a line about tests
            if not isinstance(error, WaitEnded):
                raise pytest.UsageError(str(error)) from None
        return self.not_begun is None

    def _say_at_once(self, text: str) -> None:
        self.say(text)
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.flush()

    # -- a case ---------------------------------------------------------------------------------------------------

    def begin_case(self, item: pytest.Item) -> None:
        item.stash[PHASES] = Phases(self._new_case_run(item))
        if self.progress is not None:
            self.progress.begin_case(item.stash[KEY].mark.id)

    def _new_case_run(self, item: pytest.Item) -> CaseRun:
        target, selected = self.target_of(item), item.stash[KEY]
        return CaseRun(
            device=target.info,
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

    # -- what it shows --------------------------------------------------------------------------------------------

    def open_progress(self) -> None:
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not self.settings.is_recorded:
            return
        repeat = self.settings.repeat
        finished = {item: self._finished_passes(item) for item in self.items}
        reporter.showfspath = False
        self.progress = Progress(
            sys.stdout,  # pytest captures only while a test runs
            total=len(self.items) * repeat,
            seconds=sum(item.stash[KEY].estimate * (repeat - done) for item, done in finished.items()),
            title=self.level,
            finished=sum(finished.values()),
            reader_lost=self._lose_reader,
        )

    def _lose_reader(self) -> None:
        """Interrupts the run as Ctrl-C does, also from the thread that shows the time."""
        self.has_lost_reader = True
        _thread.interrupt_main()

    def tell_duration(self) -> None:
        """Says that the first pass may take longer than the duration, as passes are complete."""
        most, seconds = self.settings.duration, self.plan.seconds if self.plan else 0.0
        if most is not None and self.level != "soak" and seconds > most:
            self.say(
                f"the cases of level {self.level} take about {duration(round(seconds))}, longer than --pydoca-duration "
                f"({duration(most)}): they run once, as a pass is complete"
            )

    def close_progress(self) -> None:
        if self.progress is not None:
            self.progress.close()
            self.progress = None

    def command_to_resume(self, directory: Path) -> str:
        if self.front_end is None:
            return f"pytest --pydoca-resume={directory} (and the same tests)"
        return f"{self.front_end} --resume {shlex.quote(str(directory))}"

    def spelled(self, text: str) -> str:
        """The text with the options of the front end, where there is one."""
        return text if self.front_end is None else as_command(text)

    def say(self, text: str) -> None:
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if self.progress is not None:
            self.progress.line(text)
        elif reporter is not None:
            reporter.write_line(text)


def _opens_a_device(item: pytest.Item) -> bool:
    return not _OPENING.isdisjoint(FIXTURES.intersection(getattr(item, "fixturenames", ())))


def _saver(target: Target) -> Callable[..., str]:
    if target.directory is None:
        return lambda name, array, **_: ""
    from pydoca.qualify.results import RunDirectory

    return RunDirectory(target.directory).samples
