"""Whether a distributed module is one rank's part of a model."""
