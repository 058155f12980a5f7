"""The report of a run: one page for people, complete in itself; and a measurement as notebooks show it."""

from pydoca.qualify.report.measured import Measured
from pydoca.qualify.report.page import report_html

__all__ = ["Measured", "report_html"]
