"""pyright finds the faults that are planted here, and none in good programs."""

import pytest

import typed_package
import typed_programs

pytest.importorskip("basedpyright", reason="script/lint installs it")
pytestmark = pytest.mark.slow

GOOD = {
    "good": "import pydoca\n\ninventory = pydoca.BufInventory(2)\n",
    "good_cell": "# a cell\nimport asyncio\n\nawait asyncio.sleep(0)\n",
    "good_test": "def test_it(pydoca_measure):\n    with pydoca_measure('x', unit='us') as it:\n        it.add(1)\n",
    "good_pyverbs": """
from pyverbs.pd import PD
from pydoca import rdma_bridge

def open_it(pd: PD) -> None:
    rdma_bridge.open_dev_from_pd(pd).close()
""",
}
BAD = {
    "bad_argument": "import pydoca\n\ninventory = pydoca.BufInventory('two')\n",
    "bad_cell": "# a cell\nimport asyncio\n\nawait asyncio.sleep('long')\n",
    "bad_list": "found = []\nadd = lambda: found.append(1)\n",
    "bad_parameter": "def twice(number):\n    return 2 * number\n",
    "bad_pyverbs": """
from pyverbs.pd import PD
from pydoca import rdma_bridge

rdma_bridge.open_dev_from_pd(PD()).nothing()
""",
    "bad_test": "import pydoca\n\ndef test_it(pydoca_device):\n    pydoca.BufInventory('two')\n",
    "bad_unbound": """
import pydoca

async def accept(listener: pydoca.RdmaListener) -> None:
    async for request in listener:
        peer = await request.accept()
        break
    await peer.ended()
""",
}


def test_programs_with_faults_are_named(tmp_path, capfd):
    typed_programs.write(tmp_path, {**GOOD, **BAD}.items())
    assert typed_programs.check_with_pyright(tmp_path) == 1
    output, _ = capfd.readouterr()
    assert {name for name in {**GOOD, **BAD} if f"/{name}.py:" in output} == set(BAD), output


def test_good_programs_pass(tmp_path):
    typed_programs.write(tmp_path, GOOD.items())
    assert typed_programs.check_with_pyright(tmp_path) == 0


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("class Box:\n    def __init__(self) -> None:\n        self.found: list[int] = [1]\n", []),
        ("class Box:\n    def __init__(self) -> None:\n        self._found = [1]\n", []),
        ("class Box:\n    def __init__(self) -> None:\n        self.found = [1]\n", [":3: Type is missing"]),
        (
            "def twice(n):\n    return 2 * n\n",
            [":1: Type annotation for parameter", ":1: Return type annotation is missing"],
        ),
    ],
    ids=["declared", "private", "inferred", "untyped"],
)
def test_a_public_name_without_a_type_is_a_fault(tmp_path, source, faults):
    package = tmp_path / "planted"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    (package / "py.typed").touch()
    found = list(typed_package.faults_in(typed_package.report_of("planted", tmp_path)))
    assert len(found) == len(faults), found
    assert all(words in fault for fault, words in zip(found, faults, strict=True)), found


def test_a_package_without_the_mark_of_types_is_a_fault(tmp_path):
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted/__init__.py").write_text("number: int = 1\n")
    report = typed_package.report_of("planted", tmp_path)
    assert [fault.strip(": ") for fault in typed_package.faults_in(report)] == ["No py.typed file found"]
