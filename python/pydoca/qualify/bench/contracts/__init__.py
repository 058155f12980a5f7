"""Promises of the public API, one by one."""
