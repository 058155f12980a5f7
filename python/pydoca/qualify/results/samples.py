"""The raw samples of a run: NumPy's format for programs, text for everything else."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from pydoca.qualify.results.files import replace_file
from pydoca.qualify.statistics.samples import Array


def write_samples(folder: Path, name: str, array: Any, *, warmup: int = 0, unit: str = "") -> str:
    """The name of the files in the folder, without suffix; a second series of a name gets a number."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = _free(folder, file_name(name))
    samples = np.asarray(array, dtype=np.float64)
    packed = io.BytesIO()
    np.savez_compressed(packed, samples=samples, warmup=np.int64(warmup), unit=np.str_(unit), name=np.str_(name))
    replace_file(folder / f"{stem}.csv", _csv(samples, warmup))
    replace_file(folder / f"{stem}.npz", packed.getvalue())  # written last: its name is taken from here on
    return stem


def read_samples(folder: Path, stem: str) -> tuple[Array, int]:
    """All samples in their order, and how many of them are of the warm-up."""
    with np.load(folder / f"{stem}.npz", allow_pickle=False) as packed:
        return np.asarray(packed["samples"], dtype=np.float64), int(packed["warmup"])


def file_name(name: str) -> str:
    """The name in letters, digits, dots and dashes, which every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")[:120] or "samples"


def _free(folder: Path, stem: str) -> str:
    taken = (folder / f"{stem}.npz").exists()
    number = 2
    while taken and (folder / f"{stem}-{number}.npz").exists():
        number += 1
    return f"{stem}-{number}" if taken else stem


def _csv(samples: Array, warmup: int) -> str:
    rows = (f"{index},{value!r},{int(index < warmup)}\n" for index, value in enumerate(samples.tolist()))
    return "".join(["index,value,warmup\n", *rows])
