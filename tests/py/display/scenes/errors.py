"""Errors."""

from __future__ import annotations

import pydoca
from scenes.stack import Stack, scene


@scene
def error(stack: Stack) -> object:
    try:
        pydoca.BufInventory(0)
    except pydoca.DocaError as error:
        return error


@scene
def error_with_task(stack: Stack) -> object:
    task = stack.failed(stack.dma())
    try:
        task.result()
    except pydoca.DocaError as error:
        stack.callback(error.__setattr__, "task", None)
        return error


@scene
def error_with_cause(stack: Stack) -> object:
    try:
        try:
            open("/nowhere/<script>alert(1)</script>").close()
        except OSError as error:
            raise pydoca.NotFoundError("load the file: it is not there; <script>alert(1)</script> make it") from error
    except pydoca.DocaError as error:
        return error
