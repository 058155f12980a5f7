"""Ctrl-C in every call that blocks."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time

import pytest

import pydoca

LATE = 75  # the exit status of a script that was interrupted too late
SETUP = f"""
import asyncio, os, signal, sys, threading, time
import pydoca

device = pydoca.open_device("03:00.0", side="dpu")
pe = pydoca.ProgressEngine()
dma = pydoca.Dma(pe, device)
inventory = pydoca.BufInventory(64)
mmap = device.mmap(pydoca.alloc(4096))
dma.start()

def held():
    task = dma.memcpy(inventory.get_by_data(mmap, mmap.addr, 64),
                      inventory.get_by_addr(mmap, mmap.addr + 1024, 64), submit=False)
    task.submit(pydoca.SubmitFlags.NONE)
    return task

def again(task, *_):
    task.dst.reset_data_len()
    task.submit()

async def await_(task):
    await task

async def in_loop(call):
    await held_for(0)
    call()

LATE = {LATE}
sent = 0.0
def send():
    global sent
    time.sleep(0.3)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(call):
    threading.Thread(target=send, daemon=True).start()
    try:
        call()
        time.sleep(0)  # a pending handler runs here
    except KeyboardInterrupt:
        if time.monotonic() - sent > 0.2:
            os._exit(LATE)
    except pydoca.AgainError:
        os._exit(1 if sent else LATE)
    else:
        os.write(2, b"not interrupted")
        os._exit(1 if sent else LATE)  # late: the wait was over before the signal came
"""

CALLS = {
    "task.wait": "held().wait()",
    "task.wait with a timeout": "held().wait(60)",
    "run_until a task": "pe.run_until(held())",
    "run_until tasks": "pe.run_until([held(), held()])",
    "run_until a predicate": "pe.run_until(lambda: False)",
    "wait": "pe.wait()",
    "wait while busy": "busy()",
    "leaving a context": "leave()",
}
EXTRA = """
def busy():
    other = pydoca.Dma(pe, device, on_completion=again)
    other.start()
    other.memcpy(inventory.get_by_data(mmap, mmap.addr, 64), inventory.get_by_addr(mmap, mmap.addr + 1024, 64))
    pe.run_until(lambda: False)

def leave():
    with dma:
        held().wait()
"""


def run(script):
    """Runs a script in its own fabric. Repeats it a few times if it was late, as on a loaded machine."""
    for _ in range(4):
        environment = {**os.environ, "PYDOCA_FABRIC": f"test-{secrets.token_hex(8)}"}
        command = [sys.executable, "-c", SETUP + script]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            _, errors = process.communicate(timeout=150)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # this includes its peers, which may be stopped
        if process.returncode != LATE:
            break
    assert process.returncode == 0, errors


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_is_noticed_at_once(call):
    # os._exit does not wait for a context that has a task in flight, as the interpreter's end would.
    run(EXTRA + f"interrupted(lambda: {CALLS[call]})\nos._exit(0)\n")


def test_an_interrupt_that_does_not_interrupt_the_loops_wait_for_events_ends_it():
    # The main thread blocks the signal, so that another thread takes it. The loop sees it as a signal that came just
    # before epoll_wait(): only a descriptor wakes it.
    script = """
async def sleep_deaf():
    pe._bridge.bind()
    await asyncio.to_thread(time.sleep, 0)  # a thread that takes the signal
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    await asyncio.sleep(30)

interrupted(lambda: asyncio.run(sleep_deaf()))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
assert signal.set_wakeup_fd(-1) == -1
"""
    run(script)


def test_a_program_keeps_the_wakeup_descriptor_that_it_set():
    script = """
receiver, sender = os.pipe2(os.O_NONBLOCK)
signal.set_wakeup_fd(sender)

async def wait():
    pe._bridge.bind()
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.sleep(0)

signal.signal(signal.SIGUSR1, lambda *_: None)
asyncio.run(wait())
assert os.read(receiver, 8) == bytes([signal.SIGUSR1])
assert signal.set_wakeup_fd(-1) == sender
"""
    run(script)


@pytest.mark.parametrize("mode", ["", "_yield"])
@pytest.mark.parametrize("timeout", ["None", "60"])
def test_an_interrupt_ends_the_wait_for_an_event_which_can_be_waited_for_again(mode, timeout):
    script = f"""
event = pydoca.SyncEvent(device)
event.start()
interrupted(lambda: event.wait_eq{mode}(1, timeout={timeout}))
event.update_set(1)
event.wait_eq{mode}(1, timeout={timeout})
"""
    run(script)


PEER = """
import sys, pydoca

if len(sys.argv) == 1:  # an owner, which exports and then does as the test wants
    memory = pydoca.open_device("0b:00.0", side="host").mmap(bytearray(4096), access="pci_read_only")
    print(memory.export_pci().hex(), flush=True)
    sys.stdin.read()
