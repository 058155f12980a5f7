"""The qualification tests the device, as its user starts it."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.verbs


@pytest.mark.timeout(900)  # a guest on a busy machine takes five minutes and more
def test_its_rdma_passes_the_qualification(rdma_names, patience, tmp_path):
    device, peer = rdma_names
    if device == peer and "PYDOCA_RDMA_LAB" in os.environ:
        pytest.skip("the guest with a pair of devices runs it, and this one would take a minute more")
    line = [sys.executable, "-P", "-m", "pydoca", "qualify", device, "--peer", peer, "--level", "smoke"]
    line += ["--select", "RDMA-*", "--out", str(tmp_path)]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=4 * patience, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = tmp_path.glob("*/state.json")
    state = json.loads(path.read_text())
    assert (state["run"]["verdict"], state["run"]["device"]["backend"]) == ("PASS", "verbs")
    cases = {case["id"]: case["verdict"] for case in state["cases"]}
    assert set(cases.values()) == {"PASS"}, cases
    assert cases.keys() >= {"RDMA-1", "RDMA-2", "RDMA-3", "RDMA-5", "RDMA-6", "RDMA-7", "RDMA-8"}
