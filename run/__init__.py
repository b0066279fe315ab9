"""Numbers that run: a `dist` block on simulated ranks, compared with its model on whole arrays.

Nothing here asks how a text was derived. It reads types, operands, lineage and work of the text, and one table of what each
operation computes (`run/operations/`). NumPy is needed (`pip install 'bpir[run]'`).
"""
