"""The texts that a tool reads: sections of a file, expected diagnostics, a reproducer, canonical form, the source of a definition."""
