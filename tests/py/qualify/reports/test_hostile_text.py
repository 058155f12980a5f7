"""Every page shows a text as it is, wherever the text comes from."""

from pydoca.qualify import history
from pydoca.qualify.fleet.outliers import compare_cards
from pydoca.qualify.fleet.record import CardRecord, FleetRecord, WorkerRecord
from pydoca.qualify.fleet.report.page import fleet_html
from pydoca.qualify.history.page import comparison_html
from pydoca.qualify.records import LimitRecord
from pydoca.qualify.report import report_html
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.fleet.fleets import card
from qualify.reports.page_checks import Page
from qualify.reports.runs import BEGIN, case, correlated, measured, new_run


class Texts:
    """Makes texts that a page must show, and would take for HTML if it did not escape them."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, name: str) -> str:
        self.made.append(f"""{name.capitalize()}<b>&"'{{{{ 7 * 7 }}}}<script>""")
        return self.made[-1]

    def check(self, page: str) -> None:
        read = Page(page)
        assert {"script", "img"} & set(read.tags) == set()
        assert [text for text in self.made if text not in read.text] == []
        assert [text for text in self.made if text in page] == []


def test_a_report_shows_the_texts_of_its_run(tmp_path):
    text, directory = Texts(), RunDirectory(tmp_path)
    limit = LimitRecord("p50", min=1, source=text("limit"), waived=text("waiver"))
    slow = measured(text("measurement"), correlated(40, 0, 1), unit=text("unit"), limit=limit, directory=directory)
    cases = [
        case(text("case"), slow, title=text("title"), node=f"t.py::t[{text('parameter')}]"),
        case(text("other"), title=text("what"), reason=text("reason"), verdict=Verdict.FAIL, number=1, log=text("log")),
        case("OFF-1", reason=text("skipped"), verdict=Verdict.SKIPPED, number=2),
    ]
    run = new_run(text("run"), planned=3, exit_code=1, verdict=Verdict.FAIL, cases=cases, findings=[text("finding")])
    run.level = text("level")
    run.device |= {key: text(key) for key in ("name", "pci_address", "serial", "part", "profile", "firmware", "side")}
    run.options |= {key: text(key) for key in ("title", "customer", "operator", "note")}
    run.versions |= {"pydoca": text("version"), text("package"): text("of package")}
    run.machine = {"hostname": {"value": text("host")}, text("fact"): {"value": 1}, "bios": {"absent": text("why not")}}
    run.machine_after = {**run.machine, "hostname": {"value": text("new host")}}
    text.check(report_html(run, directory.read_samples))


def test_a_heading_without_a_title_shows_the_texts_of_the_device():
    text = Texts()
    run = new_run(planned=1, cases=[case("A-1", verdict=Verdict.PASS)])
    run.device |= {"name": text("name"), "pci_address": text("address")}
    page = report_html(run, lambda name: None)
    assert f"\n{text.made[0]} {text.made[1]}, simulated\n" in Page(page).text
    text.check(page)


def test_the_report_of_a_fleet_shows_the_texts_of_its_cards():
    text, tested = Texts(), []
    kind, name, unit = text("part"), text("measurement"), text("unit")
    for number in range(6):
        run = new_run("smoke", text(f"serial {number}"), planned=1, end=BEGIN + 9, verdict=Verdict.FAIL)
        speed = 5.0 if number == 5 else 10 + number / 100
        run.cases = [
            case(text(f"case {number}"), measured(name, [speed] * 3, unit=unit)),
            case("BAD", verdict=Verdict.FAIL, reason=text(f"reason {number}")),
        ]
        one = card(number, host=text(f"host {number}"), device=text(f"device {number}"), part=kind)
        tested.append((one, run))
    text.made = [each for each in text.made if not each.startswith("Case")]  # the page names those that failed
    spreads, outliers = compare_cards(tested)
    assert outliers
    fleet = FleetRecord(
        text("fleet"), text("scheduler"), text("level"), 7, {}, {"pydoca": text("version")}, BEGIN, BEGIN + 60,
        [CardRecord(one, run, text("folder") if one.host.startswith("Host 3") else "") for one, run in tested],
        [WorkerRecord(text("worker"), "host", 6, 6, False)], spreads, outliers, [text("finding")], verdict=Verdict.FAIL,
    )  # fmt: skip
    page = fleet_html(fleet)
    [folder] = [each for each in text.made if each.startswith("Folder")]
    assert f"{folder}/report.html" in Page(page).links
    text.made.remove(folder)
    text.check(page)


def test_a_comparison_shows_the_texts_of_both_runs(tmp_path):
    text, runs = Texts(), []
    name, unit, fact, changed, lost = (text(word) for word in ("measurement", "unit", "fact", "changed", "lost"))
    for number in range(2):
        directory = RunDirectory(tmp_path / str(number))
        run = new_run(text(f"run {number}"), planned=2)
        run.level = text(f"level {number}")
        run.machine = {fact: {"value": text(f"value {number}")}}
        series = measured(name, correlated(40, 0, 1, 10 + number), unit=unit, directory=directory)
        run.cases = [case("A", series), case(changed, verdict=(Verdict.PASS, Verdict.FAIL)[number], number=1)]
        run.cases += [case(lost, verdict=Verdict.PASS, number=2)] if not number else []
        runs.append((directory, run))
    runs[0][1].cases.append(case(text("left out"), verdict=Verdict.PASS, number=3))
    runs[1][1].options["select"] = ["A", changed, lost, text("selection")]
    text.check(comparison_html(history.compare(*runs), *runs))
