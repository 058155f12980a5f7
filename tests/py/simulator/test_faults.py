"""Fault plans: the effects of rules on Python's tasks, and how plans are written, checked and put in force."""

import asyncio
import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import pydoca
from pydoca import comch, faults
from pydoca.faults import FaultPlan, FaultPlanWarning, FaultRule, inject


class Copies:
    """A started Dma on a device that was opened when this was made, and copies of 64 bytes."""

    def __init__(self, device: str = "p0") -> None:
        self.device = pydoca.open_device(device)
        self.pe = pydoca.ProgressEngine()
        self.dma = pydoca.Dma(self.pe, self.device, num_tasks=8)
        self.data, self.target = pydoca.alloc(64), pydoca.alloc(64)
        memoryview(self.data).cast("B")[:] = bytes(range(64))
        self.inventory = pydoca.BufInventory(32)
        self.source, self.sink = self.device.mmap(self.data), self.device.mmap(self.target)
        self.dma.start()

    def submit(self) -> Any:
        return self.dma.memcpy(self.inventory.get_by_data(self.source), self.inventory.get_by_addr(self.sink))

    def copy(self) -> bytes:
        self.submit().wait(timeout=20)
        return bytes(self.target)

    def close(self) -> None:
        self.pe.__exit__(None, None, None)
        self.source.close()
        self.sink.close()
        self.device.close()


@pytest.fixture
def copies() -> Iterator[Callable[..., Copies]]:
    made: list[Copies] = []

    def make(*arguments: str) -> Copies:
        made.append(Copies(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.close()
    gc.collect()
    assert not faults_in_force()


def faults_in_force() -> bool:
    try:
        with FaultPlan():
            return False
    except pydoca.AlreadyExistError:
        return True


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_nth_copy_fails_and_the_others_do_not(copies):
    with inject(FaultRule("fail", "dma.memcpy", status="io_failed", nth=2)) as plan:
        rig = copies()
        assert rig.copy() == bytes(range(64))
        with pytest.raises(pydoca.IoFailedError):
            rig.copy()
    assert [report[1:] for report in plan.report()] == [(2, 1, 0, None)]


def test_the_log_tells_of_faults(copies, caplog):
    caplog.set_level("INFO", "pydoca")
    level = pydoca.log.global_limits()[2]
    pydoca.set_sdk_log_level("INFO")
    try:
        with inject(FaultRule("corrupt", "dma.memcpy", device="p0")):
            copies().copy()
        pydoca.devices()
    finally:
        pydoca.set_sdk_log_level(level)
    assert "rule 1 (corrupt dma.memcpy of p0) meets dma.memcpy on p0" in caplog.text


def test_awaits_see_faults():
    async def run() -> bytes:
        device = pydoca.open_device("p0")
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device, num_tasks=4) as dma:
            inventory, target = pydoca.BufInventory(4), pydoca.alloc(8)
            src = inventory.get_by_data(device.mmap(b"abcdefgh"))
            await dma.memcpy(src, inventory.get_by_addr(device.mmap(target)))
            return bytes(target)

    with inject(FaultRule("corrupt", "dma.memcpy", data="byte", value=0, offset=1)):
        assert asyncio.run(run()) == b"a\0cdefgh"


def test_a_failed_task_names_its_rule(copies):
    with inject(
        FaultRule("delay", "dma.memcpy", by="1 us", nth=1), FaultRule("fail", "dma.memcpy", status="driver", nth=2)
    ):
        rig = copies()
        rig.copy()
        with pytest.raises(pydoca.DriverError, match=r"the fault plan's rule 2 failed it; the context stops"):
            rig.copy()


def test_a_delayed_await_lets_the_loop_sleep():
    async def run() -> float:
        device = pydoca.open_device("p0")
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device, num_tasks=4) as dma:
            inventory = pydoca.BufInventory(4)
            src = inventory.get_by_data(device.mmap(b"abcdefgh"))
            begin = time.monotonic()
            await dma.memcpy(src, inventory.get_by_addr(device.mmap(pydoca.alloc(8))))
            return time.monotonic() - begin

    with inject(FaultRule("delay", by=timedelta(milliseconds=50))):
        assert asyncio.run(run()) >= 0.05


def test_a_predicate_sees_operations(copies):
    seen = []

    def accept(operation: faults.FaultOperation) -> bool:
        seen.append(operation)
        return operation.length > 100

    with pytest.warns(FaultPlanWarning, match="accepted by its predicate"), inject(FaultRule("fail", when=accept)):
        copies().copy()
    assert seen == [("dma.memcpy", "p0", 64, 1)]


