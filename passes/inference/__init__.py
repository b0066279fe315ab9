"""Inference: one phase of a model as one rank's tasks, and its plan."""
