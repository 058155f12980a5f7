"""Limits files: their contents, the one that is in force, and the errors that are refused."""

import datetime

import pytest

from pydoca.qualify.limits import Limits, OwnLimit
from pydoca.qualify.limits.file import LimitsError, read_limits
from pydoca.qualify.limits.match import mismatch
from pydoca.qualify.limits.units import UnitError, convert, unit_of
from qualify.reports.runs import measured

GOOD = """
schema = 1
name = "bluefield3"
[match]
profile = ["bluefield3", "other"]
firmware = ">=32.41,<33"
[defaults]
confidence = 0.9
marginal = 0.02
[limit."dma.bw.*"]
unit = "MB/s"
stat = "p50"
min = 18000
n_min = 30
[limit."dma.bw.65536"]
unit = "GB/s"
min = 20.0
[limit.dma.lat]
unit = "us"
stat = "p99"
max = 6
[expect]
pcie.speed = "32 GT/s"
pcie.width = 16
[waive."comch.rtt"]
reason = "a known defect"
until = 2026-12-31
"""
BEFORE, AFTER = datetime.date(2026, 12, 31), datetime.date(2027, 1, 1)


@pytest.fixture
def write(tmp_path):
    def write(text, name="limits.toml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def limits(write, text, **options):
    return Limits([read_limits(write(text))], **options)


def test_every_key_arrives(write):
    file = read_limits(write(GOOD))
    assert (file.name, file.confidence, file.marginal) == ("bluefield3", 0.9, 0.02)
    assert [each.name for each in file.limits] == ["dma.bw.*", "dma.bw.65536", "dma.lat"]
    assert file.expect == {"pcie.speed": "32 GT/s", "pcie.width": 16}
    assert (file.waivers[0].name, file.waivers[0].until) == ("comch.rtt", BEFORE)


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("[limits]", '[limit."dma.bw.*"]', "unknown key 'limits'; did you mean 'limit'"),
        ("marginl = 0.02", "marginal = 0.02", "unknown key 'marginl'; did you mean 'marginal'"),
        ("minimum = 20.0", "min = 20.0", "limit.dma.bw.65536: unknown key 'minimum'; did you mean 'min'"),
        ('unit = "GB/sec"', 'unit = "GB/s"', None),  # this spelling is known
        ('unit = "Gb/s"', 'unit = "GB/s"', "'Gb/s' is not a unit; did you mean 'GB/s'"),
        ('stat = "p95"', 'stat = "p50"', "'p95' is not a statistic; did you mean 'p9"),
        ("min = '20'", "min = 20.0", "'20' is not a number"),
        ("min = true", "min = 20.0", "True is not a number"),
        ("min = nan", "min = 20.0", "nan is not a number"),
        ("", "min = 20.0", "limit.dma.bw.65536: it has neither min nor max"),
        ("min = 20.0\nmax = 10", "min = 20.0", "its min 20 is above its max 10"),
        ("", 'unit = "GB/s"', "limit.dma.bw.65536: it has no unit"),
        ("n_min = 0", "n_min = 30", "0 is not a count"),
        ("marginal = 2", "marginal = 0.02", "2 is not a fraction from 0 to 1; 2 % is 0.02"),
        ("schema = 2", "schema = 1", "it is 2, and this version of pydoca reads 1"),
        ("", "schema = 1", "schema: it is missing; write schema = 1 at the top"),
        ("until = '2026-12-31'", "until = 2026-12-31", "'2026-12-31' is not a date"),
        ("", 'reason = "a known defect"', "waive.comch.rtt: it has no reason"),
        ('firmware = "32.x"', 'firmware = ">=32.41,<33"', "'32.x' is not a range of versions"),
        ('verndor = "x"', 'firmware = ">=32.41,<33"', "unknown key 'verndor'; did you mean 'vendor'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_the_value_and_the_remedy(write, wrong, right, message):
    path = write(GOOD.replace(right, wrong, 1))
    if message is None:
        read_limits(path)
        return
    with pytest.raises(LimitsError) as error:
        read_limits(path)
    assert str(error.value).startswith(path)
    assert message in str(error.value)


def test_a_file_that_is_not_toml_is_named(write):
    with pytest.raises(LimitsError, match=r"limits\.toml: .*line 2"):
        read_limits(write("schema = 1\nlimit"))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LimitsError, match=r"absent\.toml: the limits file cannot be read: No such file"):
        read_limits(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (1, "GB/s", "MB/s", 1000),
        (1, "GiB/s", "B/s", 1024**3),
        (8, "Gbit/s", "GB/s", 1),
        (1, "ms", "us", 1000),
        (3, "%", "1", 0.03),
        (2, "Mop/s", "op/s", 2e6),
        (1024, "ms/GiB", "ms/MiB", 1),
        (1, "1/s", "1/ms", 0.001),
    ],
)
def test_units_are_converted_within_their_dimension(value, unit, to, expected):
    assert convert(value, unit, to) == pytest.approx(expected)


