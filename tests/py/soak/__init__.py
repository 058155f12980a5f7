"""Random drivers: programs that use pydoca at random for as long as they are told, and find what no test thought of.

`one_process` is a state machine of Hypothesis (`machine.py`) over the public API: its rules are in one file per noun,
each with the model that predicts what the rules see. `two_processes` starts a host and a DPU (`peer.py`), which work
with one another while it kills, stops, interrupts and ends them, and starts successors.

    PYTHONPATH=tests/py .venv/bin/python -m soak one_process --seconds 60
    PYTHONPATH=tests/py .venv/bin/python -m soak two_processes --seconds 60 --seed 7

A finding ends the program with exit code 1, and with the line that repeats it. script/soak runs them for an hour,
script/test for seconds.
"""
