"""Whether a plan does what its distributed module says."""