device = pydoca.open_device("03:00.0", side="dpu")
pe = pydoca.ProgressEngine()
dma = pydoca.Dma(pe, device)
dma.start()
inventory = pydoca.BufInventory(2)
remote = device.import_mmap(bytes.fromhex(sys.argv[1]))
dst = inventory.get_by_addr(device.mmap(pydoca.alloc(len(remote))))
task = dma.memcpy(inventory.get_by_data(remote), dst, submit=False)
print("imported", flush=True)
while True:
    dst.reset_data_len()
    task.submit()
    task.wait()
"""

PEERS = """
import ctypes, subprocess

def start(*arguments):
    command = [sys.executable, "-c", PEER, *arguments]
    peer = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return peer, peer.stdout.readline().strip()

def stop(peer):
    peer.send_signal(signal.SIGSTOP)
    os.waitpid(peer.pid, os.WUNTRACED)

def num_inside():
    with open("/proc/self/maps") as maps:
        page = next(int(line.split("-")[0], 16) for line in maps if "pydoca-page" in line)
    return ctypes.c_uint32.from_address(page + 4).value

def stopped_inside(exported):
    peer, line = start(exported.export_pci().hex())
    assert line == "imported"
    for _ in range(10_000):
        stop(peer)
        if num_inside():
            return peer
        peer.send_signal(signal.SIGCONT)
    sys.exit("the peer was never inside")

def drop():
    global exported
    del exported

host = pydoca.open_device("0b:00.0", side="host")
"""


def run_with_peers(script):
    run(f"PEER = {PEER!r}\n" + PEERS + script)


@pytest.mark.parametrize("memory", ["pydoca.alloc(1 << 21)", "bytearray(1 << 21)"])
@pytest.mark.parametrize("call", ["exported.stop()", "exported.close()"])
def test_a_peer_inside_is_not_waited_for_and_the_call_can_be_repeated(call, memory):
    script = f"""
exported = host.mmap({memory}, access="pci_read_write|local_read_write")
peer = stopped_inside(exported)
try:
    {call}
except pydoca.AgainError:
    pass
else:
    sys.exit("the peer is still inside")
assert exported.is_started
peer.send_signal(signal.SIGCONT)
while exported.is_started:
    try:
        {call}
    except pydoca.AgainError:
        time.sleep(0.001)
"""
    run_with_peers(script)


def test_memory_that_is_dropped_with_a_peer_inside_stays():
    """The peer's write goes on later; it must not reach memory of other Python objects."""
    script = """
exported = host.mmap(memory := bytearray(1 << 21), access="pci_read_write|local_read_write")
peer = stopped_inside(exported)
drop()
kept = sys.getrefcount(memory)
assert kept > 2, kept
peer.send_signal(signal.SIGCONT)
"""
    run_with_peers(script)


def test_an_interrupt_ends_the_wait_for_a_silent_owner():
    script = """
owner, blob = start()
stop(owner)
interrupted(lambda: device.import_mmap(bytes.fromhex(blob)))
owner.send_signal(signal.SIGCONT)
with device.import_mmap(bytes.fromhex(blob)) as remote:
    assert len(remote) == 4096
"""
    run_with_peers(script)


def test_an_interrupt_ends_the_wait_for_a_lock_that_a_stopped_process_keeps():
    script = """
import fcntl
from pydoca import comch, sim

server = comch.Server(pe, device, device.open_representor("0b:00.0"), "copy")
os.makedirs(sim.fabric_directory(), 0o700, exist_ok=True)
directory = os.open(sim.fabric_directory(), os.O_RDONLY)
fcntl.flock(directory, fcntl.LOCK_EX)
interrupted(server.start)
fcntl.flock(directory, fcntl.LOCK_UN)
server.start()
server.stop()
"""
    run(script)


def test_what_a_handler_raises_is_what_the_caller_of_a_blocking_call_sees():
    script = """
class Alarm(Exception):
    pass

def ring(*_):
    raise Alarm

owner, blob = start()
stop(owner)
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    device.import_mmap(bytes.fromhex(blob))
except Alarm:
    pass
else:
    sys.exit("the alarm was not heard")
signal.signal(signal.SIGALRM, lambda *_: owner.send_signal(signal.SIGCONT))
signal.setitimer(signal.ITIMER_REAL, 0.05)
device.import_mmap(bytes.fromhex(blob)).close()  # a handler that does not raise does not end the call
"""
    run_with_peers(script)


def test_a_signal_handler_runs_during_a_wait_which_goes_on(rig):
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    try:
        task = rig.held()
        main = threading.main_thread().ident

        def other():
            time.sleep(0.05)
            signal.pthread_kill(main, signal.SIGUSR1)

        thread = threading.Thread(target=other)
        thread.start()
        with pytest.raises(pydoca.TimeOutError):
            task.wait(0.3)
        thread.join()
        assert seen == [1]
    finally:
        signal.signal(signal.SIGUSR1, before)
    rig.release()
    task.wait(5)


def test_a_signal_handler_may_end_the_wait_by_what_it_changes(rig):
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        rig.pe.run_until(lambda: seen, 20)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen


def test_an_interrupted_wait_can_be_repeated(rig):
    task = rig.held()

    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Alarm):
            task.wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    rig.release()
    task.wait(5)
    assert task.done
