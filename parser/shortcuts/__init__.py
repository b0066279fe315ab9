"""Ways to read a part of a text at once, which the grammar would read token by token; what they don't know, it reads."""
