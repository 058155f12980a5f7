"""A kernel on the simulated DPA waits for a request of the CPU, adds up what it finds in memory, and answers."""

import argparse

import pydoca


def add_up(
    thread: pydoca.DpaThread, request: pydoca.DpaSyncEvent, answer: pydoca.DpaSyncEvent, numbers: memoryview
) -> None:
    request.wait_gt(0)
    answer.update_set(sum(numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, default=[1, 2, 3], metavar="NUMBER", help="0 to 255 each")
    arguments = parser.parse_args()

    with (
        pydoca.open_device(capability="dpa") as device,
        pydoca.Dpa(device) as dpa,
        pydoca.SyncEvent(device, subscriber=dpa) as request,
        pydoca.SyncEvent(device, publisher=dpa) as answer,
        device.mmap(bytes(arguments.numbers)) as numbers,
    ):
        dpa.register("add_up", add_up)
        run = dpa.launch("add_up", request.dpa_handle(dpa), answer.dpa_handle(dpa), dpa.memory(numbers))
        request.update_set(1)
        answer.wait_gt_yield(0)
        run.wait()
        print(f"the DPA of {device.name} says {answer.get()}")


if __name__ == "__main__":
    main()
