"""The report of a fleet: one page, in the style of the reports of runs, which it links to."""
