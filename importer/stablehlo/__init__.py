"""From a function in StableHLO, as JAX exports it, to a block of a model."""
