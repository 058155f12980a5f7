"""Engines of measurement and of verified data: functions of a device that do not use pytest.

Each checks every byte that it moves, and raises a DeviceFault that says what the device did wrong. Generators that take
`until` go on until that function is true; they call it between samples.
"""
