"""bpir: readable, exact and proved symbolic work for Transformer training and inference."""

__version__ = "0.1.0"
