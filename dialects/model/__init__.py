"""The `model` dialect: tensors and operations of a model, and nothing of parallelism, devices or time.

Each operation states in one place its syntax, its shapes, which axes it can take sharded, its weights and its work.
"""

from bpir.dialects import bp as bp
from bpir.dialects.model import attention, elementwise, embedding, linear, network, norm, rope, structure
from bpir.ir.dialect import Dialect, declare

declare(Dialect("model", "model", "ModelIR", holder="model.block"))

__all__ = ["attention", "elementwise", "embedding", "linear", "network", "norm", "rope", "structure"]
