"""Tasks of every library: what they write and where, what they refuse, how many there can be, and how late they are."""
