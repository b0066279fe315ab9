"""Sweeps: every strategy of a grid, from one derivation of each structure, counted exactly with arrays.

Everything here needs NumPy, and rows on disk DuckDB: `pip install bpir[sweep]`.
"""
