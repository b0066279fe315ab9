"""What the plans of inference and training share."""
