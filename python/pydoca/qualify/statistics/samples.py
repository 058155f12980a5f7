"""Samples of any origin as an array of finite numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
Samples: TypeAlias = "Array | Iterable[float]"


def as_array(samples: Samples | Any) -> Array:
    """The samples in one dimension, float64. Raises ValueError for a number that is not finite."""
    given = samples if hasattr(samples, "__len__") else list(samples)
    array = np.asarray(given, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"samples: the array has {array.ndim} dimensions; give one number per sample")
    finite = np.isfinite(array)
    if not finite.all():
        index = int(np.argmin(finite))
        raise ValueError(f"samples: sample {index} is {array[index]}; give finite numbers")
    return array
