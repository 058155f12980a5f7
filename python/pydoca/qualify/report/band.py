"""The top of the page: the verdict, the device, and how many cases came to what."""

from __future__ import annotations

from pydoca._display.frame.escaping import escaped
from pydoca.qualify.figures import duration, plural, share
from pydoca.qualify.machine import hostname
from pydoca.qualify.records import RunRecord
from pydoca.qualify.report.heading import counts_of, heading
from pydoca.qualify.report.words import moment
from pydoca.qualify.verdicts import ExitCode, Verdict

_SAID = {
    Verdict.FAIL: "The device failed {}.",
    Verdict.ERROR: "The tester failed in {}: nothing is known of the device there.",
    Verdict.INCOMPLETE: "No case failed, but limits or expectations of this run have judged nothing: see the findings.",
    Verdict.MARGINAL: "The device passed, so closely that another run may not.",
    Verdict.PASS: "The device passed every case that was judged.",
    Verdict.UNJUDGED: "Values were measured, and no limit judged them.",
    Verdict.SKIPPED: "Nothing was tested.",
}


def band(run: RunRecord) -> str:
    kind = f"{_subject(run)}, level {escaped(run.level)}, run <code>{escaped(run.id)}</code>"
    return heading(run.verdict, kind, _title(run), _said(run), _facts(run), _counts(run))


def _subject(run: RunRecord) -> str:
    if is_simulated(run):
        return "Qualification of a simulated device"
    is_software = run.device.get("profile") == "software"  # Soft-RoCE
    return "Qualification of a device in software" if is_software else "Hardware qualification"


def is_simulated(run: RunRecord) -> bool:
    return run.device.get("backend") == "sim"


def _title(run: RunRecord) -> str:
    title = run.options.get("title")
    return escaped(str(title)) if title else _device(run)


def _device(run: RunRecord) -> str:
    name, address = str(run.device.get("name", "device")), str(run.device.get("pci_address", ""))
    shown = f" <code>{escaped(address.removeprefix('0000:'))}</code>" if address else ""
    return f"{escaped(name)}{shown}{', simulated' if is_simulated(run) else ''}"


def _said(run: RunRecord) -> str:
    if run.exit_code is None:
        return f"The run has not ended: it was killed, or goes on. So far: {_found(run)}"
    if run.exit_code == ExitCode.INTERRUPTED:
        return f"The run was interrupted, and can be resumed. So far: {_found(run)}"
    return _found(run)


def _found(run: RunRecord) -> str:
    """What the cases say that have ended, also of a run that has not."""
    verdicts = [case.verdict for case in run.cases]
    verdict = Verdict.of_run(verdicts) if run.verdict is Verdict.INTERRUPTED else run.verdict
    return _SAID[verdict].format(share(verdicts.count(verdict), len(verdicts), "case"))


def _facts(run: RunRecord) -> list[tuple[str, str]]:
    keys = {"Serial": "serial", "Part": "part", "Profile": "profile", "Firmware": "firmware", "Backend": "backend"}
    end = run.end if run.end is not None else max((case.begin + case.seconds for case in run.cases), default=run.begin)
    people = {"Customer": "customer", "Operator": "operator", "Note": "note"}
    return [
        *((label, escaped(str(run.options.get(key) or ""))) for label, key in people.items()),
        *([("Device", _device(run))] if run.options.get("title") else []),
        *((label, escaped(str(run.device.get(key) or ""))) for label, key in keys.items()),
        ("Side", escaped(str(run.device.get("side") or ""))),
        ("Host", escaped(hostname(run.machine))),
        ("Begun", escaped(moment(run.begin))),
        ("Took", escaped(duration(end - run.begin))),
        ("Seed", str(run.seed)),
        ("pydoca", escaped(str(run.versions.get("pydoca", "")))),
    ]


def _counts(run: RunRecord) -> str:
    missing = run.planned - len(run.cases)
    more = f"<li><b>{missing:,}</b> not run, of {run.planned:,} planned</li>" if missing > 0 else ""
    more += f'<li class="pq-soft">{plural(sum(len(case.measurements) for case in run.cases), "measurement")}</li>'
    return counts_of([case.verdict for case in run.cases], more)
