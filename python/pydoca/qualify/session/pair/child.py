"""The program of a pair's process: it answers calls until its parent is gone."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pickle
import sys
import traceback
import types
from multiprocessing.connection import Client, Connection
from operator import attrgetter
from typing import Any


def serve(address: str, key: bytes, every_side: bool) -> None:
    """Runs one function after the other, in this thread, as contexts belong to one."""
    if every_side:
        os.environ.pop("PYDOCA_SIDE", None)  # devices of rdma-core have no sides
    with Client(address, "AF_UNIX", authkey=key) as parent:
        while (request := _next(parent)) is not None:
            _send(parent, _answer(request))


def _next(parent: Connection) -> Any:
    try:
        return parent.recv()
    except (EOFError, ConnectionResetError):
        return None


def _send(parent: Connection, answer: tuple[Any, ...]) -> None:
    try:
        parent.send_bytes(pickle.dumps(answer))
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        parent.send_bytes(pickle.dumps(_failure(TypeError(f"the result cannot be pickled for the case: {error}"))))


def _answer(request: tuple[str, str, str, bytes]) -> tuple[Any, ...]:
    module, file, name, arguments = request
    try:
        function = attrgetter(name)(_import(module, file))
        result = function(*pickle.loads(arguments))
        if inspect.iscoroutine(result):
            import asyncio

            result = asyncio.run(result)
        return (True, result)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return _failure(error)


def _failure(error: BaseException) -> tuple[Any, ...]:
    text = "".join(traceback.format_exception(error))
    summary = "".join(traceback.format_exception_only(error)).strip().splitlines()
    try:
        pickle.loads(pickle.dumps(error))
        cause: BaseException | None = error
    except Exception:
        cause = None
    return (False, summary[0] if summary else type(error).__name__, text, cause)


def _import(name: str, file: str) -> types.ModuleType:
    """The module by its name; pytest may have imported a test's module from its file, by a name that no path has."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ImportError:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
