"""Faults on purpose: devices that fail, lose, delay and spoil what they do, when a plan says so.

A plan is a list of rules and a seed; a rule is an action and the operations that it meets::

    plan = faults.FaultPlan(
        faults.FaultRule("fail", "dma.memcpy", status="io_failed", nth=3),
        faults.FaultRule("delay", "rdma.write", by="2 ms", probability=0.1),
        seed=7,
    )
    with faults.inject(plan):
        device = pydoca.open_device("p0")      # this one has the faults

Devices that are opened while a plan is in force have its faults. A device that was open before has none: opening its
function again gives another device. One plan can be in force at a time, in one process. The same operations in the
same order meet the same faults. The log tells of each at level INFO (`pydoca.set_sdk_log_level`).

Actions, and the keys of their own:

- ``fail``: not done; it ends with `status` (io_failed). Its queue breaks, as after a failure of the hardware.
- ``drop``: done, and its completion never comes: the task ends with ShutdownError when its context stops. A message is
  lost on its way, an update of a sync event has no effect.
- ``delay``: its completion, or the message, comes later, by the time `by`; those behind it on its connection also wait.
- ``duplicate``: its effect comes twice.
- ``corrupt``: it succeeds with wrong `data`: a "bit" that is flipped (the default), a "byte" stuck at `value` (255), or
  "stale" data, as nothing was written. `offset`: the byte.
- ``misreport_length``: it succeeds, with at most `length` bytes moved or received (default: half of them).
- ``misreport_capability``: enumerations show other `capabilities`, a table as in topology files (`pydoca.sim`).
- ``full``: submit raises AgainError.
- ``lose_notification``: the completion comes only with the next one of its queue; a sleeping engine is not woken.
- ``remove_device``: surprise removal, from this operation until the plan is removed.
- ``link_down``: RDMA and comch connections break, and none can be made for the time `by` (default: until the plan is
  removed).
- ``kill``, ``freeze``: this process kills (SIGKILL) or stops (SIGSTOP) itself.

Operations are selected by `opcode` ("dma.memcpy"; "rdma" for all of a library; several in a list), `device` (name, PCI
address, interface or VUID), its `side` ("host" or "dpu"), the window from `after` to `until` since the plan came into
force, and the predicate `when`, which is called with a FaultOperation. Of those, a rule meets all, or the `nth` alone,
one in `every`, or each with a `probability`; `times` is the most. Times are seconds, a timedelta, or text with a unit:
"200 us", "1.5 ms".

A TOML file has the same keys::

    seed = 7

    [[rule]]
    action = "fail"
    opcode = "dma.memcpy"
    nth = 3

The environment's PYDOCA_FAULTS names a file that comes into force at the first look at devices, unless a plan is in
force by then.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from pydoca import _core
from pydoca._errors import InvalidValueError, Status
from pydoca._publication import publish as _publish
from pydoca.faults import _keys
from pydoca.faults._keys import FaultOperation

__all__ = ["FaultOperation", "FaultPlan", "FaultPlanWarning", "FaultReport", "FaultRule", "inject"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class FaultPlanWarning(UserWarning):
    """A rule of a plan has met nothing, or a plan does not come into force."""


class FaultReport(NamedTuple):
    """The outcome of a rule.

    matched: operations that it selected. triggered: those that it met. impossible: those that it left alone, as their
    data was in the memory of another process, or too short for what the rule changes. never: why it has met none, and
    what to change, or None.
    """

    rule: FaultRule
    matched: int
    triggered: int
    impossible: int
    never: str | None


_KEYS = [
    *["action", "opcode", "device", "side", "nth", "every", "probability", "times", "after", "until", "when"],
    *["status", "by", "data", "offset", "value", "length", "capabilities"],
]


class FaultRule:
    """An action and the operations that it meets; `pydoca.faults` lists actions and keys.

    Raises InvalidValueError for unknown words, values that do not fit, and keys that contradict one another.
    """

    def __init__(
        self,
        action: str,
        opcode: str | Sequence[str] = (),
        *,
        device: str | _Named | None = None,
        side: str | None = None,
        nth: int | None = None,
        every: int | None = None,
        probability: float | None = None,
        times: int | None = None,
        after: float | str | timedelta | None = None,
        until: float | str | timedelta | None = None,
        when: Callable[[FaultOperation], object] | None = None,
        status: Status | str | None = None,
        by: float | str | timedelta | None = None,
        data: str | None = None,
        offset: int | None = None,
        value: int | None = None,
        length: int | None = None,
        capabilities: Mapping[str, Any] | None = None,
        **unknown: Any,
    ) -> None:
        given = {key: value for key, value in locals().items() if key not in ("self", "when", "unknown", "__class__")}
        keys = {key: value for key, value in (given | unknown).items() if value is not None and value != ()}
        self._set(keys, when)

    def _set(self, keys: dict[str, Any], when: Callable[[FaultOperation], object] | None) -> None:
        given = keys if when is None else keys | {"when": when}
        self._keys = {key: given[key] for key in (*_KEYS, *given) if key in given}
        self._raised: list[BaseException] = []  # the exceptions that the predicate raised
        self._engines = _core.FaultRuleOfEngine(_keys.to_plain(keys), _keys.to_predicate(when, self._raised))

    @property
    def action(self) -> str:
        """The action: a word of the list in `pydoca.faults`."""
        return str(self._keys["action"])

    @property
    def keys(self) -> dict[str, Any]:
        """The keys that were given, as in a TOML file."""
        return dict(self._keys)

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any]) -> Self:
        """The rule of a table with these keys."""
        rule = cls.__new__(cls)
        given = {key: value for key, value in keys.items() if value is not None}
        rule._set(given, given.pop("when", None))
        return rule

    def __eq__(self, other: object) -> bool:
        return self._keys == other._keys if isinstance(other, FaultRule) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it may have a table of capabilities

    def __repr__(self) -> str:
        words = [repr(self._keys[key]) for key in ("action", "opcode") if key in self._keys]
        words += [f"{key}={value!r}" for key, value in self._keys.items() if key not in ("action", "opcode")]
        return f"pydoca.faults.FaultRule({', '.join(words)})"


class FaultPlan:
    """Rules, each a FaultRule or a table of its keys, and the seed of their random choices.

    A with block puts it in force, as `inject` does. What a predicate raised is raised at the end of the block; the
    operation that it was asked about meets no fault.
    """

    def __init__(self, *rules: FaultRule | Mapping[str, Any], seed: int = 0) -> None:
        for rule in rules:
            if not isinstance(rule, FaultRule | Mapping):
                raise TypeError(f"FaultPlan() takes rules and tables one by one, as FaultPlan(*rules), not {rule!r}")
        self._rules = tuple(rule if isinstance(rule, FaultRule) else FaultRule.from_keys(rule) for rule in rules)
        self._plan = _core.FaultPlanInForce([rule._engines for rule in self._rules], seed)

    @classmethod
    def load(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Self:
        """The plan of a TOML file, or of a mapping of the same form.

        Raises OSError when the file cannot be read, and InvalidValueError for what is not a plan.
        """
        if isinstance(source, Mapping):
            return cls._of_table(source)
        return cls._of_engine(_core.FaultPlanInForce.load(os.fsencode(source)))

    @classmethod
    def _of_table(cls, table: Mapping[str, Any]) -> Self:
        _core.require_known("fault plan: key", list(table), ["seed", "rule"])
        rules = table.get("rule", [])
        if not isinstance(rules, list) or not all(isinstance(rule, Mapping | FaultRule) for rule in rules):
            raise InvalidValueError("fault plan: rule must be a list of tables: write [[rule]] before each")
        return cls(*rules, seed=table.get("seed", 0))

    @classmethod
    def _of_engine(cls, plan: _core.FaultPlanInForce) -> Self:
        """The plan that the engine has read from a file."""
        own = cls(*plan.tables, seed=plan.seed)
        own._plan = plan
        return own

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """The rules."""
        return self._rules

    @property
    def seed(self) -> int:
        """The seed of the random choices."""
        return self._plan.seed

    @property
    def is_in_force(self) -> bool:
        """Whether devices that are opened now have its faults."""
        return self._plan.is_in_force

    def install(self) -> None:
        """Puts the plan in force, with its counts at 0.

        The log warns of devices that are open and whose faults it has: they have none until they are opened again.
        Raises AlreadyExistError when a plan is in force in this process.
        """
        global _last
        self._plan.install()
        for rule in self._rules:
            rule._raised.clear()
        _last = weakref.ref(self)

    def remove(self) -> None:
        """Ends the plan's force. Warns, with a FaultPlanWarning, of each rule that has met nothing. Idempotent."""
        if not self._plan.leave_force():
            return
        for number, report in enumerate(self.report(), start=1):
            if report.never:
                where = " in this process" if self is _of_environment else ""  # the plan is also in other processes
                text = f"rule {number} of the fault plan, {report.rule!r}, has met nothing{where}: {report.never}"
                warnings.warn(text, FaultPlanWarning, stacklevel=2)

    def report(self) -> list[FaultReport]:
        """The outcome of each rule since install()."""
        counts = zip(self._rules, self._plan.report(), strict=True)
        return [
            FaultReport(rule, matched, triggered, impossible, never or None)
            for rule, (matched, triggered, impossible, never) in counts
        ]

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self.remove()
            for rule in self._rules:
                if rule._raised:
                    raise rule._raised[0]
        else:
            self._plan.leave_force()  # the block's error says more than a warning, which would hide it where it raises

    def __repr__(self) -> str:
        return f"pydoca.faults.FaultPlan({', '.join([*map(repr, self._rules), f'seed={self.seed}'])})"

    def __str__(self) -> str:
        """A line for each rule: what it does, and how often it matched and triggered."""
        lines = [
            f"{report.rule!r}: {report.matched} matched, {report.triggered} triggered"
            + (f", {report.impossible} impossible" if report.impossible else "")
            + (f" ({report.never})" if report.never else "")
            for report in self.report()
        ]
        return "\n".join(lines) or "a fault plan without rules"


