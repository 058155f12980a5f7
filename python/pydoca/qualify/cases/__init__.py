"""The cases of the qualification, a file for each group. docs/qualification.md lists them."""
