"""The report of a run: one page for people, complete in itself."""

from pydoca.qualify.report.page import report_html

__all__ = ["report_html"]
