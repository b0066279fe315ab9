"""The relations that are declared between symbols, and what follows from them: proved, refuted with numbers, or unknown."""
