"""pydoca's plug-in for pytest (`plugin.py`), a package of its own: pytest starts without pydoca, and the other way."""
