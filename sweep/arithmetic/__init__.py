"""Exact arithmetic of arrays: integers that cannot wrap, ratios, and the expressions evaluated with them."""
