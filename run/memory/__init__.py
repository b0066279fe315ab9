"""The values that are alive and held, against what the texts state."""
