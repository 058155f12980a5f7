"""Tests that are coroutine functions: where no plug-in runs them, pytest's message gets a sentence of what to do."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator

import pytest

_REFUSAL = "async def functions are not natively supported"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    try:
        return (yield)
    except (pytest.fail.Exception, pytest.skip.Exception) as refusal:
        if _REFUSAL in str(refusal.msg) and _uses_pydoca(pyfuncitem):
            refusal.msg = f"{refusal.msg}\n{_remedy(pyfuncitem.config)}"
        raise


def _uses_pydoca(item: pytest.Function) -> bool:
    """Whether a test uses pydoca: a fixture, or a name of its module or of itself."""
    if any(name.startswith("pydoca_") for name in item.fixturenames):
        return True
    code = getattr(inspect.unwrap(item.obj), "__code__", None)
    names = {*getattr(code, "co_names", ()), *getattr(code, "co_varnames", ())}
    return "pydoca" in sys.modules and ("pydoca" in names or any(map(_is_pydocas, vars(item.module).values())))


def _is_pydocas(value: object) -> bool:
    name = getattr(value, "__name__" if inspect.ismodule(value) else "__module__", None)
    return isinstance(name, str) and (name == "pydoca" or name.startswith("pydoca."))


def _remedy(config: pytest.Config) -> str:
    plugins = config.pluginmanager
    if plugins.has_plugin("asyncio"):
        return (
            "pydoca: pytest-asyncio runs this test with @pytest.mark.asyncio, or with "
            'asyncio_mode = "auto" in the configuration of pytest.'
        )
    if plugins.has_plugin("anyio"):
        return (
            "pydoca: anyio runs this test with @pytest.mark.anyio and a fixture anyio_backend that returns "
            '"asyncio"; or install pytest-asyncio, and set asyncio_mode = "auto".'
        )
    return (
        'pydoca: to await in tests, install pytest-asyncio and set asyncio_mode = "auto" in the configuration of '
        "pytest, or install anyio and mark the test with @pytest.mark.anyio; or call asyncio.run() in a plain test."
    )