def test_a_predicate_counts_the_operations_that_it_is_asked_about(copies):
    with inject(FaultRule("fail", when=lambda operation: operation.number > 3)) as plan:
        rig = copies()
        for _ in range(3):
            rig.copy()
        with pytest.raises(pydoca.IoFailedError):
            rig.copy()
    assert plan.report()[0][1:3] == (1, 1)


def test_an_error_of_a_predicate_is_no_fault_and_ends_the_block(copies, monkeypatch):
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: errors.append(unraisable.exc_type))
    plan = FaultPlan(FaultRule("fail", when=lambda operation: 1 / 0))
    with pytest.warns(FaultPlanWarning), pytest.raises(ZeroDivisionError), plan:
        assert copies().copy() == bytes(range(64))
    assert errors == [ZeroDivisionError]
    with pytest.warns(FaultPlanWarning), plan:
        pass  # the block does not raise that error
    with pytest.raises(AssertionError), plan:  # the block's own error has more information
        assert copies().copy() == b""


@pytest.mark.parametrize(
    ("rule", "never"),
    [
        (FaultRule("corrupt", "dma.memcpy", offset=64), "1 operation(s) had no byte 64"),
        (FaultRule("misreport_length", "dma.memcpy", length=64), "1 operation(s) moved no more bytes than the rule"),
    ],
)
def test_data_that_is_too_short_for_a_rule_is_left_alone(copies, rule, never):
    with pytest.warns(FaultPlanWarning, match=re.escape(never)), inject(rule) as plan:
        assert copies().copy() == bytes(range(64))
    assert plan.report()[0][1:4] == (1, 0, 1)


def test_a_message_that_is_too_short_for_a_rule_comes_as_it_was_sent():
    async def run() -> bytes:
        dpu, host = pydoca.open_device("p0"), pydoca.open_device("pf0")
        async with (
            pydoca.ProgressEngine() as pe,
            comch.Server(pe, dpu, dpu.open_representor("hpf0"), "short") as server,
            comch.Client(pe, host, "short") as link,
        ):
            await link.send(b"hello")
            async for peer in server:
                return bytes(await peer.recv())
        raise AssertionError

    rule = FaultRule("corrupt", "comch.send", data="byte", offset=5)
    with pytest.warns(FaultPlanWarning, match="had no byte 5"), inject(rule):
        assert asyncio.run(run()) == b"hello"


def test_a_device_that_was_open_has_no_faults_and_the_log_says_so(copies, caplog):
    before = copies()
    with inject(FaultRule("corrupt", data="stale")):
        assert "p0 was open when the fault plan came into force, and has none of its faults" in caplog.text
        assert before.copy() == bytes(range(64))
        assert copies().copy() == bytes(64)
    assert copies().copy() == bytes(range(64))


def test_rules_that_met_nothing_are_told_of():
    plan = FaultPlan(
        FaultRule("fail", device="p9"), FaultRule("drop", probability=0), FaultRule("delay", "dma.memcpy", by=1)
    )
    with pytest.warns(FaultPlanWarning) as warned, plan:
        pydoca.open_device("p0").close()
    texts = [str(warning.message) for warning in warned]
    assert texts[0].endswith('met nothing: no device is called "p9"')
    assert texts[1].endswith("met nothing: its probability is 0")
    assert texts[2].endswith("met nothing: no such operation was posted")
    assert "0 matched, 0 triggered (no device" in str(plan)


def test_a_window_opens_and_closes(copies):
    plan = FaultPlan(FaultRule("fail", after="1 min"))
    with pytest.warns(FaultPlanWarning, match="no such operation was posted in its window"), plan:
        copies().copy()
    with inject(FaultRule("corrupt", data="stale", until="1 min")):
        assert copies().copy() == bytes(64)


def test_capabilities_are_misreported():
    table = {"dma": {"max_buf_size": 4096}, "comch": False}
    with (
        inject(FaultRule("misreport_capability", device="p0", capabilities=table)),
        pydoca.open_device("p0") as device,
    ):
        assert device.info.capabilities.dma.max_buf_size == 4096
        assert device.info.capabilities.comch is None


def test_a_removed_device_comes_back_with_the_end_of_the_plan(copies):
    with inject(FaultRule("remove_device", "dma.memcpy")):
        rig = copies()
        with pytest.raises(pydoca.DriverError):
            rig.copy()
        with pytest.raises(pydoca.NotFoundError):
            pydoca.open_device("p0")
    pydoca.open_device("p0").close()