@pytest.mark.parametrize(("unit", "to"), [("GB/s", "GB"), ("us", "1"), ("op/s", "MB/s"), ("degC", "us")])
def test_units_of_two_dimensions_are_not_mixed(unit, to):
    with pytest.raises(UnitError, match="is a unit of"):
        convert(1, unit, to)


@pytest.mark.parametrize("text", ["", "GB/s/s", "furlong", "GB /s", "T"])
def test_other_words_are_not_units(text):
    with pytest.raises(UnitError, match="is not a unit"):
        unit_of(text)


def test_an_exact_name_wins_over_a_pattern_and_the_limit_has_the_measurements_unit(write):
    table = limits(write, GOOD, today=BEFORE)
    exact = table.limit_of("dma.bw.65536", "MB/s", "p50", OwnLimit())
    pattern = table.limit_of("dma.bw.4096", "GB/s", "mean", OwnLimit())
    assert (exact.min, exact.source) == (20_000, "limits.toml: limit.dma.bw.65536")
    assert (pattern.min, pattern.stat, pattern.n_min, pattern.marginal) == (18, "p50", 30, 0.02)
    assert table.limit_of("other", "us", "p50", OwnLimit()) is None
    assert table.confidence == 0.9


def test_a_limit_in_another_dimension_is_an_error_that_names_both(write):
    with pytest.raises(UnitError, match=r"limit\.dma\.bw\.65536: 'GB/s' is a unit of data per time, and 'us'"):
        limits(write, GOOD).limit_of("dma.bw.65536", "us", "p50", OwnLimit())


def test_a_file_replaces_the_limit_of_the_case_and_a_later_file_an_earlier_one(write):
    own = OwnLimit(min=1, n_min=5)
    first = read_limits(write('schema = 1\n[limit."x"]\nunit = "us"\nmin = 2', "first.toml"))
    second = read_limits(write('schema = 1\n[limit."x"]\nunit = "us"\nmin = 3', "second.toml"))
    assert (Limits().limit_of("x", "us", "p50", own).min, Limits().limit_of("x", "us", "p50", own).source) == (
        1,
        "the case",
    )
    assert Limits([first]).limit_of("x", "us", "p50", own).min == 2
    assert Limits([first, second]).limit_of("x", "us", "p50", own).min == 3
    assert Limits([second, first]).limit_of("x", "us", "p50", own).min == 2


def test_the_marginal_band_of_a_file_is_not_for_the_limits_of_cases(write):
    table = limits(write, GOOD)
    assert table.limit_of("count", "1", "max", OwnLimit(min=8162, max=8162)).marginal == 0
    assert table.limit_of("count", "1", "max", OwnLimit(min=8162, marginal=0.1)).marginal == 0.1


def test_golden_values_narrow_a_limit_and_never_widen_it(write):
    spec = read_limits(write('schema = 1\n[limit."x"]\nunit = "us"\nstat = "p50"\nmin = 2\nmax = 9', "spec.toml"))
    golden = read_limits(write('schema = 1\n[limit."x"]\nunit = "us"\nstat = "p50"\nmin = 1\nmax = 5', "golden.toml"))
    found = Limits([spec], golden).limit_of("x", "us", "p50", OwnLimit())
    assert (found.min, found.max) == (2, 5)
    assert "spec.toml" in found.source
    assert "golden.toml" in found.source
    assert Limits([], golden).limit_of("x", "us", "p50", OwnLimit()).max == 5


