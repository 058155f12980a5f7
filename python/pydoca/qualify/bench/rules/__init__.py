"""Rules that hold for contexts, tasks and connections of every library."""
