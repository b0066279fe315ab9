"""Seconds as evidence: what a plan is estimated to take on a described system, with the source of every figure.

Everything else here is exact. These estimates are floating-point numbers, are beside a plan and never in one, and say that they are
estimates wherever they are shown.
"""
