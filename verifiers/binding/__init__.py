"""Whether a concrete plan does what its portable plan says."""
