"""Processes that a program starts beside itself, for the other side of the fabric."""
