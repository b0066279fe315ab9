"""Actions of the grammar: each builds the IR of one rule."""
