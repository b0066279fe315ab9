"""The `model` dialect: tensors and operations of a model, and nothing of parallelism, devices or time.

Each operation states in one place its syntax, its shapes, which axes it can take sharded, its weights and its work. A file of this folder
is found by being here.
"""

from importlib import import_module

from bpir.dialects import bp as bp
from bpir.dialects import modules_in
from bpir.ir.dialect import Dialect, declare

declare(Dialect("model", "model", "ModelIR", holder="model.block"))

_NO_OPERATIONS = ("conventions", "macro")
"""The modules that derivations and judges import for their questions about operations."""

for _name in modules_in(__path__):
    if _name not in _NO_OPERATIONS:
        import_module(f"{__name__}.{_name}")
