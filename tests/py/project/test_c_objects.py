"""The objects of the C API have different names, and different tags, by which a function knows their kind."""

import re
from pathlib import Path

CAPI = Path(__file__).resolve().parents[3] / "cpp/capi/src"
SIZE = 40  # bytes of a Noun


def nouns() -> list[str]:
    text = "\n".join(path.read_text() for path in sorted(CAPI.rglob("*.[ch]pp")))
    return re.findall(r'^struct doca_\w+ : [\w:]*(?:Handle|Library)<"([^"]+)"', text, re.M)


def tag_of(noun: str) -> int:
    """The bits that base/handle.hpp makes of a name: FNV-1a."""
    value = 2166136261
    for byte in noun.encode().ljust(SIZE, b"\0"):
        value = ((value ^ byte) * 16777619) & 0xFFFF_FFFF
    return (value >> 16) & 0x7FFF


def test_every_kind_has_a_name_of_its_own():
    found = nouns()
    assert len(found) == len(set(found)) >= 8


def test_every_kind_has_a_tag_of_its_own():
    tags = {noun: tag_of(noun) for noun in nouns()}
    assert len(set(tags.values())) == len(tags), tags


def test_the_tag_is_that_of_the_library():
    """The value that a compiler made of "progress engine"."""
    assert tag_of("progress engine") == 0x36A7
