"""Commands whose two halves are processes: how the halves meet, exchange messages and end together."""
