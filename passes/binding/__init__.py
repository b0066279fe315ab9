"""Binding of a plan to a target."""
