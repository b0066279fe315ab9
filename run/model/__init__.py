"""The model on whole arrays: its steps, values and gradients."""
