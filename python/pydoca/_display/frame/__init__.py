"""The common parts of all displays: the panel, how it is read, and how it becomes HTML, SVG and text."""
