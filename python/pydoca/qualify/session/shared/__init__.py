"""The things that xdist's controller and its workers tell each other."""
