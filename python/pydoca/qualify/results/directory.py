"""The directory of a run. Whatever ends the process, what is there can be loaded, and the run goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydoca.qualify.machine import inventory
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.results.codec import case_to_dict, run_from_dict, run_to_dict, to_json
from pydoca.qualify.results.files import replace_file, write_checksums, write_from
from pydoca.qualify.results.junit import junit_xml
from pydoca.qualify.results.ocp import Stream
from pydoca.qualify.results.samples import read_samples, write_samples
from pydoca.qualify.statistics.samples import Array

SCHEMA = 1  # of state.json


class RunDirectory:
    """begin(), then case() after each case, then end(). A directory that is there already goes on where it ended."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._stream = Stream()
        self._bytes = 0  # of results.jsonl: what follows belongs to a case that state.json does not know
        self._texts: dict[int, str] = {}  # of the cases that are written, by identity

    def begin(self, run: RunRecord) -> None:
        """Creates the directory, or takes up the one that is there; looks at the machine, unless the run has that."""
        self.path.mkdir(parents=True, exist_ok=True)
        run.machine = run.machine or inventory(run.device)
        if (self.path / "state.json").exists():
            self._resume()
        else:
            self._results.write_bytes(b"")
            self._bytes = write_from(self._results, 0, self._stream.begin(run))
        self._write_state(run)
        self._write_run(run)

    def case(self, run: RunRecord, case: CaseRecord) -> None:
        """Adds the case to the run, unless it is there, and writes both."""
        if not any(each is case for each in run.cases):
            run.cases.append(case)
        self._bytes = write_from(self._results, self._bytes, self._stream.case(case))
        self._write_state(run)

    def samples(self, name: str, array: Any, *, warmup: int = 0, unit: str = "") -> str:
        """Writes the samples in their order, those of the warm-up first; returns `MeasurementRecord.samples`."""
        return f"samples/{write_samples(self.path / 'samples', name, array, warmup=warmup, unit=unit)}"

    def read_samples(self, name: str) -> tuple[Array, int]:
        """What `samples()` has written, by what it returned: all samples, and how many are of the warm-up."""
        return read_samples(self.path, name)

    def end(self, run: RunRecord) -> None:
        """Writes the reports of a run that has a verdict, after a last look at the machine."""
        run.machine_after = run.machine_after or inventory(run.device)
        # state.json does not count the last line: a run that goes on replaces it.
        last = Stream(self._stream.sequence, self._stream.step)
        write_from(self._results, self._bytes, last.end(run))
        self._write_state(run)
        self._write_run(run)
        self.report(run)

    def report(self, run: RunRecord) -> None:
        """Writes the forms for people and for other programs anew, and the checksums of everything."""
        replace_file(self.path / "junit.xml", junit_xml(run))
        write_checksums(self.path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> RunRecord:
        """The run as far as it is known: all of it, or up to its last complete case."""
        state = _read_state(Path(path))
        return run_from_dict(state["run"], state["cases"])

    @property
    def _results(self) -> Path:
        return self.path / "results.jsonl"

    def _resume(self) -> None:
        stream = _read_state(self.path)["stream"]
        self._stream = Stream(sequence=stream["sequence"], step=stream["step"])
        self._bytes = stream["bytes"]

    def _write_state(self, run: RunRecord) -> None:
        cases = ",\n".join(self._text(case) for case in run.cases)
        stream = {"bytes": self._bytes, "sequence": self._stream.sequence, "step": self._stream.step}
        head = f'"schema": {SCHEMA}, "stream": {to_json(stream)},\n"run": {to_json(run_to_dict(run))}'
        replace_file(self.path / "state.json", f'{{{head},\n"cases": [\n{cases}\n]}}\n')

    def _text(self, case: CaseRecord) -> str:
        """Each case is encoded once: a soak has thousands."""
        if id(case) not in self._texts:
            self._texts[id(case)] = to_json(case_to_dict(case))
        return self._texts[id(case)]

    def _write_run(self, run: RunRecord) -> None:
        document = run_to_dict(run)
        machine = {"before": document.pop("machine"), "after": document.pop("machine_after")}
        replace_file(self.path / "run.json", to_json(document, indent=2) + "\n")
        replace_file(self.path / "machine.json", to_json(machine, indent=2) + "\n")


def _read_state(path: Path) -> dict[str, Any]:
    file = path / "state.json"
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path} is not the directory of a run: it has no state.json") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} is not JSON ({error}); only the run itself writes that file") from None
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        raise ValueError(f"{file} has another form than this version of pydoca reads (schema {SCHEMA})")
    return state
