"""The plug-in's sentence for tests that are coroutine functions, where nothing runs them."""

import importlib.util

import pytest

pytest_plugins = ["pytester"]

USING = "import pydoca\nasync def test_it(): await pydoca.nothing()\n"
USES = {
    "a module that imports pydoca": USING,
    "a name of pydoca": "from pydoca import open_device as o\nasync def test_it(): o()\n",
    "an import in the test": "import pydoca as p\ndel p\nasync def test_it():\n    import pydoca\n    pydoca.x\n",
    "a fixture": "async def test_it(pydoca_faults): pass\n",
}


def run(pytester: pytest.Pytester, text: str, *words: str) -> str:
    pytester.makepyfile(text)
    line = ["-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:anyio", "-p", "no:hypothesispytest", *words]
    result = pytester.runpytest_subprocess(*line, timeout=150)
    return str(result.stdout)


@pytest.mark.parametrize("use", USES)
def test_the_message_says_what_to_install(pytester, use):
    output = run(pytester, USES[use])
    assert "async def functions are not natively supported" in output
    assert 'pydoca: to await in tests, install pytest-asyncio and set asyncio_mode = "auto"' in output
    assert "1 failed" in output


def test_tests_of_other_libraries_have_pytests_message_alone(pytester):
    output = run(pytester, "async def test_it(): pass\n")
    assert "async def functions are not natively supported" in output
    assert "pydoca" not in output.partition("FAILURES")[2]


PLUGIN = """
import inspect
import pytest

class Plugin:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        if pyfuncitem.get_closest_marker("{name}"):
            import asyncio
            asyncio.run(pyfuncitem.obj())
            return True

def pytest_configure(config):
    config.addinivalue_line("markers", "{name}: of the plug-in")
    config.pluginmanager.register(Plugin(), "{name}")
"""

MARKED = """
import pytest
import pydoca

@pytest.mark.{name}
async def test_it():
    async with pydoca.ProgressEngine():
        pass

async def test_without_the_mark(): pass
"""


@pytest.mark.parametrize("name", ["asyncio", "anyio"])
def test_with_a_plugin_the_message_names_its_mark(pytester, name):
    """The test brings its own plug-in under the real plug-in's name, so the real one need not be installed."""
    pytester.makeconftest(PLUGIN.format(name=name))
    pytester.makepyfile(MARKED.format(name=name))
    blocked = {"asyncio": "pytest_asyncio", "anyio": "anyio.pytest_plugin"}
    line = ["-p", "no:cacheprovider", *(f"-pno:{plugin}" for plugin in blocked.values())]
    result = pytester.runpytest_subprocess(*line, "--disable-plugin-autoload", "-p", "pytest_pydoca.plugin", timeout=99)
    result.assert_outcomes(passed=1, failed=1)
    assert f"with @pytest.mark.{name}" in str(result.stdout)


@pytest.mark.skipif(importlib.util.find_spec("pytest_asyncio") is None, reason="pytest-asyncio is not installed")
def test_pytest_asyncio_runs_the_tests(pytester):
    pytester.makepyfile("import pydoca\nasync def test_it():\n    async with pydoca.ProgressEngine(): pass\n")
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "asyncio_mode=auto", timeout=150).assert_outcomes(
        passed=1
    )
