"""Virtual time: hours in milliseconds, and runs that depend on the seed alone."""

import asyncio
import gc
import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import pydoca
from pydoca.sim import virtual_time

HOUR = 3600.0


@pytest.fixture
def p0():
    with pydoca.open_device("p0") as device:
        yield device


# ---- time


def test_sleeping_for_an_hour_takes_no_time():
    begin = time.monotonic()
    with virtual_time() as vt:
        assert vt.now == 0
        vt.sleep(HOUR)
        assert vt.now == HOUR
    assert time.monotonic() - begin < HOUR / 2


def test_asyncio_sleeps_in_virtual_time():
    async def main():
        loop = asyncio.get_running_loop()
        begin = loop.time()
        await asyncio.sleep(HOUR)
        return loop.time() - begin

    with virtual_time() as vt:
        assert vt.run(main()) == pytest.approx(HOUR, abs=1e-3)


def test_timeouts_of_asyncio_follow():
    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(HOUR):
                await asyncio.Event().wait()

    with virtual_time() as vt:
        vt.run(main())
        assert HOUR <= vt.now < HOUR + 1


def test_a_turn_of_the_loop_takes_a_little_time():
    async def main(vt):
        seen = set()
        while vt.now < 1e-3:
            seen.add(vt.now)
            await asyncio.sleep(0)
        return len(seen)

    with virtual_time() as vt:
        assert vt.run(main(vt)) > 10


def test_each_block_begins_anew():
    for _ in range(2):
        with virtual_time() as vt:
            vt.sleep(1)
            assert vt.now == 1


def test_there_is_one_at_a_time():
    with virtual_time(), pytest.raises(pydoca.BadStateError, match="already"), virtual_time():
        pass
    with virtual_time():
        pass


def test_outside_its_block_it_is_not_in_force():
    vt = virtual_time(seed=3)
    assert repr(vt) == "<pydoca.sim.VirtualTime, seed 3, not in force>"
    for use in (lambda: vt.now, lambda: vt.digest, lambda: vt.sleep(1), vt.new_event_loop, vt.run, vt.run_threads):
        with pytest.raises(pydoca.BadStateError, match="with block"):
            use()


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_that_is_not_one(seed):
    with pytest.raises(pydoca.InvalidValueError, match=f"not {seed}"):
        virtual_time(seed=seed)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_times_that_make_no_sense(seconds):
    with pytest.raises(pydoca.InvalidValueError, match=str(seconds)):
        virtual_time(outside=seconds)
    with virtual_time() as vt, pytest.raises(pydoca.InvalidValueError, match=str(seconds)):
        vt.sleep(seconds)


# ---- threads and loops


def test_threads_run_one_at_a_time():
    running, most = [], []

    def body():
        for _ in range(50):
            running.append(1)
            most.append(len(running))
            time.sleep(0)
            running.pop()
            vt.sleep(1e-6)

    with virtual_time() as vt:
        vt.run_threads(body, body, body)
        assert vt.now == pytest.approx(50e-6)
    assert max(most) == 1


def orders(seed):
    order = []

    def body(name):
        def run():
            for _ in range(20):
                order.append(name)
                vt.sleep(1e-6)

        return run

    with virtual_time(seed=seed) as vt:
        vt.run_threads(body("a"), body("b"), body("c"))
        return "".join(order), vt.digest


def test_the_seed_decides_on_the_order():
    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


def test_run_returns_what_the_coroutines_return():
    async def value(number):
        await asyncio.sleep(number)
        return number

    with virtual_time() as vt:
        assert vt.run(value(1)) == 1
        assert vt.run(value(2), value(3)) == [2, 3]
        assert vt.run_threads(lambda: 5, lambda: 6) == [5, 6]


def test_an_error_of_one_cancels_the_others():
    ended = []

    async def fails():
        await asyncio.sleep(1)
        raise ValueError("no")

    async def waits():
        try:
            await asyncio.sleep(HOUR)
        finally:
            ended.append(vt.now)

    with virtual_time() as vt:
        with pytest.raises(ValueError, match="no"):
            vt.run(fails(), waits())
        assert ended == [pytest.approx(1, abs=0.01)]


def test_a_wait_that_nothing_can_end_is_a_deadlock():
    async def main():
        await asyncio.Event().wait()

    with virtual_time() as vt, pytest.raises(pydoca.DeadlockError, match=r"there wait: .*main"):
        vt.run(main())


def test_what_comes_from_outside_is_waited_for():
    async def main():
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        timer = threading.Timer(0.02, loop.call_soon_threadsafe, (event.set,))
        timer.start()
        await event.wait()
        timer.join()

    with virtual_time(outside=30) as vt:
        vt.run(main())


