"""How long samples remember: the length of the blocks that the bootstrap draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from pydoca.qualify.statistics.samples import Array, Samples, as_array


def block_length(samples: Samples) -> int:
    """The length of blocks that keeps the samples' correlation: Politis and White's rule (2004, corrected 2009)."""
    array = as_array(samples)
    size = len(array)
    if size < 10 or array.min() == array.max():
        return 1
    run = max(5, int(np.ceil(np.sqrt(np.log10(size)))))
    most = int(np.ceil(np.sqrt(size))) + run
    covariances = _autocovariances(array, min(most + run, size - 1))
    memory = _memory(covariances / covariances[0], size, run, most)
    lags = np.arange(min(2 * memory, len(covariances) - 1) + 1)
    # The flat-top window: all of the near lags, and less and less of those beyond.
    weights = np.clip(2 * (1 - lags / max(2 * memory, 1)), 0, 1) * covariances[lags]
    spectrum = weights[0] + 2 * weights[1:].sum()
    slope = 2 * (lags[1:] * weights[1:]).sum()
    if spectrum <= 0:
        return 1
    length = (1.5 * (slope / spectrum) ** 2 * size) ** (1 / 3)
    return int(np.clip(np.ceil(length), 1, max(1, min(3 * np.sqrt(size), size / 3))))


def _autocovariances(array: Array, lags: int) -> Array:
    """The autocovariances at the lags 0 to lags, by the transform of the padded samples."""
    size = len(array)
    padded = 1 << (2 * size - 1).bit_length()
    spectrum: Any = np.fft.rfft(array - array.mean(), padded)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, padded)[: lags + 1] / size)


def _memory(correlations: Array, size: int, run: int, most: int) -> int:
    """The lag after which so many correlations in a row are indistinguishable from 0."""
    small = np.abs(correlations[1:]) < 2 * np.sqrt(np.log10(size) / size)
    for lag in range(min(most, len(small) - run) + 1):
        if small[lag : lag + run].all():
            return lag
    return most
