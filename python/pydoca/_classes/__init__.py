"""What the classes of the extension get from Python."""
