"""Runs under xdist: the controller writes the records, its workers run cases and write samples."""
