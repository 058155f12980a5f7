"""Progress engines in asyncio's event loops; imported by the first await."""
