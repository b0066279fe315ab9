"""Binding to a machine that issues commands in slots of cycles."""

from __future__ import annotations

from bpir.passes.binding.binding import BindTargetPass


class BindReferenceSlotTargetPass(BindTargetPass):
    r"""Binds a plan to a slot machine: a cycle and a slot for each command, a route for each transfer, buffers at aligned offsets.

    Boundary: portable-plan IR to concrete-plan IR.

    Input invariant: a plan whose tasks are in the order of their dependencies; a `bind.target` of kind `slot` and a
    `bind.deployment`, in the file or in the one that `target_file` names.

    Equations (for every task $i$ and buffer $i$, in the order of the plan):

    - E1: $W_i^{concrete} = W_i^{plan}$
    - E2: $a_i = \max(16, r_i)$, with $r_i$ the larger of the buffer's and the target's alignment
    - E3: $o_0 = 0$
    - E4: $o_i = \lceil (o_{i-1} + s_{i-1}) / a_i \rceil a_i$
    - E5: $\mathrm{cycle}_i = i$, $\mathrm{slot}_i = 0$

    Issue order: for every dependency of $t_i$ on $t_j$ the cycle of $t_j$ is below that of $t_i$ (slot.R3). A route leads from the
    device of a transfer's first rank to that of its second, where the deployment has a link.

    Conserved: tasks (one command each), dependencies, buffers and their sizes, what reads and writes them, work.

    Deviations from the papers: none; a deterministic reference contract, no paper. A cycle counts issues, not time.

    Evidence (target-extension verifier and dependency-order proof): the rules of the envelope (concrete.R1 to R8), of the dialect
    (slot.R1 to R5, of which R3 proves the order of every dependency) and of the boundary (bind-slot.R1 to R17), each with a module
    that it refuses; the layout and what the target's dialect adds are a canonical construction, which the gate states in its own words;
    layouts are compared with integer arithmetic on random sizes. E1 to E5 are proved from this text against bound plans in
    `tests/project/equations/`. Unverified: no machine has run a bound plan; the target is a reference, not a product.

    Example:

        $ bp-opt examples/gpt3_175b.bpir --pass=distribute-inference --pass=plan-inference --pass=bind-slot

    References: none; the contract is `dialects/concrete/contract.py` and `dialects/slot.py`.
    """

    name = "bind-slot"
    kind = "slot"
