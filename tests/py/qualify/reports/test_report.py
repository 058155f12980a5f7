"""The page of a run: complete, usable without a network, escaped, and with every verdict in words."""

import re

import numpy as np
import pytest

from pydoca.qualify.figures import (
    bound_text,
    cv_text,
    duration,
    figure,
    property_text,
    quantity,
    quantity_beside,
    span_text,
)
from pydoca.qualify.machine import changes
from pydoca.qualify.records import LimitRecord, MeasurementRecord
from pydoca.qualify.report import report_html
from pydoca.qualify.report.plots.axes import axis_title
from pydoca.qualify.report.plots.scale import Scale, range_of, tick_text
from pydoca.qualify.report.words import interval_text, limit_text, value_text
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.reports.page_checks import Page
from qualify.reports.pages import write_pages
from qualify.reports.runs import BEGIN, case, correlated, measured, new_run, written

EVIL = "<script>alert('x')</script> & \x00\x1b[31m \ud800 \" ' ]]>"


def report_of(path, cases, directory=None, **more):
    written(path, cases, directory, **more)
    return (path / "report.html").read_text()


def most(bound, stat="p50"):
    return LimitRecord(stat, max=bound)


@pytest.fixture
def many(tmp_path):
    """A run with a case of every verdict, and measurements of every kind."""
    directory = RunDirectory(tmp_path)
    tail = np.random.default_rng(1).lognormal(size=20_000)
    tail[5] = 1e6
    limit = LimitRecord("p50", min=9, max=12, source="bf3.toml")
    cases = [
        case("DMA-1", measured("series", correlated(900, 0.5, 1), limit=limit, directory=directory)),
        case("DMA-2", measured("few", [10.0, 11.0, 10.5], limit=limit, directory=directory), number=1),
        case("DMA-3", measured("equal", [10.0] * 50, limit=limit, directory=directory), number=2),
        case("DMA-4", measured("zero", [0.0] * 3, unit="1", directory=directory), number=3),
        case("LAT-1", measured("tail", tail, stat="p99", limit=most(20, "p99"), directory=directory), number=4),
        case("LAT-2", measured("far", [-1.0, 5.0] * 30, limit=most(1e9), directory=directory), number=5),
        case("BAD-1", measured("low", [1.0] * 9, limit=limit, directory=directory), number=6, log="one\ntwo"),
        case("BAD-2", verdict=Verdict.ERROR, reason="broken", number=7),
        case("OFF-1", verdict=Verdict.SKIPPED, reason="no engine", number=8),
        case("NEAR-1", measured("near", [9.01] * 40, limit=LimitRecord("p50", min=9, marginal=0.02)), number=9),
    ]  # fmt: skip
    return cases, directory, tmp_path


def test_the_page_is_well_formed_loads_nothing_and_has_no_scripts(many):
    cases, directory, path = many
    html = report_of(path, cases, directory)
    page = Page(html)
    assert "default-src 'none'" in html
    assert "http" not in re.sub(r"http-equiv", "", html)
    assert "nan" not in re.findall(r"[\w.]+", " ".join(re.findall(r' d="([^"]*)"', html)).lower())
    for each in cases:
        assert each.id in page.text
        assert each.title in page.text


def test_every_verdict_is_a_word_and_not_only_a_colour(many):
    cases, directory, path = many
    page = Page(report_of(path, cases, directory))
    for verdict in set(Verdict) - {Verdict.INTERRUPTED, Verdict.INCOMPLETE}:  # only runs have these
        assert verdict.value in page.text
    assert "The device failed 1 of 10 cases." in page.text


