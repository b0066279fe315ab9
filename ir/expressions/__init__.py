"""Exact symbolic expressions in positive integer symbols, by their normal form."""
