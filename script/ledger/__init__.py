"""The ledger of speed: runs the reports, compares revisions, and keeps the ratios of each machine. See script/bench."""
