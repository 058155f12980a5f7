"""Comch and RDMA."""

from __future__ import annotations

import contextlib
import secrets

import pydoca
from scenes.stack import Stack, scene


@scene
def comch_server(stack: Stack) -> object:
    return stack.linked()[0]


@scene
def comch_client(stack: Stack) -> object:
    return stack.linked()[2].client


@scene
def comch_connection(stack: Stack) -> object:
    _, there, here = stack.linked()
    for message in (b"one", b"two", b"three"):
        there.send(message).wait(10)
    here.recv().wait(10)
    return here


@scene
def comch_connection_ended(stack: Stack) -> object:
    _, there, here = stack.linked()
    there.close()
    with contextlib.suppress(pydoca.ConnectionResetError):
        here.recv().wait(10)
    return here


@scene
def rdma(stack: Stack) -> object:
    return stack.connected()[0].rdma


@scene
def rdma_connection(stack: Stack) -> object:
    return stack.connected()[0]


@scene
def rdma_connection_exported(stack: Stack) -> object:
    return stack.rdma().export()


@scene
def rdma_connection_ended(stack: Stack) -> object:
    here, there = stack.connected()
    there.disconnect()
    here.ended().wait(10)
    return here


@scene
def rdma_listener(stack: Stack) -> object:
    return stack.enter_context(stack.rdma().listen(20_000 + secrets.randbelow(40_000)))


@scene
def rdma_task(stack: Stack) -> object:
    return stack.connected()[0].send(stack.inventory().get_by_data(stack.mmap(), None, 100), submit=False)
