"""A run under pytest: the choice of devices, the plan, cases and their verdicts, interrupts, the way on after them."""
