"""Hardware qualification: cases that a device passes, measures that limits judge, and a report of the run.

`pydoca qualify DEVICE` runs the cases of this package, `pytest --pyargs pydoca.qualify --pydoca-device=DEVICE` runs the
same ones, and a test of your own uses the same fixtures (`pytest --fixtures -p pydoca`).
"""
