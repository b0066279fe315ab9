"""What is alive and what is held, against what texts state."""
