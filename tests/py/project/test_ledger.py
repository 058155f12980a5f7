"""script/bench: the figures that it reports as worse, the ledger's contents, and the reports that can take part."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import __main__ as ledger_main
from ledger import older, table
from ledger.comparison import Change, changes, without_counterpart
from ledger.figures import Figure, parse
from ledger.records import FILE, Ledger
from ledger.reports import BY_NAME, REPORTS, obstacle
from ledger.runs import ReportError, Tree

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ROOT / "benchmarks"
FIGURE = Figure("report", "a copy", "ns", 20.0, 10.0, 2.0, False, "<=", 1.5, False)
COUNT = dataclasses.replace(
    FIGURE, name="a counted copy", unit="instructions", is_difference=True, target=None, ok=True
)
MACHINE = {"processor": "of a test", "cores": 2}


def runs(scores: list[float], figure: Figure = FIGURE) -> list[list[Figure]]:
    """A figure with one score for each run."""
    return [[dataclasses.replace(figure, score=score)] for score in scores]


def change(before: list[float], after: list[float], figure: Figure = FIGURE) -> Change:
    [found] = changes(runs(before, figure), runs(after, figure))
    return found


@pytest.mark.parametrize(
    ("before", "after", "is_worse"),
    [
        ([2.0, 2.0, 2.0], [2.32, 2.32, 2.32], True),  # 16 %
        ([2.0, 2.0, 2.0], [2.28, 2.28, 2.28], False),  # 14 %
        ([2.0, 2.0, 2.4], [2.38, 2.39, 2.5], False),  # the spread of the runs before covers it
        ([1.9, 2.0, 2.1], [2.3, 2.5, 2.4], True),
        ([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], False),
        ([2.0], [4.0], True),
    ],
)
def test_a_slowdown_beyond_the_spread_is_named(before, after, is_worse):
    assert change(before, after).is_worse == is_worse


@pytest.mark.parametrize(("after", "is_worse"), [(510.5, True), (509.5, False), (490.0, False)])
def test_two_percent_of_the_instructions_are_named(after, is_worse):
    """The count before is 500: 2.1 % more, 1.9 % more, and fewer."""
    assert change([500.0], [after], COUNT).is_worse == is_worse


def test_a_bandwidth_is_worse_when_it_shrinks():
    bandwidth = dataclasses.replace(FIGURE, unit="GB/s", rule=">=")
    assert change([1.0, 1.0], [0.8, 0.81], bandwidth).is_worse
    assert not change([1.0, 1.0], [1.3, 1.3], bandwidth).is_worse


def test_a_difference_is_compared_in_floors():
    """A difference that is a small part of the floor is not reported: here 0.1 ns and 0.2 ns above 10 ns."""
    difference = dataclasses.replace(FIGURE, is_difference=True)
    assert not change([0.1, 0.1], [0.2, 0.2], difference).is_worse
    assert change([5.0, 5.0], [5.9, 5.9], difference).is_worse


def test_figures_without_a_counterpart_are_named():
    other = dataclasses.replace(FIGURE, name="another")
    assert changes([[FIGURE]], [[other]]) == []
    assert without_counterpart([[FIGURE, other]], [[other]]) == [FIGURE.key]


def test_a_planted_slowdown_is_in_the_line_that_is_printed():
    line = table.change_line(change([2.0, 2.0, 2.0], [2.4, 2.4, 2.4]))
    assert "+20.0%" in line
    assert line.endswith("WORSE")


def test_the_ledger_gives_back_what_was_recorded(tmp_path):
    ledger = Ledger()
    ledger.record(MACHINE, "abc", [*runs([1.6, 1.4, 1.9]), *runs([100.0], COUNT)])
    ledger.write(tmp_path / "ledger.json")
    again = Ledger.read(tmp_path / "ledger.json")
    assert again.machines == ledger.machines
    spread = again.spreads(MACHINE)[FIGURE.key]
    assert (spread.low, spread.median, spread.high) == (1.4, 1.6, 1.9)
    assert again.spreads({**MACHINE, "cores": 4}) == {}
    assert [(miss.name, miss.reason) for miss in again.misses()] == [("a copy", "")]


def test_a_record_replaces_that_of_its_reports_only():
    ledger = Ledger()
    other = dataclasses.replace(FIGURE, report="other")
    ledger.record(MACHINE, "a", [[FIGURE, other]])
    ledger.record(MACHINE, "b", runs([3.0]))
    assert ledger.spreads(MACHINE)[FIGURE.key].median == 3.0
    assert ledger.spreads(MACHINE)[other.key].median == 2.0
    assert len(ledger.machines) == 1


def test_a_run_beside_the_record_of_its_machine():
    ledger = Ledger()
    ledger.record(MACHINE, "a", runs([2.0, 2.1, 2.2]))
    recorded = ledger.spreads(MACHINE)
    assert table.worse_than_recorded(*runs([2.15]), recorded) == []
    assert [each.figure.key for each in table.worse_than_recorded(*runs([2.9]), recorded)] == [FIGURE.key]


def test_every_miss_in_the_ledger_has_a_reason():
    without = [f"{miss.report}: {miss.name}" for miss in Ledger.read().misses() if not miss.reason.strip()]
    assert without == [], "reasons in benchmarks/ledger.json"


def source_of(report: str) -> Path:
    return BENCHMARKS / (report if report.endswith(".py") else f"engine/{report}.cpp")


def test_the_reasons_are_of_figures_of_the_reports():
    ledger = Ledger.read()
    for report, names in ledger.reasons.items():
        source = source_of(report).read_text()
        assert [name for name in names if name.split(", ")[-1] not in source] == []  # the name's end is the floor
    assert {report for machine in ledger.machines for report in machine["reports"]} <= BY_NAME.keys()


def test_the_ledger_stands_in_the_form_in_which_it_is_written(tmp_path):
    Ledger.read().write(tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json").read_text() == FILE.read_text()


def test_every_report_of_benchmarks_is_in_the_list():
    reports = {path.name for path in BENCHMARKS.glob("*.py") if "arguments_of(" in path.read_text()}
    reports |= {
        path.stem for path in BENCHMARKS.glob("engine/*.cpp") if '#include "print_report.hpp"' in path.read_text()
    }
    reports.discard("print_report.py")
    assert reports == {report.name for report in REPORTS}


def test_every_counted_figure_is_one_of_a_report():
    """The name of each counted figure is found, since the reports select by a part of it."""
    counted = re.findall(r'Counted\("(.+?)", "(.+?)"', (BENCHMARKS / "instructions.py").read_text())
    assert len(counted) > 5
    for report, figure in counted:
        assert f'"{figure}"' in source_of(report).read_text()


def test_what_cannot_run_has_a_reason(tmp_path):
    assert "no RDMA device" in obstacle(BY_NAME["rdma_pyverbs.py"], None, tmp_path)
    assert "was not built" in obstacle(BY_NAME["sha_report"], None, tmp_path)
    assert obstacle(BY_NAME["awaits.py"], None, tmp_path) is None


OLDER = [
    (
        "report",
        {
            "name": "dma",
            "unit": "ns",
            "value": 18.0,
            "floor": 2.0,
            "score": 16.0,
            "rule": "<=",
            "target": 30,
            "ok": True,
        },
        ("dma", 8.0),
    ),
    (
        "report",
        {
            "name": "dma",
            "unit": "GB/s",
            "value": 9.0,
            "floor": 6.0,
            "score": 1.5,
            "rule": ">=",
            "target": 1,
            "ok": True,
        },
        ("dma", 1 / 1.5),
    ),
    (
        "comch.py",
        {"cpus": "0", "microseconds": {"socket": 5.0, "wait": 10.0}, "ratios": {"wait": 2.0}},
        ("comch round trip of 64 B, wait, one core, against a socket's", 2.0),
    ),
    (
        "rdma_instructions.py",
        {"name": "write 64 B, posted and polled", "unit": "instructions", "floor": 390, "value": 913, "added": 523}
        | {"target": 150, "ok": False},
        ("rdma write 64 B, posted and polled, above libibverbs", 523),
    ),
]


@pytest.mark.parametrize(("report", "printed", "expected"), OLDER)
def test_what_older_revisions_print_is_compared(report, printed, expected):
    [row] = older.rows(report, json.dumps(printed))
    figure = parse(report, row)
    assert (figure.name, figure.cost) == (expected[0], pytest.approx(expected[1]))


AWAITS = [
    "await dma.memcpy of two new bufs, 4 KiB",
    "await dma.memcpy of two new bufs at addresses, 4 KiB",
    "get_by_data, and drop",
    "await dma.memcpy of two maps, 4 KiB",
    "await dma.memcpy, 4 KiB",
    "await a task submitted again, 4 KiB",
    "one of 64 in flight, a loop of awaits",
    "one of 64 in flight, pe.gather",
    "one of 64 in flight, asyncio.gather",
    "one of 64 in flight, asyncio.gather of futures",
    "await context.notify_set",
    "await context.wait_eq, true at once",
    "set an event and wait",
    "set an event and await",
    "await dma.memcpy_many, a row of 64 B",
    "send a comch message, and wait for it",
    "send a comch message, and await it",
]
FLOORS = [
    "await a future that is done",
    "make an object, and drop it",
    "one of 64 futures, set by one call",
    "send 64 B by a socket, and receive them",
]


def rows_of_awaits(*options):
    """The rows of a short run, as the numbers do not matter."""
    line = [sys.executable, BENCHMARKS / "awaits.py", "--json", "--repetitions", "1", "--count", "10", *options]
    rows = json.loads(subprocess.run(line, capture_output=True, text=True, timeout=120, check=True).stdout)
    return [row for row in rows if " bare " not in row["name"]]  # those are there where benchmarks/python was built


def test_a_report_prints_the_form_that_is_read():
    rows = rows_of_awaits()
    assert [parse("awaits.py", row).document() for row in rows] == rows
    assert [row["name"] for row in rows] == AWAITS


def test_awaits_compares_loops():
    """Each kind of await, and each floor, beside the same in asyncio's own loop."""
    pytest.importorskip("uvloop", reason="uvloop is not installed")
    rows = rows_of_awaits("--loop", "uvloop")
    assert {row["name"] for row in rows} == {f"{name}, uvloop, against asyncio" for name in AWAITS + FLOORS}
    assert all(row["value"] > 0 for row in rows)
    assert {row["target"] for row in rows} == {1.1, None}


