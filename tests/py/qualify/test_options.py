"""The values of the options of `pydoca qualify`: numbers and times have a range, texts and paths are UTF-8."""

import pytest

from pydoca.cli._parser import parse
from pytest_pydoca.options import MOST_REPEATS, OPTIONS, count, duration, seed

LONG = "9" * 5000  # more digits than int() takes
BYTES = "caf\udce9"  # the interpreter gives a byte that is not UTF-8 in this form


def refused(capsys, *words) -> str:
    with pytest.raises(SystemExit) as end:
        parse(["qualify", *words])
    assert end.value.code == 4
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--wait", "9" * 20], f"--wait: '{'9' * 20}' is out of range: write more than 0, and at most 365d, as in 90s"),
        (["--duration", "366d"], "--duration: '366d' is out of range: write more than 0, and at most 365d"),
        (["--duration", LONG], f"'{LONG[:40]}...' is out of range"),
        (["--duration", "0"], "'0' is out of range: write more than 0"),
        (["--fleet", "--patience", "9" * 20], "--patience: '99999999999999999999' is out of range"),
        (["--repeat", "1000001"], "--repeat: '1000001' is not a count: write a whole number from 1 to 1000000"),
        (["--repeat", LONG], f"'{LONG[:40]}...' is not a count"),
        (["--seed", str(1 << 64)], f"'{1 << 64}' is not a seed: write a whole number from 0 on, below 2**64"),
        (["--seed", LONG], f"'{LONG[:40]}...' is not a seed"),
        (["-n", "257"], "-n 257: write a number of processes up to 256, or auto"),
        (["-n", LONG], "write a number of processes up to 256, or auto"),
        (["--fleet", "-n", "0"], "-n 0: with --fleet, write a number of worker processes from 1 to 256"),
        (["train", "a", "--out", "x", "--least", LONG], "is not a count: write a whole number from 1 to 1000000"),
        (["study", "repeatability", "a", "--tolerance", "1001%"], "'1001%' is not a percentage: write 0% to 1000%"),
    ],
)
def test_a_number_out_of_its_range_is_refused_with_the_range(capsys, words, says):
    assert says in refused(capsys, *words)


def test_the_ends_of_the_ranges_are_taken():
    assert [duration(text) for text in ("365d", "0.001s", "90", "10 min", "8h")] == [31_536_000, 0.001, 90, 600, 28_800]
    assert (count("0001"), count(str(MOST_REPEATS)), seed("0" * 5000), seed(str((1 << 64) - 1))) == (
        1, MOST_REPEATS, 0, (1 << 64) - 1,
    )  # fmt: skip


TEXTS = [[f"--{each.name}", BYTES] for each in OPTIONS if each.metavar and each.name not in ("device", "select")]


@pytest.mark.parametrize(
    "words", [[BYTES], ["--tests", BYTES], ["--select", BYTES], *TEXTS], ids=lambda words: words[0]
)
def test_bytes_that_are_not_utf8_are_refused_in_each_text_and_path(capsys, words):
    error = refused(capsys, *words)
    assert "udce9" in error
    assert "is not UTF-8" in error or "write" in error or "is not a" in error  # the last two are for other values


def test_a_number_of_a_device_is_as_long_as_it_likes(runs):
    result = runs.run(body="def test_it(pydoca_device): pass\n", device=f"sim:{LONG}")
    assert result.ret == 4
    assert "there is no device 'sim:99999" in result.stderr.str()
