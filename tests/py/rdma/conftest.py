"""Two contexts of RDMA on the devices under test, in one process."""

import contextlib
import gc
import importlib.machinery
import platform
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pydoca

SYSTEM_PYTHON = "/usr/bin/python3"  # distributions build pyverbs for this interpreter
ANY_ACCESS = "local_read_write|rdma_read|rdma_write|rdma_atomic"


def open_device(name: str, side: str) -> pydoca.Device:
    """The device of that name; "sim" means a function of that side."""
    if name == "sim":
        return pydoca.open_device({"host": "pf0", "dpu": "p1"}[side], side=side)
    return pydoca.open_device(name)


class End:
    """A device with an inventory, and contexts and memory to make on it."""

    def __init__(self, device: pydoca.Device) -> None:
        self.device = device
        self.address = device.info.ipv4_addr
        self.inventory = pydoca.BufInventory(256)

    def rdma(self, pe: pydoca.ProgressEngine, **options: Any) -> pydoca.Rdma:
        usual: dict[str, Any] = {"permissions": "rdma_read|rdma_write|rdma_atomic", "max_num_connections": 4}
        usual["connection_request_timeout"] = 20_000  # ms: a guest has an emulated CPU, and its machine may be loaded
        return pydoca.Rdma(pe, self.device, **{**usual, **options})

    def mmap(self, memory: Any, access: str = ANY_ACCESS) -> pydoca.Mmap:
        return self.device.mmap(memory, access=access)

    def data(self, memory: Any) -> pydoca.Buf:
        """A buf with all of memory as data; memory is a map or bytes."""
        if not isinstance(memory, pydoca.Mmap):
            memory = self.mmap(bytearray(memory))
        return self.inventory.get_by_data(memory)

    def room(self, memory: Any) -> pydoca.Buf:
        """A buf to be filled: all of a map, or new memory of that many bytes."""
        if not isinstance(memory, pydoca.Mmap):
            memory = self.mmap(bytearray(memory))
        return self.inventory.get_by_addr(memory)

    def close(self) -> None:
        with contextlib.suppress(pydoca.DocaError):
            self.device.close()


class Pair:
    def __init__(self, names: tuple[str, str]) -> None:
        self.a = End(open_device(names[0], "host"))
        self.b = End(open_device(names[1], "dpu"))
        self._lent: list[pydoca.Mmap] = []

    def close(self) -> None:
        self._lent.clear()
        self.a.close()
        self.b.close()

    @contextlib.asynccontextmanager
    async def linked(self, **options: Any) -> AsyncIterator[Any]:
        """Both contexts, and the two ends of a connection between them; one engine for all."""
        async with pydoca.ProgressEngine() as pe, self.a.rdma(pe, **options) as a, self.b.rdma(pe, **options) as b:
            ab, ba = a.export(), b.export()
            ab.connect(ba.details)
            ba.connect(ab.details)
            await ab.established()
            await ba.established()
            yield a, b, ab, ba

    def remote(self, memory: pydoca.Mmap) -> pydoca.Mmap:
        """b's memory as a sees it; it stays until the end."""
        self._lent.append(memory)
        return self.a.device.import_mmap(memory.export_rdma())


@pytest.fixture
def pair(rdma_names: tuple[str, str]) -> Iterator[Pair]:
    pair = Pair(rdma_names)
    yield pair
    gc.collect()  # collects the objects that a test has dropped
    pair.close()


@pytest.fixture
def start_program(commands: Any) -> Iterator[Callable[..., Any]]:
    """Starts a program, and kills it after the test."""
    started = []

    def start(*line: object, **options: Any) -> Any:
        started.append(commands.start_program([*map(str, line)], **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def system_pyverbs() -> Path:
    """The distribution's pyverbs."""
    line = [SYSTEM_PYTHON, "-c", "import pyverbs; print(*pyverbs.__path__)"]
    try:
        return Path(subprocess.run(line, capture_output=True, text=True, timeout=100, check=True).stdout.strip())
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.fail(f"pyverbs is not installed for {SYSTEM_PYTHON}: apt-get install python3-pyverbs ({error})")


@pytest.fixture
def pyverbs_path(system_pyverbs: Path, tmp_path: Path) -> Path:
    """A directory for sys.path, in which pyverbs is without the distribution's other packages."""
    if not any((system_pyverbs / f"pd{suffix}").exists() for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        pytest.skip(f"{system_pyverbs} is of another Python than {platform.python_version()}, which these tests run on")
    path = tmp_path / "packages"
    path.mkdir()
    (path / "pyverbs").symlink_to(system_pyverbs)
    return path