class Turns:
    """A substitute for the reports of two trees: it gives each tree's scores in turn, then repeats the last one."""

    def __init__(self, **scores: list[float]) -> None:
        self.scores = scores
        self.taken = {"before": 0, "after": 0}

    def run(self, _report, tree, _repetitions, _device):
        name = tree.root.name
        turn = min(self.taken[name], len(self.scores[name]) - 1)
        self.taken[name] += 1
        return [dataclasses.replace(FIGURE, report="awaits.py", score=self.scores[name][turn])], []


@pytest.mark.parametrize(
    ("after", "turns", "code"),
    [
        ([2.0, 2.1, 2.0], 3, 0),
        ([2.5, 2.6, 2.5], 6, 1),  # the figure seems worse, and is worse again
        ([2.5, 2.6, 2.5, 2.0], 6, 0),  # the figure seemed worse
    ],
)
def test_two_revisions_are_run_in_turns(monkeypatch, tmp_path, capsys, after, turns, code):
    for name in ("before", "after"):
        (tmp_path / name / "benchmarks").mkdir(parents=True)
        (tmp_path / name / "benchmarks" / "awaits.py").touch()
    reports = Turns(before=[2.0, 2.0, 2.1], after=after)
    monkeypatch.setattr(ledger_main, "run", reports.run)
    bench = ledger_main.Bench(ledger_main.parse_arguments(["awaits.py"]))
    bench.here = Tree(tmp_path / "after")
    assert ledger_main.Comparison(bench, Tree(tmp_path / "before"), "v1").run() == code
    assert reports.taken == {"before": turns, "after": turns}
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith("WORSE") == (code == 1)
    assert any(line.startswith("awaits.py: a copy") for line in lines)


def test_a_report_that_fails_does_not_end_the_others(monkeypatch, capsys):
    def fail(*_arguments):
        raise ReportError("ended with 1: a reason")

    monkeypatch.setattr(ledger_main, "run", fail)
    bench = ledger_main.Bench(ledger_main.parse_arguments(["awaits.py", "graph.py"]))
    outcome = bench.run_all()
    assert ledger_main.close(outcome, check=False) == 1
    assert "FAILED: graph.py: ended with 1: a reason" in capsys.readouterr().out