def test_within_a_running_loop():
    async def inner():
        await asyncio.sleep(HOUR)
        return 7

    async def main():
        with virtual_time() as vt:
            return vt.run(inner())

    assert asyncio.run(main()) == 7


# ---- pydoca


def test_a_copy(make_rig):
    async def main():
        rig = make_rig(size=1 << 20)
        async with rig.pe:
            src, dst, target = rig.bufs()
            await rig.dma.memcpy(src, dst)
            assert bytes(target) == bytes(rig.data)

    with virtual_time() as vt:
        vt.run(main())
        gc.collect()


def test_a_loop_of_real_time_is_refused(make_rig):
    async def main():
        rig = make_rig()
        await rig.copy()

    with virtual_time(), pytest.raises(pydoca.BadStateError, match=r"VirtualTime\.run"):
        asyncio.run(main())
    gc.collect()


def test_a_blocking_wait_times_out_in_virtual_time(p0):
    with virtual_time() as vt:
        with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.TimeOutError):
            pe.run_until(lambda: False, HOUR)
        assert vt.now == pytest.approx(HOUR)
        with pydoca.ProgressEngine() as pe, pytest.raises(pydoca.DeadlockError, match="run until"):
            pe.run_until(lambda: False)


def test_a_polling_loop_takes_time(p0):
    with virtual_time() as vt, pydoca.ProgressEngine() as pe:
        looks = 0
        while vt.now < HOUR:
            pe.progress()
            looks += 1
        assert looks < 10_000


def test_waits_for_sync_events(p0):
    def waiter():
        event.wait_eq(3)
        return vt.now

    def setter():
        for value in (1, 2, 3):
            vt.sleep(10)
            event.update_set(value)

    with virtual_time() as vt, pydoca.SyncEvent(p0) as event:
        assert vt.run_threads(waiter, setter)[0] == 30
        with pytest.raises(pydoca.TimeOutError):
            event.wait_eq(4, timeout=HOUR)
        assert vt.now == 30 + HOUR
        with pytest.raises(pydoca.DeadlockError, match="wait_eq"):
            event.wait_eq(4)


HANDSHAKE = """
    import asyncio, sys
    import pydoca
    from pydoca import comch
    from pydoca.sim import virtual_time

    async def host():
        dev = pydoca.open_device("0b:00.0", side="host")
        async with pydoca.ProgressEngine() as pe, comch.Client(pe, dev, "copy") as link:
            mmap = dev.mmap(bytearray(b"moved" * 100), access="pci_read_only")
            await link.send(mmap.export_pci())
            return bytes(await link.recv())

    async def dpu():
        dev = pydoca.open_device("03:00.0", side="dpu")
        rep = dev.open_representor("0b:00.0")
        async with pydoca.ProgressEngine() as pe, comch.Server(pe, dev, rep, "copy") as server:
            async for link in server:
                remote = dev.import_mmap(await link.recv())
                inventory = pydoca.BufInventory(2)
                memory = pydoca.alloc(500)
                async with pydoca.Dma(pe, dev) as dma:
                    local = dev.mmap(memory)
                    await dma.memcpy(inventory.get_by_data(remote), inventory.get_by_addr(local))
                await asyncio.sleep(100)
                await link.send(b"done")
                return bytes(memory)

    pydoca.sim.set_fabric(sys.argv[1])
    for seed in sys.argv[2:]:
        with virtual_time(seed=int(seed)) as vt:
            done, moved = vt.run(host(), dpu())
            assert done == b"done" and moved == b"moved" * 100
            assert 100 <= vt.now < 101
            print(vt.digest)
"""


def test_a_host_and_a_dpu_in_one_process_are_repeatable():
    seeds = ["1", "2", "1", "3", "1"]
    line = [sys.executable, "-c", textwrap.dedent(HANDSHAKE), f"virtual-{secrets.token_hex(8)}", *seeds]
    runs = [subprocess.check_output(line, text=True, timeout=150).split() for _ in range(2)]
    for digests in runs:
        assert digests[0] == digests[2] == digests[4]
        assert len(set(digests)) == 3
    assert runs[0] == runs[1]


def test_an_import_that_outlives_its_event_does_not_stop_time(p0):
    """The service of the importer's process must not look for ever at a connection that has ended."""
    with virtual_time() as vt, pydoca.open_device("pf0") as device:
        with pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu") as event:
            imported = p0.import_sync_event(event.export_to_remote_pci())
            imported.start()
        vt.sleep(HOUR)
        with pytest.raises(pydoca.NotConnectedError):
            imported.get()
        imported.close()


# ---- traces


