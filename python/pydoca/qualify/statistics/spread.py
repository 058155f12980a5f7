"""The spread of samples, by numbers that a few outliers do not move."""

from __future__ import annotations

import numpy as np

from pydoca.qualify.statistics.samples import Array, Samples, as_array

_BEYOND = 3.5  # robust sigmas (Iglewicz and Hoaglin): about one of 2,000 normal samples
_OF_MEDIAN, _OF_MEAN = 1.4826, 1.2533  # a normal distribution's sigma, as multiples of its deviations


def robust_sigma(samples: Samples) -> float:
    """The sigma, from the median of the deviations; from their mean when more than half of the samples are equal."""
    array = as_array(samples)
    deviations = _deviations(array)
    if not len(deviations):
        return 0.0
    if (middle := float(np.median(deviations))) > 0:
        return _OF_MEDIAN * middle
    return _OF_MEAN * float(deviations.mean())


def outliers(samples: Samples) -> int:
    """How many samples lie farther from the median than 3.5 robust sigmas. They are counted, never left out."""
    array = as_array(samples)
    return int((_deviations(array) > _BEYOND * robust_sigma(array)).sum())


def _deviations(array: Array) -> Array:
    return np.abs(array - np.median(array)) if len(array) else array
