"""Late operations and waits of the device, told apart from delays of the tester's threads by the machine."""
