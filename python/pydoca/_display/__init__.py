"""How objects show themselves in notebooks, files and terminals. Nothing here is imported before the first display."""
