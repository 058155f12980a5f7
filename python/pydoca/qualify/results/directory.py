"""The directory of a run. Whatever ends the process, what is there can be loaded, and the run goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pydoca.qualify.findings import findings_of
from pydoca.qualify.machine import inventory
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.report import Measured, report_html
from pydoca.qualify.results.codec import case_to_dict, run_from_dict, run_to_dict, to_json
from pydoca.qualify.results.counted import CounterFile
from pydoca.qualify.results.files import replace_file, write_checksums, write_from
from pydoca.qualify.results.junit import junit_xml
from pydoca.qualify.results.logs import write_logs
from pydoca.qualify.results.ocp import Stream, whole_stream
from pydoca.qualify.results.samples import read_samples, write_samples
from pydoca.qualify.results.table import measurements_csv
from pydoca.qualify.statistics.samples import Array

SCHEMA = 1  # the version of state.json


class RunDirectory:
    """begin(), then case() after each case, then end(). A directory that is there already goes on where it ended."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        self._counters = CounterFile(self.path / "counters.csv")
        self._stream = Stream()
        self._bytes = 0  # the size of results.jsonl
        self._texts: dict[int, str] = {}  # the texts of the cases that are written, by identity

    def begin(self, run: RunRecord) -> None:
        """Creates the directory, or takes up the one that is there; looks at the machine, unless the run has that."""
        self.path.mkdir(parents=True, exist_ok=True)
        run.machine, run.machine_after = run.machine or inventory(run.device), {}
        # A run that goes on may have a file with a case that its state does not know, or half of one.
        self._stream = Stream()
        lines = [self._stream.begin(run), *(self._stream.case(case) for case in run.cases)]
        replace_file(self._results, "".join(lines))
        self._bytes = self._results.stat().st_size
        self._counters.add(run, "")
        self._write_state(run)
        self._write_run(run)

    def case(self, run: RunRecord, case: CaseRecord) -> None:
        """Adds the case to the run, unless it is there, and writes both."""
        if not any(each is case for each in run.cases):
            run.cases.append(case)
        self._bytes = write_from(self._results, self._bytes, self._stream.case(case))
        self._write_state(run)
        self._counters.add(run, case.id)

    def samples(self, name: str, array: Any, *, warmup: int = 0, unit: str = "") -> str:
        """Writes the samples in their order, those of the warm-up first; returns `MeasurementRecord.samples`."""
        return f"samples/{write_samples(self.path / 'samples', name, array, warmup=warmup, unit=unit)}"

    def read_samples(self, name: str) -> tuple[Array, int]:
        """The samples that `samples()` has written, by the name it returned, and how many are of the warm-up."""
        return read_samples(self.path, name)

    def measured(self, name: str) -> Measured:
        """The last measurement of that name with its samples, for notebooks. Raises ValueError where there is none."""
        records = [each for case in self.load(self.path).cases for each in case.measurements]
        found = [each for each in records if each.name == name]
        if not found:
            known = ", ".join(sorted({each.name for each in records})) or "none"
            raise ValueError(f"{self.path} has no measurement {name!r}; there are: {known}")
        return Measured(found[-1], *(self.read_samples(found[-1].samples) if found[-1].samples else (np.empty(0), 0)))

    def end(self, run: RunRecord) -> None:
        """Writes the reports of a run that has a verdict, after a last look at the machine."""
        run.machine_after = run.machine_after or inventory(run.device)
        write_from(self._results, self._bytes, self._stream.end(run))
        self._write_state(run)
        self.report(run)

    def report(self, run: RunRecord, forms: Iterable[str] = ("junit", "html")) -> list[Path]:
        """Writes these forms of a run anew, with run.json and the checksums of everything; returns the forms' files."""
        makers: dict[str, tuple[str, Callable[[], str]]] = {
            "junit": ("junit.xml", lambda: junit_xml(run)),
            "html": ("report.html", lambda: report_html(run, self.read_samples)),
            "csv": ("measurements.csv", lambda: measurements_csv(run)),
            "ocp": ("results.jsonl", lambda: whole_stream(run)),
        }
        written = [makers[form] for form in forms]
        self._write_run(run)
        for name, make in written:
            replace_file(self.path / name, make())
        write_logs(self.path, run)
        write_checksums(self.path)
        return [self.path / name for name, _ in written]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> RunRecord:
        """The run as far as it is known: all of it, or up to its last complete case."""
        state = _read_state(Path(path))
        return run_from_dict(state["run"], state["cases"])

    @property
    def _results(self) -> Path:
        return self.path / "results.jsonl"

    def _write_state(self, run: RunRecord) -> None:
        cases = ",\n".join(self._text(case) for case in run.cases)
        head = f'"schema": {SCHEMA},\n"run": {to_json(run_to_dict(run))}'
        replace_file(self.path / "state.json", f'{{{head},\n"cases": [\n{cases}\n]}}\n')

    def _text(self, case: CaseRecord) -> str:
        """The text of a case, encoded once: a soak has thousands."""
        if id(case) not in self._texts:
            self._texts[id(case)] = to_json(case_to_dict(case))
        return self._texts[id(case)]

    def _write_run(self, run: RunRecord) -> None:
        document = {**run_to_dict(run), "findings": [each.to_dict() for each in findings_of(run)]}
        machine = {"before": document.pop("machine"), "after": document.pop("machine_after")}
        replace_file(self.path / "run.json", to_json(document, indent=2) + "\n")
        replace_file(self.path / "machine.json", to_json(machine, indent=2) + "\n")


def _read_state(path: Path) -> dict[str, Any]:
    file = path / "state.json"
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{path} is not the directory of a run: it has no state.json") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} is not JSON ({error}); only the run itself writes that file") from None
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        raise ValueError(f"{file} has another form than this version of pydoca reads (schema {SCHEMA})")
    return state