def test_a_waiver_holds_until_its_day_and_expired_it_is_a_finding(write):
    text = GOOD.replace('[waive."comch.rtt"]', '[waive."dma.lat"]')
    in_force, expired = limits(write, text, today=BEFORE), limits(write, text, today=AFTER)
    assert in_force.limit_of("dma.lat", "us", "p99", OwnLimit()).waived == "a known defect, until 2026-12-31"
    assert expired.limit_of("dma.lat", "us", "p99", OwnLimit()).waived == ""
    assert not [each for each in in_force.findings(["dma.lat"]) if "expired" in each]
    for name in ("dma.lat", "other"):  # one finding, even if nothing was measured
        (found,) = [each for each in expired.findings([name]) if "waive.dma.lat" in each]
        assert "expired on 2026-12-31" in found


def test_what_meets_no_measurement_is_told(write):
    table, measured = limits(write, GOOD, today=BEFORE), ["dma.bw.4096", "pcie.speed"]
    assert list(table.unjudged(measured)) == ["dma.bw.65536", "dma.lat", "pcie.width"]
    assert [each.split(": ")[1] for each in table.findings(measured)] == ["waive.comch.rtt"]
    assert table.unjudged(["dma.bw.65536", "dma.lat", "pcie.speed", "pcie.width"]) == {}


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        ([], ["dma.bw.65536", "dma.lat", "pcie.width"]),
        (["dma.lat"], ["dma.bw.65536", "pcie.width"]),
        (["dma.*"], ["pcie.width"]),
        (["pcie.width", "dma.*"], []),
        (["*"], []),
        (["dma"], ["dma.bw.65536", "dma.lat", "pcie.width"]),
    ],
)
def test_what_may_judge_nothing_is_given_by_name_or_pattern(write, allowed, left):
    assert list(limits(write, GOOD, today=BEFORE).unjudged(["dma.bw.4096", "pcie.speed"], allowed)) == left


def test_a_name_that_meets_no_measurement_has_the_nearest_one_beside_it(write):
    table = limits(write, GOOD, today=BEFORE)
    measured = ["comch.rtt.64", "dma.lat.64", "xyz", "pcie.with"]
    texts = [*table.unjudged(measured).values(), *table.findings(measured)]
    found = {each.split(": ")[1]: each for each in texts}
    assert found["waive.comch.rtt"].endswith("has that name; the nearest one is 'comch.rtt.64'")
    assert found["expect.pcie.width"].endswith("no case of this run looked at it; the nearest one is 'pcie.with'")
    assert found["limit.dma.lat"].endswith("the nearest one is 'dma.lat.64'")
    assert table.unjudged(["xyz"])["dma.lat"].endswith("has that name")


def test_limits_in_another_dimension_are_told_of_measurements_that_were_made(write):
    table = limits(write, GOOD, today=BEFORE)
    right, wrong = measured("dma.bw.65536", [20.0]), measured("dma.lat", [2.0], unit="GB/s")
    assert table.wrong_units([right]) == []
    (found,) = table.wrong_units([right, wrong, wrong])
    assert "limit.dma.lat: 'us' is a unit of time, and 'GB/s' one of data per time" in found


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"profile": "bluefield3", "firmware": "32.41.1000"}, ""),
        ({"profile": "OTHER", "firmware": "32.99"}, ""),
        ({"profile": "bluefield2", "firmware": "32.41"}, "wants profile 'bluefield3' or 'other', and the device has"),
        ({"profile": "bluefield3", "firmware": "33.0"}, "wants firmware '>=32.41,<33', and the device has '33.0'"),
        ({"profile": "bluefield3"}, "firmware '>=32.41,<33', which is not known of this device"),
        ({"profile": "bluefield3", "firmware": "new"}, "and the device has 'new'"),
    ],
)
def test_a_file_is_for_the_devices_that_it_matches(write, facts, why):
    found = mismatch(read_limits(write(GOOD)), facts)
    assert (why in found) if why else found == ""


def test_a_file_for_another_device_is_refused_unless_it_is_forced(write):
    path = write(GOOD)
    with pytest.raises(LimitsError, match=r"is not for this device.*--pydoca-limits-force"):
        Limits.load([path], None, {"profile": "bluefield2"})
    assert Limits.load([path], None, {"profile": "bluefield2"}, force=True).confidence == 0.9
