"""Virtual time, and runs of a scenario under many seeds of it."""
