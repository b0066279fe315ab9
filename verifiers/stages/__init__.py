"""Whether the stages of a pipeline run what the network calls, and fit."""
