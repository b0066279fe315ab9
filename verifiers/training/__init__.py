"""Whether a distributed module trains a model."""