TRACED = """
    import asyncio, sys
    import pydoca
    from pydoca.sim import virtual_time

    async def waits(box):
        with pydoca.open_device("pf0") as device:
            async with pydoca.ProgressEngine() as pe:
                event = pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu", memory=pydoca.alloc(8))
                async with event.as_context(pe, 2) as context:
                    box.append(event.export_to_remote_pci())
                    await context.wait_gt(1)
                    await asyncio.sleep(3600)
                    box.append("done")

    async def works(box):
        while not box:
            await asyncio.sleep(1e-6)
        with pydoca.open_device("p0") as device:
            async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device) as dma:
                source, target = device.mmap(pydoca.alloc(64)), device.mmap(pydoca.alloc(64))
                inventory = pydoca.BufInventory(2)
                event = device.import_sync_event(box[0])
                async with event.as_context(pe, 2) as context:
                    for _ in range(2):
                        await dma.memcpy(inventory.get_by_data(source), inventory.get_by_addr(target))
                        await context.notify_add(1)
                    while len(box) < 2:
                        await asyncio.sleep(60)

    pydoca.sim.set_fabric(sys.argv[1])
    slow = {"dma": {"latency": "2us", "jitter": {"distribution": "exponential", "spread": "1us"}}}
    pydoca.sim.load_config(slow)
    for number, seed in enumerate(sys.argv[3:]):
        with virtual_time(seed=int(seed)) as vt:
            with pydoca.trace() as trace:
                box = []
                vt.run(waits(box), works(box))
            assert trace.lost == 0 and len(trace.events) > 10
            assert trace.duration == round(vt.now * 1e9) > 3600 * 10**9
            trace.save(f"{sys.argv[2]}/{number}.json")
"""


def test_equal_runs_save_equal_traces_byte_for_byte(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        line = [sys.executable, "-c", textwrap.dedent(TRACED), f"virtual-{secrets.token_hex(8)}"]
        subprocess.run([*line, str(tmp_path / name), "1", "2", "1"], check=True, timeout=150)
    one, other, again = ((tmp_path / "first" / f"{number}.json").read_bytes() for number in range(3))
    assert one == again == (tmp_path / "second" / "0.json").read_bytes()
    assert one != other


def test_a_trace_keeps_to_one_clock():
    with virtual_time():
        within = pydoca.trace().start()
    with pytest.raises(pydoca.BadStateError, match="virtual time began or ended"):
        within.stop()
    with pydoca.trace(), virtual_time(), pytest.raises(pydoca.BadStateError, match="real time already"):
        pydoca.trace().start()
    with pydoca.trace() as trace:
        time.sleep(0.001)
    assert trace.duration >= 1_000_000


# ---- forks


FORKED = """
    import os, sys, time
    import pydoca
    from pydoca.sim import virtual_time

    with virtual_time(seed=7) as vt, pydoca.open_device("p0"), pydoca.ProgressEngine() as pe:
        vt.sleep(1)

        def in_child():
            for call in (lambda: vt.now, lambda: vt.sleep(1)):
                try:
                    call()
                except pydoca.BadStateError as error:
                    assert "was forked" in str(error), error
                else:
                    sys.exit("it was not refused")
            assert "not in force" in repr(vt)
            with virtual_time() as own, pydoca.open_device("p0"), pydoca.ProgressEngine() as engine:
                own.sleep(3600)
                assert own.now == 3600
            with pydoca.open_device("p0"), pydoca.ProgressEngine() as engine:
                begin = time.monotonic()
                try:
                    engine.run_until(lambda: False, 0.01)
                except pydoca.TimeOutError:
                    assert time.monotonic() - begin >= 0.01

        def fork_and_wait():
            child = os.fork()
            if child == 0:
                in_child()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            vt.sleep(1)

        fork_and_wait()
        vt.run_threads(fork_and_wait, lambda: vt.sleep(2))
        assert vt.now == 4
        print(vt.digest)
"""


def test_a_forked_child_has_real_time():
    line = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(FORKED)]
    digests = [subprocess.check_output(line, text=True, timeout=150) for _ in range(2)]
    assert digests[0] == digests[1]


ENDLESS = """
    import asyncio
    from pydoca.sim import virtual_time

    async def main():
        print("ready", flush=True)
        while True:
            await asyncio.sleep(1)

    try:
        with virtual_time() as vt:
            vt.run(*[main() for _ in range({loops})])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("loops", [1, 2])
def test_ctrl_c_ends_it(loops):
    line = [sys.executable, "-c", textwrap.dedent(ENDLESS.format(loops=loops))]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0].splitlines()[-1] == "interrupted"
        assert process.returncode == 0
