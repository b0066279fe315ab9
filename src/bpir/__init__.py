"""bpir: readable, exact and proved symbolic work for Transformer training and inference."""
