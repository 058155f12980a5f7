"""The names of pytest that are not public stand here, and nowhere else; tests call each one."""

from __future__ import annotations

import pytest


def renew(item: pytest.Item) -> None:
    """Gives an item that has run what a new one has, without the values of its fixtures."""
    if isinstance(item, pytest.Function) or hasattr(item, "_initrequest"):  # other items need not have fixtures
        item._initrequest()


def fault_of_expression(text: str) -> str:
    """What is wrong with an expression for -k; empty where nothing is."""
    from _pytest.mark.expression import Expression

    try:
        Expression.compile(text)
    except SyntaxError as error:
        return error.msg
    except Exception as error:  # pytest's ParseError in its older versions
        return str(getattr(error, "message", error))
    return ""
