"""A run on disk: its directory, and the forms in which others read it."""

from pydoca.qualify.results.directory import RunDirectory

__all__ = ["RunDirectory"]
