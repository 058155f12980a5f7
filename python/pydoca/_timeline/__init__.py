"""Timelines of traces: their lanes, as a picture, and as a file for Perfetto."""
