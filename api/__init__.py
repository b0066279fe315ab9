"""The face for programs and notebooks: `import bpir` shows what is here.

It says in Python what the tools say on the command line, and adds nothing to it: `Module.run` is `bp-opt`, `Module.verify` is `bp-verify`,
`Module.report` is `bp-report`.
"""
