"""MLIR's builtin attributes and types, and its formats of floating-point numbers."""
