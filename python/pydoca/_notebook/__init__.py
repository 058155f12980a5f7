"""What pydoca adds to IPython and Jupyter: `%load_ext pydoca`."""
