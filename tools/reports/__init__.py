"""Reports: what a module says, as values, tables, JSON."""
