"""One process, one device: how far its time of day is off this machine's, and how fast its oscillator drifts."""

import argparse
import time

import pydoca


def drift_ppm(clock: pydoca.Clock, seconds: float) -> float:
    first = clock.crosstimestamp("host_monotonic_raw", "nic_free_running")
    time.sleep(seconds)
    last = clock.crosstimestamp("host_monotonic_raw", "nic_free_running")
    on_device = (last.nic - first.nic) / clock.free_running_frequency(clock.device.info) * 1e9
    return (on_device / (last.host - first.host) - 1) * 1e6


def main(seconds: float) -> None:
    with pydoca.open_device(capability="clock") as dev, pydoca.Clock(dev) as clock:
        text = f"{dev.name} drifts by {drift_ppm(clock, seconds):+.1f} ppm"
        if clock.is_supported(dev.info, "nic_real_time"):
            now = clock.crosstimestamp("host_real_time", "nic_real_time")
            text += f", and its time of day is {(now.nic - now.host) / 1e6:+.3f} ms off, give or take {now.accuracy} ns"
        print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to measure the drift (1)")
    main(parser.parse_args().seconds)
