"""Creeping latency: the slowdown of a device under load, told apart from the machine's own changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

_WINDOWS = 4  # fewer windows do not show a trend
_SLICES = 32
_FIRST = 8
_CONFIDENCE = 0.99
_FIXED_WORK = range(200)


class Trend:
    """Windows of latencies, each with the time that this thread takes for a fixed computation."""

    samples: list[NDArray[np.float64]]

    def __init__(self) -> None:
        self.samples = []
        self._times: list[float] = []
        self._ratios: list[float] = []

    def run(
        self,
        latencies: Callable[[Callable[[], bool]], Iterator[NDArray[np.float64]]],
        seconds: float,
        must_stop: Callable[[], bool],
    ) -> None:
        """Takes windows of samples; latencies(until) yields them until that function is true."""
        begin = time.monotonic()

        def over() -> bool:
            return must_stop() or (time.monotonic() - begin > seconds and len(self.samples) >= _WINDOWS)

        for window in latencies(over):
            self.samples.append(window)
            self._times.append(time.monotonic() - begin)
            # The quick part of both shows their speed when nothing else delays this thread.
            self._ratios.append(float(np.quantile(window, 0.1)) / _compute(len(window)))

    def growth(self) -> float:
        """The least factor by which an operation takes longer at the end than at the beginning; 1 without a trend.

        It is the lower bound of a line through the logarithms (Theil and Sen), with a confidence of 99 %; single
        windows do not move it.
        """
        slices = self._slices() if self._times else {}
        if len(slices) < _WINDOWS:
            return 1.0
        slopes = stats.theilslopes(list(slices.values()), list(slices), _CONFIDENCE)
        return max(1.0, float(np.exp(slopes.low_slope * (max(slices) - min(slices)))))

    def step(self) -> float:
        """The factor by which an operation takes longer in the second half of the time than in the first windows."""
        if len(self._ratios) < _WINDOWS:
            return 1.0
        late = np.array(self._times) > self._times[-1] / 2
        return float(np.median(np.array(self._ratios)[late]) / np.median(self._ratios[:_FIRST]))

    def _slices(self) -> dict[int, float]:
        """The logarithm of the usual ratio in each of _SLICES parts of the time; a slow device has few windows."""
        times, ratios = np.array(self._times), np.log(self._ratios)
        places = (times / times[-1] * (_SLICES - 1)).astype(int)
        return {int(place): float(np.median(ratios[places == place])) for place in np.unique(places)}


def _compute(times: int) -> float:
    """Nanoseconds of the fixed computation."""
    taken = np.empty(times)
    for index in range(times):
        begin = time.perf_counter_ns()
        sum(_FIXED_WORK)
        taken[index] = time.perf_counter_ns() - begin
    return float(np.quantile(taken, 0.1))
