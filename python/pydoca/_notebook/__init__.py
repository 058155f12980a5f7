"""The extension of IPython and Jupyter: `%load_ext pydoca`."""
