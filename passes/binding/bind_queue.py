"""Binding to a machine with queues."""

from __future__ import annotations

from bpir.passes.binding.binding import BindTargetPass


class BindReferenceQueueTargetPass(BindTargetPass):
    r"""Binds a plan to a queue machine: commands on a compute, a collective, a transfer and a host queue, buffers at aligned offsets.

    Boundary: portable-plan IR to concrete-plan IR.

    Input invariant: a plan whose tasks are in the order of their dependencies; a `bind.target` of kind `queue` and a
    `bind.deployment`, in the file or in the one that `target_file` names.

    Equations (for every task $i$ and buffer $i$, in the order of the plan):

    - E1: $W_i^{concrete} = W_i^{plan}$
    - E2: $a_i = \max(16, r_i)$, with $r_i$ the larger of the buffer's and the target's alignment
    - E3: $o_0 = 0$
    - E4: $o_i = \lceil (o_{i-1} + s_{i-1}) / a_i \rceil a_i$

    Each queue issues the stable subsequence of the topological order; barriers and host calls share the host queue.

    Conserved: tasks (one command each), dependencies, buffers and their sizes, what reads and writes them, work.

    Deviations from the papers: none; a deterministic reference contract, no paper. Buffers never share memory, whatever their
    lifetimes.

    Evidence (structural verifier and cross-boundary predicates): the rules of the envelope (concrete.R1 to R8), of the dialect
    (queue.R1 to R4) and of the boundary (bind-queue.R1 to R17), each with a module that it refuses; the layout and what the target's
    dialect adds are a canonical construction, which the gate states in its own words; layouts are compared with integer arithmetic on
    random sizes. E1 to E4 are proved from this text against bound plans in `tests/project/equations/`. Unverified: no machine has
    run a bound plan; the target is a reference, not a product.

    Example:

        $ bp-opt examples/gpt3_175b.bpir --pass=distribute-inference --pass=plan-inference --pass=bind-queue

    References: none; the contract is `dialects/concrete/contract.py` and `dialects/queue.py`.
    """

    name = "bind-queue"
    kind = "queue"
