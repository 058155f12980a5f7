"""Data that makes faults of memory and of links visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Buffer

Bytes = NDArray[np.uint8]


def view(memory: Buffer) -> Bytes:
    """The bytes of memory, as an array that shares them."""
    return np.frombuffer(memoryview(memory).cast("B"), np.uint8)


def zeros(size: int, seed: int = 0) -> Bytes:
    """The bytes 0."""
    return np.zeros(size, np.uint8)


def ones(size: int, seed: int = 0) -> Bytes:
    """The bytes 0xFF."""
    return np.full(size, 0xFF, np.uint8)


def walking(size: int, seed: int = 0) -> Bytes:
    """One bit of each 64 is set, and moves on from word to word."""
    words = np.uint64(1) << ((np.arange(-(-size // 8), dtype=np.uint64) + np.uint64(seed)) % np.uint64(64))
    return words.view(np.uint8)[:size].copy()


def address_in_data(size: int, seed: int = 0) -> Bytes:
    """Each 8 bytes hold their own offset and the seed, which shows data of another place or of another transfer."""
    words = np.arange(0, 8 * -(-size // 8), 8, dtype=np.uint64) | np.uint64((seed & 0xFFFF) << 48)
    return words.view(np.uint8)[:size].copy()


def prbs31(size: int, seed: int = 0) -> Bytes:
    """The pseudo-random bit sequence of x^31 + x^28 + 1, which line tests use (ITU-T O.150).

    The recurrence b[n] = b[n-28] ^ b[n-31] also holds for distances that are multiplied by a power of two, so it also
    holds for whole bytes, and for ever longer pieces of them.
    """
    data = np.empty(max(size, 31), np.uint8)
    data[:31] = _first_bytes(seed)
    scale = 1
    end = 31
    while end < size:
        while 31 * scale * 2 <= end:
            scale *= 2
        count = min(28 * scale, size - end)
        data[end : end + count] = data[end - 28 * scale :][:count] ^ data[end - 31 * scale :][:count]
        end += count
    return data[:size].copy()


def _first_bytes(seed: int) -> Bytes:
    bits = [seed >> shift & 1 for shift in range(30)] + [1]  # a sequence of only zeros would stay zero
    while len(bits) < 31 * 8:
        bits.append(bits[-28] ^ bits[-31])
    return np.packbits(np.array(bits, np.uint8))


def noise(size: int, seed: int = 0) -> Bytes:
    """Random bytes that follow from the seed."""
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


PATTERNS: dict[str, Callable[[int, int], Bytes]] = {
    "zeros": zeros,
    "ones": ones,
    "walking": walking,
    "prbs31": prbs31,
    "address": address_in_data,
}


def numbers(bits: int = 64) -> list[int]:
    """Numbers of up to bits bits: the neighbours of each power of two, and two whose bytes all differ.

    A register that is narrower than it should be, or that takes bytes in another order, changes some of them.
    """
    edges = {(1 << width) + by for width in range(bits + 1) for by in (-1, 0, 1)}
    differing = {int.from_bytes(range(first, first + bits // 8)) for first in (0x01, 0xF1)}
    return sorted(number for number in edges | differing if 0 <= number < 1 << bits)
