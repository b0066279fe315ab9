"""What makes a short run short: files that a run keeps for those after it. It imports nothing of ours."""
