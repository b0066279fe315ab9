"""What is declared about symbols, and what follows from it: proved, refuted with numbers, or unknown."""