def test_a_measurement_has_its_value_interval_limit_and_pictures(many):
    cases, directory, path = many
    html = report_of(path, cases, directory)
    page = Page(html)
    (one,) = cases[0].measurements
    assert value_text(one) == f"{figure(one.value)} GB/s"
    assert interval_text(one) == f"{figure(one.interval[0])} to {figure(one.interval[1])} GB/s"
    assert value_text(one) in page.text
    assert interval_text(one) in page.text
    assert "\u2265 9 GB/s, \u2264 12 GB/s" in page.text
    assert "CV (coefficient of variation)" in page.text
    assert "bf3.toml" in page.text
    drawn = [each for case in cases for each in case.measurements if each.samples]
    for each in drawn:
        assert f"{each.name}: " in page.text
        assert f"{each.samples}.csv" in page.links
    assert html.count("samples in their order</title>") == len(drawn)
    assert html.count("distribution of") + html.count("share of samples above") >= len(drawn)
    assert re.search(r"\d beyond \u2192", page.text)


def test_a_failure_has_its_log_and_the_command_that_repeats_it(many):
    cases, directory, path = many
    page = Page(report_of(path, cases, directory))
    assert "one\ntwo" in page.text
    assert "pydoca qualify sim:p0 --select 'BAD-1' --seed 7" in page.text
    assert "broken" in page.text


def test_a_long_log_shows_its_end(tmp_path):
    log = "\n".join(f"line {number}" for number in range(1000))
    page = Page(report_of(tmp_path, [case("BAD-1", verdict=Verdict.FAIL, reason="x", log=log)]))
    assert "line 999" in page.text
    assert "line 900\n" not in page.text
    assert "lines before" in page.text


def test_text_of_any_origin_is_escaped(tmp_path):
    directory = RunDirectory(tmp_path)
    limit = LimitRecord("p50", min=1, source=EVIL, waived=EVIL)
    one = measured(EVIL, [0.5] * 20, unit=EVIL, limit=limit, directory=directory)
    cases = [case(EVIL, one, title=EVIL, reason=EVIL, log=EVIL, node=EVIL, verdict=Verdict.FAIL)]
    run = new_run(planned=1)
    run.id, run.device = EVIL, {"name": EVIL, "pci_address": EVIL, "serial": EVIL, "backend": EVIL}
    run.options, run.versions, run.findings = {EVIL: EVIL}, {EVIL: EVIL, "pydoca": EVIL}, [EVIL]
    run.machine, run.machine_after = {"cpu.x": {"value": EVIL}, EVIL: {"absent": EVIL}}, {"cpu.x": {"value": 1}}
    run.cases, run.verdict, run.exit_code, run.level = cases, Verdict.FAIL, 1, EVIL
    html = report_html(run, directory.read_samples)
    page = Page(html)
    assert "alert('x')" in page.text
    assert "\x1b" not in html
    assert "\x00" not in html
    html.encode()


def test_what_is_planned_and_did_not_run_is_said(tmp_path):
    run = new_run(planned=5)
    run.cases = [case("A-1", verdict=Verdict.PASS)]
    text = Page(report_html(run, RunDirectory(tmp_path).read_samples)).text
    assert "4 planned cases did not run: not tested is not passed." in text
    assert "The run has not ended" in text
    run.exit_code = 2
    assert "The run was interrupted, and can be resumed." in Page(report_html(run, lambda name: None)).text


def test_cases_of_one_id_are_told_apart_by_the_parameter_of_their_test(tmp_path):
    cases = [
        case("NEG-1", verdict=Verdict.FAIL, reason="wrong", node=f"cases/test_n.py::test_misuse[{name}]")
        for name in ("twice", "stopped")
    ]
    text = Page(report_of(tmp_path, cases)).text
    for name in ("twice", "stopped"):
        assert text.count(f"NEG-1 [{name}]") >= 2  # the findings and the failures name it
        assert re.search(rf"The case NEG-1\s+\[{name}\]", text)  # the table names it
    assert "testStepStart" in (stream := (tmp_path / "results.jsonl").read_text())
    assert "NEG-1 [twice]: The case NEG-1" in stream


