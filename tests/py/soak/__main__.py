"""The drivers' command line: `python -m soak PART [--seconds N] [--seed N] [--seeds N]`."""

import argparse
import importlib
import os
import secrets
import signal
import sys

PARTS = ("one_process", "two_processes", "explore")


def main() -> None:
    parser = argparse.ArgumentParser(prog="soak", description="Uses pydoca at random, and ends at the first finding.")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("PYDOCA_SOAK_SECONDS", "10")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PYDOCA_SEED", "0")) or None)
    parser.add_argument("--seeds", type=int, help="of explore: ends after that many, if the time is not over by then")
    arguments = parser.parse_args()
    options = {"seeds": arguments.seeds} if arguments.part == "explore" else {}
    seed = secrets.randbelow(1 << 31) + 1 if arguments.seed is None else arguments.seed
    print(f"{arguments.part}: seed {seed}, {arguments.seconds:g} s", flush=True)
    # A shell starts its background jobs with interrupts ignored, which the drivers' processes would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PYDOCA_BACKEND"] = "sim"
    try:
        importlib.import_module(f"soak.{arguments.part}").main(seed, arguments.seconds, **options)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
