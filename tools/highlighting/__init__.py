"""Colours for the language: the lexer of Pygments, and the grammar of VS Code made from it."""