def test_the_same_seed_meets_the_same_operations(copies):
    def refused(seed: int) -> list[bool]:
        with inject(FaultRule("full", "dma.memcpy", probability=0.5), seed=seed):
            rig, outcomes = Copies(), []
            for _ in range(32):
                try:
                    rig.copy()
                    outcomes.append(False)
                except pydoca.AgainError:
                    outcomes.append(True)
            rig.close()
        return outcomes

    assert refused(1) == refused(1) != refused(2)


# ---- How plans are written

REFUSED = {
    "action 'fial' does not exist; did you mean 'fail'": lambda: FaultRule("fial"),
    "opcode 'dma.memcopy' does not exist; did you mean 'dma.memcpy'": lambda: FaultRule("fail", "dma.memcopy"),
    "key 'probabilty' does not exist; did you mean 'probability'": lambda: FaultRule("fail", probabilty=1),
    "unit 'msec' does not exist": lambda: FaultRule("delay", by="5 msec"),
    "without a unit": lambda: FaultRule("delay", by="5"),
    "write a number and a unit": lambda: FaultRule("delay", by="soon"),
    "by must be seconds, or text": lambda: FaultRule("delay", by=-1),
    "which is too long": lambda: FaultRule("delay", by=1e30),
    "it needs by": lambda: FaultRule("delay"),
    "status is a key of another action; delay takes by": lambda: FaultRule("delay", by=1, status="driver"),
    "side 'dpuu' does not exist; did you mean 'dpu'": lambda: FaultRule("fail", side="dpuu"),
    "side must be one of host, dpu": lambda: FaultRule("fail", side=1),
    "kill takes no such key": lambda: FaultRule("kill", by=1),
    "status 'io_fail' does not exist; did you mean 'io_failed'": lambda: FaultRule("fail", status="io_fail"),
    "value is the one of a stuck byte": lambda: FaultRule("corrupt", value=3),
    "nth must be a whole number in 1..": lambda: FaultRule("fail", nth=0),
    "every must be a whole number": lambda: FaultRule("fail", every=1.5),
    "probability must be a number in 0..1, not 2": lambda: FaultRule("fail", probability=2),
    "when must be a function": lambda: FaultRule("fail", when=3),
    "device must be a name": lambda: FaultRule("fail", device=3),
    "device must be a name or an address.*not ''": lambda: FaultRule("fail", device=""),
    "opcode is an empty list; leave it out": lambda: FaultRule("fail", []),
    "capabilities is an empty table": lambda: FaultRule("misreport_capability", capabilities={}),
    "corrupt cannot happen to rdma.connect": lambda: FaultRule("corrupt", "rdma.connect"),
    "give one of them": lambda: FaultRule("fail", nth=1, every=2),
    "is empty; until must be later": lambda: FaultRule("fail", after=2, until="1 s"),
    "use the action full": lambda: FaultPlan(FaultRule("fail", status="again")),
    "key 'max_buff_size' does not exist; did you mean 'max_buf_size'": lambda: FaultPlan(
        FaultRule("misreport_capability", capabilities={"dma": {"max_buff_size": 1}})
    ),
    "it needs an action": lambda: FaultPlan({"opcode": "dma.memcpy"}),
    "key 'opcodes' does not exist; did you mean 'opcode'": lambda: FaultPlan({"action": "fail", "opcodes": []}),
    "fault plan: key 'rules' does not exist; did you mean 'rule'": lambda: FaultPlan.load({"rules": []}),
    "write \\[\\[rule\\]\\] before each": lambda: FaultPlan.load({"rule": {"action": "fail"}}),
    "seed must be a whole number": lambda: FaultPlan(seed=-1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_bad_input_is_named_with_what_to_write(text):
    with pytest.raises(pydoca.InvalidValueError, match=text):
        REFUSED[text]()


def test_the_repr_makes_an_equal_plan():
    plan = FaultPlan(
        FaultRule("delay", ["rdma.write", "rdma.read"], by="2 ms", every=3, device="pf0"),
        {"action": "misreport_capability", "capabilities": {"dma": False}},
        seed=9,
    )
    again = eval(repr(plan))
    assert (again.rules, again.seed) == (plan.rules, 9)
    assert again.rules[0] != again.rules[1]


def test_a_library_names_all_its_operations_that_the_action_can_meet():
    assert FaultRule("misreport_length", "rdma")._engines.opcodes == [
        "rdma.receive",
        "rdma.send",
        "rdma.send_imm",
        "rdma.read",
        "rdma.write",
        "rdma.write_imm",
    ]
    with pytest.raises(pydoca.InvalidValueError, match="misreport_length cannot happen to an operation of sync_event"):
        FaultRule("misreport_length", "sync_event")


@pytest.mark.parametrize(("text", "nanoseconds"), [("3us", 3_000), (" 1.5 ms ", 1_500_000), (0.25, 250_000_000)])
def test_times_have_units(text, nanoseconds):
    assert FaultRule("delay", by=text)._engines.by == nanoseconds


def test_one_plan_is_in_force():
    with FaultPlan(), pytest.raises(pydoca.AlreadyExistError, match="remove that first"):
        FaultPlan().install()
    with pytest.raises(pydoca.InvalidValueError, match="give one plan, or rules"), inject(FaultPlan(), FaultPlan()):
        pass


def test_rules_select_by_side():
    with inject(FaultRule("fail", "sync_event.set", side="dpu", status="not_permitted")):
        for name, fails in (("pf0", False), ("p0", True)):
            with pydoca.open_device(name) as device, pydoca.SyncEvent(device) as event:
                if fails:
                    with pytest.raises(pydoca.NotPermittedError, match=r"the fault plan's rule 1 failed it"):
                        event.update_set(1)
                else:
                    event.update_set(1)


def test_a_side_without_a_device_is_told_of():
    plan = FaultPlan(FaultRule("fail", "dma.memcpy", device="pf0", side="dpu"))
    with pytest.warns(FaultPlanWarning, match='no device of the DPU is called "pf0"'), plan:
        pydoca.open_device("pf0").close()


TOML = """
seed = 4

[[rule]]
action = "fail"
opcode = "dma.memcpy"
status = "driver"
"""


def test_a_file_has_the_same_keys(tmp_path, copies):
    file = tmp_path / "plan.toml"
    file.write_text(TOML)
    plan = FaultPlan.load(file)
    assert plan.rules == (FaultRule("fail", "dma.memcpy", status="driver"),)
    assert plan.seed == 4
    file.write_text(TOML + "by = 3\n")
    with pytest.raises(pydoca.InvalidValueError, match=f"{re.escape(str(file))}: rule 1: fault rule fail: by is a key"):
        FaultPlan.load(file)
    file.write_text("[[rule")
    with pytest.raises(pydoca.InvalidValueError, match=re.escape(str(file))):
        FaultPlan.load(file)


# ---- Programs of their own

COPY = """
import pydoca
device = pydoca.open_device("p0")
with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device, num_tasks=4) as dma:
    inventory = pydoca.BufInventory(4)
    src, dst = device.mmap(b"x" * 64), device.mmap(pydoca.alloc(64))
    task = dma.memcpy(inventory.get_by_data(src), inventory.get_by_addr(dst))
    print("submitted", flush=True)
    task.wait()
    print("done")
"""


def run(program: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **env}, capture_output=True, text=True, timeout=150
    )


def test_the_environment_names_a_plan(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(TOML)
    assert "pydoca.DriverError" in run(COPY, PYDOCA_FAULTS=str(file)).stderr
    result = run("import pydoca; pydoca.devices()", PYDOCA_FAULTS=str(file))
    assert result.returncode == 0
    assert "FaultPlanWarning: rule 1 of the fault plan" in result.stderr
    assert "the environment's PYDOCA_FAULTS: " in run("import pydoca; pydoca.devices()", PYDOCA_FAULTS="/absent").stderr
    program = "import pydoca; pydoca.faults.FaultPlan().install(); pydoca.devices()"
    assert "is not used: a plan is in force" in run(program, PYDOCA_FAULTS=str(file)).stderr


def test_pydoca_does_not_import_faults():
    assert run("import sys, pydoca; print('pydoca.faults' in sys.modules)").stdout == "False\n"


def test_ctrl_c_ends_the_wait_for_a_dropped_completion(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text('[[rule]]\naction = "drop"\n')
    for program in (COPY, COPY.replace("task.wait()", "import asyncio; asyncio.run(wait(task))", 1)):
        wait = "async def wait(task): await task\n"
        process = subprocess.Popen(
            [sys.executable, "-c", wait + program],
            env={**os.environ, "PYDOCA_FAULTS": str(file)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "submitted\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert "KeyboardInterrupt" in errors
        assert process.returncode in (1, -signal.SIGINT, 130)


@pytest.mark.parametrize("action", ["kill", "freeze"])
def test_a_process_kills_or_stops_itself(action):
    program = f"""
import pydoca
from pydoca import faults
faults.FaultPlan(faults.FaultRule("{action}", "dma.memcpy")).install()
""" + COPY.replace("task.wait()", "task.wait(); print('continued', flush=True)")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    if action == "freeze":
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert os.WSTOPSIG(status) == signal.SIGSTOP
        process.send_signal(signal.SIGCONT)
        output, _ = process.communicate(timeout=20)
        assert output.endswith("done\n")
    else:
        assert process.wait(timeout=20) == -signal.SIGKILL
        process.communicate()


PEER = """
import asyncio, sys, pydoca
from pydoca import comch, faults
async def main():
    device = pydoca.open_device("0b:00.0", side="host")
    async with pydoca.ProgressEngine() as pe, comch.Client(pe, device, "faulty") as link:
        for number in range(8):
            await link.send(b"%d" % number)
            await link.recv()
asyncio.run(main())
"""


def test_a_peer_that_dies_by_its_plan_is_noticed(commands, tmp_path):
    file = tmp_path / "kill.toml"
    file.write_text('[[rule]]\naction = "kill"\nopcode = "comch.send"\nnth = 4\n')
    server = textwrap.dedent("""
        import asyncio, pydoca
        from pydoca import comch
        async def main():
            device = pydoca.open_device("03:00.0", side="dpu")
            rep = device.open_representor("0b:00.0")
            async with pydoca.ProgressEngine() as pe, comch.Server(pe, device, rep, "faulty") as server:
                link = await server.accept()
                count = 0
                try:
                    while True:
                        await link.recv()
                        count += 1
                        await link.send(b"ok")
                except pydoca.DocaError as error:
                    print(count, type(error).__name__)
        asyncio.run(main())
    """)
    served = commands.start_program([sys.executable, "-c", server])
    peer = commands.start_program([sys.executable, "-c", PEER], env={**commands.env, "PYDOCA_FAULTS": str(file)})
    output, errors = served.communicate(timeout=40)
    peer.communicate(timeout=20)
    assert peer.returncode == -signal.SIGKILL
    assert output == "3 ConnectionResetError\n", errors


def test_nothing_is_left_after_plans(copies):
    def everything() -> None:
        rules = [
            FaultRule("drop", "dma.memcpy", nth=1),
            FaultRule("delay", "dma.memcpy", by="1 ms", nth=2),
            FaultRule("duplicate", "dma.memcpy", nth=3),
            FaultRule("corrupt", "dma.memcpy", nth=4),
            FaultRule("misreport_length", "dma.memcpy", nth=5),
        ]
        with inject(*rules):
            rig = Copies()
            dropped = rig.submit()
            for _ in range(4):
                rig.copy()
            with contextlib.suppress(pydoca.ShutdownError):
                rig.dma.stop()
            del dropped
            rig.close()
        gc.collect()

    everything()
    before = descriptors()
    for _ in range(5):
        everything()
    assert descriptors() == before


# ---- The fixture

pytest_plugins = ["pytester"]


def test_the_fixture_puts_a_plan_in_force_for_one_test(pytester):
    pytester.makepyfile(
        """
        import pytest, pydoca
        from pydoca.faults import FaultPlan, FaultRule

        def test_one(pydoca_faults):
            plan = pydoca_faults(FaultRule("misreport_capability", device="p0", capabilities={"dma": False}))
            assert pydoca.open_device("p0").info.capabilities.dma is None
            assert plan.is_in_force

        def test_two(pydoca_faults):
            with FaultPlan():
                pass
            pydoca_faults({"action": "fail", "device": "p9"}, seed=3)
        """
    )
    result = pytester.runpytest_subprocess("-pno:cacheprovider", "-pno:hypothesispytest", timeout=150)
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*has met nothing: no device is called*", "*2 passed*"])


def test_the_plugin_imports_pydoca_where_it_is_used(pytester: Any):
    pytester.makepyfile("import sys\ndef test_it(): assert 'pydoca' not in sys.modules")
    pytester.runpytest_subprocess("-pno:cacheprovider", "-pno:hypothesispytest", timeout=150).assert_outcomes(passed=1)
    assert Path(faults.__file__).is_file()


@pytest.mark.parametrize("rule", ["plan.toml", 5, None])
def test_what_is_neither_plan_nor_rule_is_a_type_error(rule):
    with pytest.raises(TypeError, match="inject: takes a FaultPlan, or rules"), faults.inject(rule):
        pass


@pytest.mark.parametrize("rules", [5, None, [FaultRule("fail")]])
def test_a_plan_takes_rules_one_by_one(rules):
    with pytest.raises(TypeError, match=r"one by one, as FaultPlan\(\*rules\), not"):
        FaultPlan(rules)


def test_a_key_that_is_not_a_word_is_named():
    with pytest.raises(TypeError, match="fault rule: key must be a str, not int"):
        FaultPlan({1: 2})
