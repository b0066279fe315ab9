"""A distributed block on the ranks of its mesh."""