def test_a_report_has_the_title_and_the_people_that_it_was_given():
    run = new_run(planned=1, exit_code=0, verdict=Verdict.PASS)
    run.cases = [case("A-1", verdict=Verdict.PASS)]
    plain = Page(report_html(run, lambda name: None)).text
    assert "p0 03:00.0, simulated" in plain
    assert "Qualification of a simulated device" in plain
    assert "Customer" not in plain
    run.options |= {"title": "Lot <7>", "customer": "Example Ltd", "operator": "A. Tester", "note": "second try"}
    html = report_html(run, lambda name: None)
    assert "<h1>Lot &lt;7&gt;</h1>" in html
    assert all(word in Page(html).text for word in ("Example Ltd", "A. Tester", "second try", "p0 03:00.0, simulated"))


def test_a_report_of_hardware_says_so():
    run = new_run(planned=1, exit_code=0, verdict=Verdict.PASS)
    run.device["backend"] = "verbs"
    html = report_html(run, lambda name: None)
    assert "Hardware qualification" in Page(html).text
    assert "simulated" not in Page(html).text


def test_a_report_of_soft_roce_does_not_say_hardware():
    run = new_run(planned=1, exit_code=0, verdict=Verdict.PASS)
    run.device |= {"backend": "verbs", "profile": "software"}
    text = Page(report_html(run, lambda name: None)).text
    assert "Qualification of a device in software" in text
    assert "Hardware" not in text


@pytest.mark.parametrize("exit_code", [None, 2])
def test_a_run_that_has_not_ended_is_not_shown_as_what_its_cases_say(exit_code):
    run = new_run(planned=95, exit_code=exit_code)
    run.cases = [case("A-1", verdict=Verdict.PASS)]
    html = report_html(run, lambda name: None)
    assert f"<title>INTERRUPTED: p0, simulated, {run.id}</title>" in html
    text = Page(html).text
    assert "So far: The device passed every case that was judged." in text
    run.cases.append(case("A-2", verdict=Verdict.FAIL, reason="slow"))
    assert "So far: The device failed 1 of 2 cases." in Page(report_html(run, lambda name: None)).text


def test_a_run_without_cases_has_a_page(tmp_path):
    page = Page(report_html(new_run(), RunDirectory(tmp_path).read_samples))
    assert "INTERRUPTED" in page.text
    assert "No inventory was taken." in page.text


def test_what_was_not_judged_or_not_tested_is_a_finding(tmp_path):
    cases = [case(f"FREE-{k}", measured(f"bw{k}", [10.0] * 40)) for k in range(3)]
    cases += [case(f"OFF-{k}", verdict=Verdict.SKIPPED, reason="no <engine>") for k in range(2)]
    text = Page(report_of(tmp_path, cases)).text
    assert "3 cases measured values that no limit judges." in text
    assert "2 cases did not run: no <engine>" in text


def test_properties_of_the_device_are_a_list_and_wrong_ones_are_lines(tmp_path):
    def property_of(name, value, verdict, reason):
        return MeasurementRecord(name, "", "value", "none", value, None, 1, 0, 0, {}, verdict, reason)

    properties = [
        property_of("max_size", 2097152.0, Verdict.UNJUDGED, "2097152; no limits file expects a value"),
        property_of("export", 1.0, Verdict.UNJUDGED, "True; no limits file expects a value"),
        property_of("speed", None, Verdict.PASS, "'32 GT/s', as bf3.toml: expect.speed expects"),
        property_of("width", 8.0, Verdict.FAIL, "8, and bf3.toml: expect.width expects 16"),
    ]
    html = report_of(tmp_path, [case("INV-3", *properties)])
    text = Page(html).text
    assert html.count("<li><span") >= 3
    for shown in ("max_size 2,097,152", "export yes", "speed 32 GT/s"):
        assert shown in text
    assert text.count("8, and bf3.toml: expect.width expects 16") >= 2
    assert "distribution" not in html


