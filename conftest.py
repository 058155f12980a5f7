"""Lets `pytest --pyargs pydoca.qualify` run in a clone where pytest-timeout is not installed.

pyproject.toml has a setting of that plug-in, and pytest refuses settings that no plug-in knows.
"""

import pytest


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    if not pluginmanager.has_plugin("timeout"):
        parser.addini("timeout", "of pytest-timeout, which is not installed: tests have no time limit")
