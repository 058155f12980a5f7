"""One event, several subscribers: the host counts rounds, and every DPU process acknowledges each of them."""

import argparse
import multiprocessing
import sys

import pydoca


def subscribe(round_blob: bytes, seen_blob: bytes, rounds: int) -> None:
    """A process of the DPU."""
    with (
        pydoca.open_device("03:00.0", side="dpu") as dev,
        dev.import_sync_event(round_blob) as round_event,
        dev.import_sync_event(seen_blob) as seen_event,
    ):
        for number in range(1, rounds + 1):
            round_event.wait_gt_yield(number - 1)
            seen_event.update_add(1)


def publish(subscribers: int, rounds: int) -> int:
    """The host's process; returns the number of acknowledgements."""
    spawn = multiprocessing.get_context("spawn")  # a forked child could not use the objects of its parent
    with (
        pydoca.open_device("0b:00.0", side="host") as dev,
        pydoca.SyncEvent(dev, publisher="cpu", subscriber="remote_pci") as round_event,
        pydoca.SyncEvent(dev, publisher="remote_pci", subscriber="cpu") as seen_event,
    ):
        blobs = round_event.export_to_remote_pci(), seen_event.export_to_remote_pci()
        processes = [spawn.Process(target=subscribe, args=(*blobs, rounds)) for _ in range(subscribers)]
        for process in processes:
            process.start()
        for number in range(1, rounds + 1):
            round_event.update_set(number)
            seen_event.wait_eq_yield(subscribers * number, timeout=30)
        for process in processes:
            process.join()
        return seen_event.get()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subscribers", nargs="?", type=int, default=3)
    parser.add_argument("rounds", nargs="?", type=int, default=1000)
    arguments = parser.parse_args()
    subscribers, rounds = arguments.subscribers, arguments.rounds
    seen = publish(subscribers, rounds)
    print(f"{subscribers} subscribers acknowledged {rounds} rounds: {seen} in all")
    sys.exit(seen != subscribers * rounds)