def test_a_change_of_the_machine_is_a_finding(tmp_path):
    run = new_run(machine={"cpu.governor": {"value": "performance"}}, end=BEGIN + 1, exit_code=0)
    run.machine_after = {"cpu.governor": {"value": "powersave"}}
    text = Page(report_html(run, RunDirectory(tmp_path).read_samples)).text
    assert "cpu.governor was performance, and is powersave" in text
    assert "after the run: powersave" in text


def test_a_program_that_does_not_answer_in_time_is_not_a_change_of_the_machine():
    late = {"absent": "git did not answer within 10 s", "late": True}
    read, other = {"value": "1234567"}, {"value": "89abcde"}
    for one, after in [(late, read), (read, late)]:
        assert changes({"git.commit": one}, {"git.commit": after}) == []
    assert changes({"git.commit": read}, {"git.commit": other}) == [("git.commit", "1234567", "89abcde")]


def test_missing_samples_leave_out_their_pictures(many):
    cases, directory, path = many
    written(path, cases, directory)
    for file in (path / "samples").iterdir():
        file.unlink()
    html = report_html(RunDirectory.load(path), directory.read_samples)
    assert "<svg" not in html
    assert "series" in Page(html).text


def test_a_long_run_has_a_page_of_bounded_size(tmp_path):
    one = measured("bw", [10.0] * 40)
    run = new_run()
    run.cases = [case(f"C-{k}", one, verdict=Verdict.PASS, number=k) for k in range(3000)]
    run.cases[2900] = case("BAD", verdict=Verdict.FAIL, reason="late")
    html = report_html(run, RunDirectory(tmp_path).read_samples)
    assert len(html) < 1_500_000
    assert "The worst 400 of 3,000 cases" in html
    Page(html)
    assert ">BAD<" in html


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.0, "1,234"), (21.4682, "21.47"), (0.899508, "0.900"), (9.41141, "9.411"), (0.00012, "0.000120"),
     (1234.56, "1,235"), (-3.25, "-3.250"), (None, "\u2013"), (1.5e12, "1,500,000,000,000"), (1.5e20, "1.5e+20"),
     (123.45, "123.5"), (9.99996, "10.00"), (2097152.0, "2,097,152"), (1234567.8, "1,234,568"), (0.0123456, "0.0123")],
)  # fmt: skip
def test_numbers_have_four_digits_and_separators(value, text):
    assert figure(value) == text


def test_times_have_three_digits_and_their_unit():
    texts = [quantity(value, "us") for value in (2.0, 0.8991, 12.345, 123.4, 2097152.0, 0.0, None)]
    assert texts == ["2.00 µs", "0.899 µs", "12.3 µs", "123 µs", "2,097,152 µs", "0 µs", "\u2013"]
    others = [quantity(2.5, unit) for unit in ("us/op", "1", "degC", "1/s")]
    assert others == ["2.500 µs/op", "2.500", "2.500 °C", "2.500 1/s"]


def test_a_limit_far_below_its_unit_has_a_smaller_one():
    assert [bound_text(bound, "ms") for bound in (0.05, 0.0210074796, 0.3)] == ["50 µs", "21.0075 µs", "0.3 ms"]


def test_times_far_below_their_unit_have_a_smaller_one():
    texts = [quantity(value, unit) for value, unit in ((0.0577, "ms"), (0.002012, "ms"), (0.05, "s"), (0.12, "ms"))]
    assert texts == ["57.7 µs", "2.01 µs", "50.0 ms", "0.120 ms"]
    assert span_text((0.00195, 0.00209), "ms") == "1.95 to 2.09 µs"
    assert span_text((0.0511, 0.0534), "us", "cv") == "5.11 to 5.34 %"
    assert quantity_beside(0.050031, [0.05], "ms") == "50.03 µs"


