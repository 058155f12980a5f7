"""The rules of the driver of one process, a file per noun."""
