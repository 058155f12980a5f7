"""The DPA: kernels of Python on threads of a simulated device."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import suppress
from types import TracebackType
from typing import Any

from pydoca import _core
from pydoca._callbacks import require_plain_function
from pydoca._errors import AlreadyExistError, BadStateError, DocaError, InvalidValueError, IoFailedError, NotFoundError

Kernel = Callable[..., object]

_LOOK = 1000  # nanoseconds of virtual time between two looks at whether a run is done

_alive: weakref.WeakSet[Dpa] = weakref.WeakSet()


class DpaRun:
    """One launch of a kernel, made by `Dpa.launch()` and `Dpa.thread()`. `await run`, or `run.wait()`."""

    def __init__(self, dpa: Dpa, launch: _core.DpaLaunch, kernel: str) -> None:
        self._dpa, self._launch, self._kernel = dpa, launch, kernel
        self._ends: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def wait(self, timeout: float | None = None) -> None:
        """Waits until all threads are done. timeout in seconds (TimeOutError). Ctrl-C ends it.

        Raises IoFailedError when a kernel has failed; its cause is the kernel's exception. ShutdownError when the DPA
        was stopped before, DriverError when the device was removed, and what the wait event answered.
        """
        try:
            self._launch.wait(timeout)
        except IoFailedError as error:
            raise error from self._dpa._error

    @property
    def done(self) -> bool:
        """Whether all threads have ended."""
        if not self._launch.done and _core.virtual_time_is_on():
            _core.virtual_time_wait(-1, _core.virtual_time_now() + _LOOK)  # the threads may run during this wait
        return self._launch.done

    def notify(self) -> None:
        """Wakes a thread of `Dpa.thread()`; from any thread, such as a task's callback (doca_dpa_dev_thread_notify)."""
        self._launch.notify()

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio

        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def settle() -> None:
            if not ended.done():
                ended.set_result(None)

        def end() -> None:
            loop.call_soon_threadsafe(settle)

        self._call_at_end(end)
        try:
            yield from ended
        finally:
            self._forget(end)
        self.wait(0)

    def _call_at_end(self, end: Callable[[], object]) -> None:
        with self._lock:
            if not (self._launch.done or self._dpa.failure):
                self._ends.append(end)
                return
        end()

    def _forget(self, end: Callable[[], object]) -> None:
        with self._lock:
            if end in self._ends:
                self._ends.remove(end)

    def _end(self) -> None:
        with self._lock:
            ends, self._ends = self._ends, []
        for end in ends:
            with suppress(RuntimeError):  # its loop is closed
                end()

    def _execute(self, rank: int, kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        """Runs the kernel in one of the threads."""
        if _core.virtual_time_is_on():
            _core.virtual_time_join()
            self._run_kernel(rank, kernel, arguments)
            _core.virtual_time_leave()
        else:
            self._run_kernel(rank, kernel, arguments)

    def _run_kernel(self, rank: int, kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        """No frame of the engine lies below the kernel's, so that the interpreter may end beside it."""
        thread = self._launch.thread(rank)
        try:
            while self._launch.next_turn(thread):
                kernel(thread, *arguments)
        except BaseException as error:
            self._dpa._note(error)
            self._launch.fail(thread, f"{type(error).__name__}: {error}")
        self._launch.end(thread)
        if self._dpa.failure is not None:
            self._dpa._end_all()
        elif self._launch.done:
            self._end()

    def __repr__(self) -> str:
        state = "done" if self._launch.done else "running"
        return f"<pydoca.DpaRun of {self._kernel!r} on {self._dpa.device.name}, {state}>"


class Dpa(_core.DpaEngine):
    """The data-path accelerator of a simulated device: threads that run kernels, functions of this program (doca_dpa).

    ::

        with pydoca.Dpa(dev) as dpa:
            dpa.register("reply", reply)
            with pydoca.SyncEvent(dev, subscriber=dpa) as request, pydoca.SyncEvent(dev, publisher=dpa) as answer:
                run = dpa.launch("reply", request.dpa_handle(dpa), answer.dpa_handle(dpa))

    A kernel is called with its `DpaThread`, then the arguments of the launch: handles of sync events
    (`SyncEvent.dpa_handle`), memory (`Dpa.memory`), anything else. It runs in a thread of its own, and other code runs
    while it sleeps in a wait. A kernel that raises leaves the DPA in a fatal error state: `failure` says why, launches
    raise BadStateError, and what waits for the DPA - runs, and events that it publishes - raises IoFailedError.

    Raises NotSupportedError when the device has no DPA (a BlueField-2, or a device of rdma-core).
    """

    def __init__(self, dev: _core.Device) -> None:
        super().__init__(dev)
        self._kernels: dict[str, Kernel] = {}
        self._error: BaseException | None = None
        self._runs: weakref.WeakSet[DpaRun] = weakref.WeakSet()
        _alive.add(self)

    def register(self, name: str, kernel: Kernel) -> None:
        """Gives a function the name by which it is launched. Raises AlreadyExistError where another has it."""
        if not name or not callable(kernel):
            raise InvalidValueError("register a kernel: a kernel has a name and a function")
        require_plain_function(f"register kernel {name!r}", kernel)
        if self._kernels.setdefault(name, kernel) is not kernel:
            raise AlreadyExistError(f"register a kernel: {name!r} is registered already")

    def launch(
        self,
        kernel: str,
        *arguments: Any,
        num_threads: int = 1,
        wait_event: _core.DpaSyncEvent | None = None,
        wait_threshold: int = 0,
        done_event: _core.DpaSyncEvent | None = None,
        done_set: int | None = None,
        done_add: int | None = None,
    ) -> DpaRun:
        """Runs a kernel in each of num_threads threads, once (doca_dpa_kernel_launch_update_set, _add).

        wait_event: the kernel starts when its value is greater than wait_threshold. done_event: set to done_set, or
        increased by done_add (1), when all threads are done. Raises NotFoundError for a name that is not registered,
        BadStateError unless started and without failure, FullError when the DPA lacks threads.
        """
        if done_set is not None and done_add is not None:
            raise InvalidValueError("launch a kernel: give done_set or done_add, not both")
        if done_event is None and not (done_set is None and done_add is None):
            raise InvalidValueError("launch a kernel: done_set and done_add need a done_event")
        value = done_set if done_set is not None else 1 if done_add is None else done_add
        done = (done_event, value, done_set is None)
        return self._start_run(kernel, arguments, num_threads, (wait_event, wait_threshold), done, False)

    def thread(
        self,
        kernel: str,
        *arguments: Any,
        wait_event: _core.DpaSyncEvent | None = None,
        wait_threshold: int = 0,
    ) -> DpaRun:
        """A thread that runs a kernel again and again (doca_dpa_thread): each time that `DpaRun.notify()` was called.

        With a wait_event, each time its value has grown, at first above wait_threshold. The thread ends by
        `DpaThread.finish()`, or when the DPA stops. Raises the errors of launch().
        """
        return self._start_run(kernel, arguments, 1, (wait_event, wait_threshold), (None, 0, False), True)

    def memory(self, mmap: _core.Mmap) -> memoryview:
        """A started map's memory for kernels, read-only where the map is (doca_mmap_dev_get_dpa_handle).

        Raises NotFoundError when the map was not started with the device, NotSupportedError for imported memory.
        """
        return self._memory(mmap)

    def start(self) -> None:
        """`with` does that. Raises BadStateError unless new (doca_dpa_start)."""
        self._start()

    def stop(self) -> None:
        """Ends the waits of kernels, and waits until all threads have ended (doca_dpa_stop).

        Raises AgainError when one has not after two seconds: its kernel does not look at `DpaThread.is_stopping`.
        """
        self._stop()
        self._end_all()

    def close(self) -> None:
        """Stops, and gives the device back; idempotent (doca_dpa_destroy)."""
        if not self.closed:
            self._close()
            self._end_all()
            self._kernels.clear()
            self._error = None

    @property
    def failure(self) -> str | None:
        """The failure, once a kernel has failed; else None (doca_dpa_peek_at_last_error)."""
        return self._failure()

    @property
    def num_threads(self) -> int:
        """Threads that have not ended."""
        return self._num_threads()

    @property
    def is_running(self) -> bool:
        """Whether it is started, and not stopped."""
        return self._is_running()

    @property
    def closed(self) -> bool:
        """Whether it is closed for good."""
        return self._is_closed()

    @property
    def device(self) -> _core.Device:
        """The Device of the DPA."""
        return self._device()

    def __enter__(self) -> Dpa:
        if not self.is_running:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except DocaError:
            if value is None:
                raise

    def __repr__(self) -> str:
        state = "closed" if self.closed else "failed" if self.failure else "running" if self.is_running else "stopped"
        return f"<pydoca.Dpa of {self.device.name}, {state}>"

    def _start_run(
        self,
        name: str,
        arguments: tuple[Any, ...],
        num_threads: int,
        wait: tuple[_core.DpaSyncEvent | None, int],
        done: tuple[_core.DpaSyncEvent | None, int, bool],
        repeats: bool,
    ) -> DpaRun:
        kernel = self._kernels.get(name)
        if kernel is None and self.is_running:
            raise NotFoundError(f"launch a kernel: {name!r} is not registered; there are: {', '.join(self._kernels)}")
        launch = self._prepare(name, num_threads, wait, done, repeats)
        if kernel is None:
            raise BadStateError("launch a kernel: the DPA does not run")
        run = DpaRun(self, launch, name)
        self._runs.add(run)
        begin = _begin_in_order if _core.virtual_time_is_on() else threading.Thread.start
        for rank in range(num_threads):
            begin(
                threading.Thread(
                    target=run._execute, args=(rank, kernel, arguments), name=f"dpa-{name}-{rank}", daemon=True
                )
            )
        return run

    def _note(self, error: BaseException) -> None:
        """The exception of a kernel, before the engine is told."""
        if self._error is None and self.is_running:
            self._error = error

    def _end_all(self) -> None:
        for run in list(self._runs):
            run._end()


def _begin_in_order(thread: threading.Thread) -> None:
    """Starts a thread that takes its place in virtual time before the next one begins: each run has the same order."""
    _core.virtual_time_join()
    before = _core.virtual_time_num_threads()
    thread.start()
    while thread.is_alive() and _core.virtual_time_num_threads() == before:
        thread.join(0.0001)


def _close_all() -> None:
    """Closes each DPA when the interpreter ends: its daemon threads would not survive that in a wait of the engine."""
    for dpa in list(_alive):
        with suppress(DocaError):  # a kernel that does not return ends with the process
            dpa.close()


atexit.register(_close_all)
