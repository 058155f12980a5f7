"""Tasks of every library: the bytes that they write, their refusals, their number, and their lateness."""
