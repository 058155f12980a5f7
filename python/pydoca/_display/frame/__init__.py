"""What all displays have in common: the card, how it is read, and how it becomes HTML, SVG and text."""
