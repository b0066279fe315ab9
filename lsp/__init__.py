"""The language server: what an editor asks of a text that is being written, and answers from it.

`names.py` finds names and what they stand for from tokens alone, so that it answers while a text has mistakes; `document.py` keeps the last
text that could be read, for what needs types and sizes. Neither knows the protocol: `server.py` translates (pygls, `bpir[lsp]`).
"""
