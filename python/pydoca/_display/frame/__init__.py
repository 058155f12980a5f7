"""What all displays have in common: the panel, how it is read, and how it becomes HTML, SVG and text."""
