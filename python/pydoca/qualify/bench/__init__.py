"""Engines of measurement and of verified data: functions of a device, which know nothing of pytest.

Each checks every byte that it moves, and raises a DeviceFault that says what the device did wrong. Generators that take
`until` go on until that function is true, which they call between samples.
"""
