"""The process in which a worker runs pytest: python -m pydoca.qualify.fleet.child PARENT WORD...

It dies with its worker, so that a killed worker leaves the device free for the next one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from pydoca.qualify.spelling import spelled_output
from pydoca.qualify.start import QUIET_IMPORTS, without_settings

_PR_SET_PDEATHSIG = 1


def main() -> int:
    _die_with(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker may ignore it
    import pytest

    from pydoca.qualify.front_end import FrontEnd

    with without_settings(), spelled_output():
        return int(pytest.main([*QUIET_IMPORTS, *sys.argv[2:]], plugins=[FrontEnd("pydoca qualify")]))


def _die_with(parent: int) -> None:
    """The kernel ends this process with the thread that started it, which waits for it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it had ended before
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
