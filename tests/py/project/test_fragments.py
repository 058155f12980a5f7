"""script/fragments.py finds comments and docstrings that begin with a preposition, and lets whole sentences pass."""

import pytest

import fragments


def found_in(folder, name, text):
    path = folder / name
    path.write_text(text)
    return [(comment.line, comment.text) for comment in fragments.comments_of(path) if comment.is_fragment]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.py", '"""Of the process."""\n', (1, "Of the process.")),
        ("a.py", "SIZE = 1  # in bytes\n", (1, "in bytes")),
        ("a.py", "class A:\n    size: int\n    '''By its name.'''\n", (3, "By its name.")),
        ("a.hpp", "int size;  ///< also of what is empty\n", (1, "also of what is empty")),
        ("a.cpp", "/**\n * Before the start.\n */\nint size;\n", (1, "Before the start.")),
        ("a.cpp", "int size = 1'000;  // of 'a' and 'b'\n", (1, "of 'a' and 'b'")),
        ("a.sh", "# To the end\n", (1, "To the end")),
        ("a.sh", "wait # until the end\n", (1, "until the end")),
        ("a.py", "# Of two lines,\n# the second one belongs to the first.\n", (1, None)),
        ("a.py", "# As DOCA does, or not.\n", (1, None)),
    ],
)
def test_a_fragment_is_found(tmp_path, name, text, found):
    ((line, words),) = found_in(tmp_path, name, text)
    assert (line, words if found[1] else None) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""The id of the process."""\n'),
        ("a.py", "# After start, the engine allocates nothing.\n"),
        ("a.py", "# The size\n# in bytes.\n"),
        ("a.py", "# At most 512 bytes.\n"),
        ("a.py", "# One of them.\n"),
        ("a.py", "# in-flight tasks\n"),
        ("a.py", 'TEXT = "# of the process"\n'),
        ("a.cpp", 'const char* text = "// of the process";\n'),
        ("a.cpp", 'const char* text = R"(// of the process)";\n'),
        ("a.sh", "#!/usr/bin/env bash\necho $# of\n"),
    ],
)
def test_another_comment_is_not(tmp_path, name, text):
    assert found_in(tmp_path, name, text) == []
