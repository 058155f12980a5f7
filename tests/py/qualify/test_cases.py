"""The cases as a whole: their markers, and the page that lists them."""

from qualify import tables
from qualify.case_table import FOLDER, case_table

CASES = case_table()
LEVELS = {"smoke", "quick", "full", "soak"}


def test_the_page_has_the_cases_and_the_planted_defects_that_there_are():
    assert tables.PAGE.read_text() == tables.page(), "run tests/py/qualify/tables.py"


def test_each_case_has_a_title_and_levels():
    for case in CASES.values():
        assert case.title, case.id
        assert not case.title.endswith("."), case.id
        assert case.levels, case.id
        assert set(case.levels) <= LEVELS, case.id


def test_every_group_of_the_reference_has_cases():
    groups = {id.split("-")[0] for id in CASES}
    wanted = "CTX OBJ API INV CAP MEM BUF DMA SHA CMP SYN COM GRF PE NEG FLT LNK ENV CON SOAK RND RDMA"
    assert groups == set(wanted.split())


def test_cases_of_hardware_say_so():
    for id in ("INV-2", "INV-3", "LNK-1", "LNK-2", "ENV-1", "ENV-2", "FLT-3", "FLT-4", "SOAK-2", "RDMA-PT"):
        assert "hardware" in CASES[id].needs, id
    assert "program:ib_write_bw" in CASES["RDMA-PT"].needs


def test_a_smoke_case_is_one_of_quick_and_full_too():
    for case in CASES.values():
        if "smoke" in case.levels:
            assert {"quick", "full"} <= set(case.levels), case.id


def test_a_folder_of_cases_has_no_file_without_one():
    files = {path.name for path in FOLDER.glob("test_*.py")}
    assert files == {case.file for case in CASES.values()}
