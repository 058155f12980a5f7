"""A kernel for the tests of a module."""

import secrets
from collections.abc import Iterator

import pytest

from kernel import SETUP, Kernel, files_left, require_no_process


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel. Its end leaves no processes, and no files once another process has swept the fabric."""
    directory, fabric = tmp_path_factory.mktemp("jupyter"), f"kernel-{secrets.token_hex(6)}"
    with Kernel(directory, fabric) as kernel:
        ran = kernel.run("%load_ext pydoca\n" + SETUP)
        assert ran.error == "", ran.traceback
        yield kernel
    require_no_process(fabric)
    assert files_left(directory, fabric) == []
