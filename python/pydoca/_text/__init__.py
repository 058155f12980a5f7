"""What users write: words that are compared with the known ones, and numbers with their units."""
