"""Engines, contexts and tasks."""

from __future__ import annotations

import pydoca
from pydoca import sim
from scenes.stack import Stack, scene


@scene
def engine(stack: Stack) -> object:
    return stack.engine()


@scene
def engine_in_flight(stack: Stack) -> object:
    engine = stack.engine()
    stack.enter_context(pydoca.Rdma(engine, stack.dpu()))
    idle = pydoca.Dma(engine, stack.dpu())
    stack.callback(idle.close)
    stack.held(stack.dma(engine), 3)
    return engine


@scene
def engine_large(stack: Stack) -> object:
    engine, device = stack.engine(), stack.dpu()
    contexts = [pydoca.Dma(engine, device, num_tasks=1) for _ in range(300)]
    stack.callback(contexts.clear)
    return engine


@scene
def engine_closed(stack: Stack) -> object:
    with pydoca.ProgressEngine() as engine:
        return engine


@scene
def dma_idle(stack: Stack) -> object:
    return pydoca.Dma(None, stack.dpu())


@scene
def dma_in_flight(stack: Stack) -> object:
    dma = stack.dma()
    done = stack.copy(dma)
    done.submit()
    done.wait(10)
    stack.held(dma, 20)
    return dma


@scene
def dma_stopping(stack: Stack) -> object:
    dma = stack.dma()
    stack.held(dma, 2)
    dma.stop()
    return dma


@scene
def dma_failed(stack: Stack) -> object:
    dma = stack.dma()
    stack.failed(dma)
    return dma


@scene
def dma_faulted(stack: Stack) -> object:
    dma = stack.dma()
    stack.held(dma)[0]._quarantine()
    return dma


@scene
def dma_closed(stack: Stack) -> object:
    dma = pydoca.Dma(stack.engine(), stack.dpu())
    dma.close()
    return dma


@scene
def sha(stack: Stack) -> object:
    stack.callback(sim.load_topology, sim.topology())
    sim.load_topology(sim.default_topology("bluefield2"))
    return stack.enter_context(pydoca.Sha(stack.engine(), stack.dpu()))


@scene
def mmap_advise(stack: Stack) -> object:
    return stack.enter_context(pydoca.MmapAdvise(stack.engine(), stack.dpu()))


@scene
def task_new(stack: Stack) -> object:
    return stack.copy(stack.dma())


@scene
def task_in_flight(stack: Stack) -> object:
    return stack.held(stack.dma())[0]


@scene
def task_done(stack: Stack) -> object:
    task = stack.copy(stack.dma())
    task.submit()
    task.wait(10)
    return task


@scene
def task_failed(stack: Stack) -> object:
    return stack.failed(stack.dma())


@scene
def task_freed(stack: Stack) -> object:
    task = stack.copy(stack.dma())
    task.free()
    return task
