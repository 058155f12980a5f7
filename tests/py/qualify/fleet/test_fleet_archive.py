"""The directory of a run on its way from the worker."""

import io
import os
import zipfile

import pytest

from pydoca.qualify.fleet.archive import ArchiveError, pack, unpack


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "run"
    (run / "samples").mkdir(parents=True)
    (run / "state.json").write_text("{}" * 100)
    (run / "samples" / "a.npz").write_bytes(os.urandom(40_000))
    (run / "samples" / "a.csv").write_bytes(os.urandom(40_000))
    (run / "SHA256SUMS").write_text("of this folder")
    return run


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_packed_comes_back(folder, tmp_path):
    data, left_out = pack(folder)
    unpack(data, tmp_path / "back")
    expected = files(folder)
    del expected["SHA256SUMS"]  # made again at the other end
    assert files(tmp_path / "back") == expected
    assert left_out == []


def test_what_finds_no_room_is_named_and_tables_go_first(folder, tmp_path):
    data, left_out = pack(folder, most=60_000)
    assert left_out == ["samples/a.csv"]
    assert len(data) <= 60_000
    data, left_out = pack(folder, most=10_000)
    assert left_out == ["samples/a.npz", "samples/a.csv"]
    assert pack(folder, most_unpacked=50_000)[1] == ["samples/a.csv"]


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "a\\b"])
def test_a_file_outside_of_the_folder_is_refused(name, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, "text")
    with pytest.raises(ArchiveError, match="is called"):
        unpack(packed.getvalue(), tmp_path / "inner" / "back")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_damaged_bytes_and_too_many_are_refused(folder, tmp_path):
    data, _ = pack(folder)
    with pytest.raises(ArchiveError, match="damaged"):
        unpack(data[: len(data) // 2], tmp_path / "back")
    with pytest.raises(ArchiveError, match="larger than"):
        unpack(data, tmp_path / "other", most=1000)
