"""script/includes.py finds a class whose header a file does not include, and complains of nothing else."""

from pathlib import Path

import pytest

import includes

HEADERS = {
    "apple.hpp": "struct Apple {};\n",
    "basket.hpp": '#include "apple.hpp"\nstruct Basket { Apple first; };\nclass Pear;\n',
    "pear.hpp": "class Pear {};\nclass Stone { class Part; };\n",
}


def complaints(folder: Path, source: str) -> list[str]:
    for name, text in {**HEADERS, "source.cpp": source}.items():
        (folder / name).write_text(text)
    return list(includes.missing(sorted(folder.iterdir())))


def test_a_missing_include_is_named(tmp_path):
    assert complaints(tmp_path, '#include "pear.hpp"\nApple apple;\n') == [
        f"{tmp_path}/source.cpp: error: does not include apple.hpp, which declares Apple"
    ]


@pytest.mark.parametrize(
    "source",
    [
        '#include "apple.hpp"\nApple apple;\n',
        '#include "basket.hpp"\nApple apple;\n',
        '#include "basket.hpp"\nvoid eat(Pear& pear);\n',
        '// Apple\nconst char* text = "Apple";\n',
        "template <class... Apple> void eat(Apple... all);\n",
        "void eat() { basket.Apple(); }\n",
    ],
    ids=["included", "by another header", "declared by another header", "not code", "a name of its own", "a member"],
)
def test_nothing_else_is(tmp_path, source):
    assert complaints(tmp_path, source) == []