@contextlib.contextmanager
def inject(*rules: FaultPlan | FaultRule | Mapping[str, Any], seed: int = 0) -> Iterator[FaultPlan]:
    """A with block during which a plan is in force: a FaultPlan, or the one of these rules and this seed."""
    for rule in rules:
        if not isinstance(rule, FaultPlan | FaultRule | Mapping):
            hint = "; FaultPlan.load() reads a file" if isinstance(rule, str | os.PathLike) else ""
            raise TypeError(f"inject: takes a FaultPlan, or rules and mappings of their keys, not {rule!r}{hint}")
    if len(rules) == 1 and isinstance(rules[0], FaultPlan):
        plan = rules[0]
    else:
        plan = FaultPlan(*(rule for rule in rules if not isinstance(rule, FaultPlan)), seed=seed)
        if any(isinstance(rule, FaultPlan) for rule in rules):
            raise InvalidValueError("inject: give one plan, or rules; one plan can be in force at a time")
    with plan:
        yield plan


_of_environment: FaultPlan | None = None
_file_of_environment = ("", "")  # PYDOCA_FAULTS and the absolute path of its file, as they were when the file was read
_last: weakref.ref[FaultPlan] | None = None  # the plan that was put in force last


def _in_force() -> FaultPlan | None:
    """The plan that is in force in this process."""
    plan = _last() if _last is not None else None
    return plan if plan is not None and plan.is_in_force else None


def _load_environment() -> None:
    global _of_environment, _file_of_environment, _last
    engines = _core.load_faults_of_environment()
    if engines is None:
        return
    value = os.environ["PYDOCA_FAULTS"]
    _file_of_environment = (value, os.path.abspath(value))
    plan = _of_environment = FaultPlan._of_engine(engines)
    if not plan.is_in_force:
        text = f"PYDOCA_FAULTS={os.environ['PYDOCA_FAULTS']} is not used: a plan is in force"
        warnings.warn(text, FaultPlanWarning, stacklevel=2)
        return
    _last = weakref.ref(plan)
    atexit.register(plan.remove)


_publish(__name__)
