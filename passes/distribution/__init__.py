"""What the distributions of inference and training share."""
