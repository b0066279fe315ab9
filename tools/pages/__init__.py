"""Docstrings in parts, for `--explain` and the pages of the documentation."""