def test_some_statistics_do_not_have_the_unit_of_their_samples():
    assert [quantity(0.0523, "us", stat) for stat in ("cv", "count")] == ["5.2 %", "0.0523"]
    assert quantity(1200.0, "us", "count") == "1,200"
    assert [cv_text(value) for value in (1.5, 0.0001)] == ["150 %", "0.010 %"]
    assert limit_text(LimitRecord("cv", max=0.05), "us") == "\u2264 5 %"


@pytest.mark.parametrize(
    ("value", "text"), [(5.003, "5.003 µs"), (4.9996, "4.9996 µs"), (5.0, "5.00 µs"), (7.1234, "7.12 µs")]
)
def test_a_value_close_to_its_limit_has_the_digits_that_tell_them_apart(value, text):
    assert quantity_beside(value, [5.0], "us") == text


def test_limits_are_as_they_were_written_with_their_unit():
    texts = [bound_text(bound, unit) for bound, unit in ((5, "us"), (2097152, "1"), (12345.678, "us"), (1e-5, "s"))]
    assert texts == ["5 µs", "2,097,152", "12,345.7 µs", "10 µs"]
    assert limit_text(LimitRecord("p50", min=16, max=16), "GB/s") == "= 16 GB/s"
    assert limit_text(LimitRecord("p50", max=6.5), "us") == "\u2264 6.5 µs"
    assert limit_text(None, "us") == ""


def test_durations_in_words():
    seconds = (0.0, 0.0123, 1.234, 47.0, 65.04, 99.97, 125, 7300)
    texts = ["0 s", "12.3 ms", "1.23 s", "47 s", "65.0 s", "1 min 40 s", "2 min 05 s", "2 h 01 min"]
    assert [duration(each) for each in seconds] == texts


@pytest.mark.parametrize(
    ("reason", "value", "text"),
    [("''; no limits file expects a value", None, "not set"), ("not set; no limits file", None, "not set"),
     ("'a, b; c', as x expects", None, "a, b; c"), ("True; no", 1.0, "yes"), ("2097152; no", 2097152.0, "2,097,152"),
     ("2,097,152, and x expects 3", 2097152.0, "2,097,152"), ("None; no", None, "not set")],
)  # fmt: skip
def test_a_property_is_shown_as_people_write_it(reason, value, text):
    assert property_text(reason, value) == text


@pytest.mark.parametrize("span", [1e-9, 0.3, 1, 7, 1e12])
def test_ticks_are_round_and_inside(span):
    scale = Scale(-0.31 * span, 0.69 * span, 0, 100)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(scale.has(tick) for tick in ticks)


def test_ticks_are_short():
    texts = [
        tick_text(value, step) for value, step in ((0, 1), (18e6, 2e6), (1.25e9, 5e7), (1250, 250), (0.002, 0.001))
    ]
    assert texts == ["0", "18 M", "1.25 G", "1,250", "0.002"]


def test_a_range_has_all_samples_but_wild_ones_and_near_limits():
    samples = np.concatenate([np.linspace(10, 11, 999), [1e9]])
    low, high = range_of(samples, LimitRecord("p50", min=9, max=500))
    assert low < 9
    assert 11 < high < 20
    low, high = range_of(np.array([5.0, 5.0]), None)
    assert low < 5 < high


def test_every_page_has_its_tables_in_places_that_scroll(tmp_path):
    """`script/docs --check` looks at the same pages in Chromium, 360 to 1,400 pixels wide."""
    for path in write_pages(tmp_path):
        html = path.read_text()
        Page(html)
        assert html.count("<table") == html.count('class="pq-scroll"') >= 1
        assert "display:none" not in html.replace("@media print{.pq-nav{display:none}", "")


def test_the_title_of_an_axis_has_the_end_of_a_long_name():
    assert axis_title("dma.bw", "GB/s") == "dma.bw [GB/s]"
    assert axis_title("a" * 60 + ".65536", "1") == "\u2026" + "a" * 41 + ".65536"
