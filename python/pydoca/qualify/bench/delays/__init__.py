"""What comes late: the device's operations and waits, told apart from what the machine does to the tester's threads."""
