"""The structure of a module by itself, level by level."""
