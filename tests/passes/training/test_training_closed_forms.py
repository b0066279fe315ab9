"""The literature's closed forms of a layer's memory and work are proved equal to the plan's (`docs/conventions.md`).

The forms are those of Korthikanti et al. 2022 (Table 2) and of Narayanan et al. 2021 (operations of an iteration), by hand, with the
papers' letters: `s`, `b` tokens and sequences, `a` heads, two bytes an element, `F = 4H`, `H = a d`. What is derived is put to the same
letters by substitution only.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from support_training import BACKWARD, B, F, H, S, block, d, e, h, same, t

s, b, a = S, B, h
L, V = sympy.symbols("L V", integer=True, positive=True)
scores = 5 * a * s / H  # of one layer, over sbH

TENSOR: dict[str, object] = {"communication": "all_reduce"}
SEQUENCE: dict[str, object] = {"communication": "reduce_scatter_all_gather"}
REDO: dict[str, object] = {**SEQUENCE, "all_gather_redo": True}
SELECTIVE: dict[str, object] = {"recompute": "attention"}
FULL: dict[str, object] = {"recompute": "full"}

STORED: dict[str, tuple[dict[str, object], Any]] = {
    "one rank": ({"tensor": 1}, s * b * H * (34 + scores)),
    "tensor": (TENSOR, s * b * H * (10 + 24 / t + scores / t)),
    "tensor and sequence, gathered again": (REDO, s * b * H / t * (34 + scores)),
    "tensor and sequence": (SEQUENCE, s * b * H * (4 + 30 / t + scores / t)),
    "selective, tensor": ({**TENSOR, **SELECTIVE}, s * b * H * (10 + 24 / t)),
    "selective, tensor and sequence, gathered again": ({**REDO, **SELECTIVE}, 34 * s * b * H / t),
    "selective, tensor and sequence": ({**SEQUENCE, **SELECTIVE}, s * b * H * (4 + 30 / t)),
}
CHECKPOINT: dict[str, tuple[dict[str, object], Any]] = {
    "full": ({**TENSOR, **FULL}, 2 * s * b * H),
    "full, sequence": ({**SEQUENCE, **FULL}, 2 * s * b * H / t),
}
WITHOUT_DROPOUT = (
    ("context c dropout\n", "context c\n"),
    ('    %yd = model.dropout "attention.output_dropout" %y\n', ""),
    ("%yd, %x", "%y, %x"),
    ('    %wd = model.dropout "mlp.output_dropout" %w\n', ""),
    ("%wd, %r", "%w, %r"),
)


def in_the_papers_letters(value: Any) -> Any:
    """Two bytes, `F = 4H`; then both sides are compared with `H = a d`."""
    return value.subs({e: 2, F: 4 * H})


def equal(found: Any, form: Any) -> bool:
    return same(in_the_papers_letters(found).subs(H, a * d), form.subs(H, a * d))


@pytest.mark.parametrize("name", STORED)
def test_a_layer_stores_the_closed_form(name: str) -> None:
    chosen, form = STORED[name]
    step = block(**chosen)
    assert equal(step.memory("activation_stored"), form)
    assert same(step.memory("activation_checkpoint"), 0)


@pytest.mark.parametrize("name", CHECKPOINT)
def test_a_layer_that_is_recomputed_keeps_its_checkpoint(name: str) -> None:
    chosen, form = CHECKPOINT[name]
    step = block(**chosen)
    assert same(step.memory("activation_stored"), 0)
    assert equal(step.memory("activation_checkpoint"), form)


def test_a_layer_without_dropout_stores_32_and_two_a_score() -> None:
    step = block(*WITHOUT_DROPOUT, tensor=1)
    assert not [task.name for task in step.tasks if "dropout" in task.name]
    assert equal(step.memory("activation_stored"), s * b * H * (32 + 2 * a * s / H))


def test_no_two_of_the_forms_are_the_same() -> None:
    forms = [sympy.expand(form) for _, form in (*STORED.values(), *CHECKPOINT.values())]
    assert len(set(forms)) == 9


def test_the_forms_need_the_width_that_they_state() -> None:
    """With `F` free the MLP stores `4F/H` where the form has 16: the tests above can fail."""
    found = block(tensor=1).memory("activation_stored").subs(e, 2)
    assert not same(found.subs(H, a * d), STORED["one rank"][1].subs(H, a * d))
    assert same(found.subs(H, a * d), (s * b * (18 * H + 4 * F + 5 * a * s)).subs(H, a * d))


# --- Megatron's operations


def test_the_matrix_products_of_full_recomputation_are_megatron_s() -> None:
    r"""`96 B s l H^2 (1 + s/(6H) + V/(16lH))` per iteration (Narayanan et al. 2021): `B` sequences, `l` layers.

    A layer has `24 B s H^2 + 4 B s^2 H` in forward, twice that in backward, and forward again: 4 times forward. The head's share, `V`,
    is no part of a block: forward and backward, `6 B s H V`, which full recomputation doesn't repeat.
    """
    step = block(**FULL)
    assert same(step.sum("matmul", BACKWARD), 2 * step.sum("matmul", "forward"))
    assert same(step.sum("matmul", "recompute"), step.sum("matmul", "forward"))
    layer = in_the_papers_letters(t * step.sum("matmul", ("forward", "recompute", *BACKWARD))).subs(d, H / a)
    head = 6 * b * s * H * V
    assert same(layer, 96 * b * s * H**2 * (1 + s / (6 * H)))
    assert same(L * layer + head, 96 * b * s * L * H**2 * (1 + s / (6 * H) + V / (16 * L * H)))


def test_without_recomputation_an_iteration_is_three_forwards_and_not_four() -> None:
    layer = in_the_papers_letters(t * block().sum("matmul", ("forward", "recompute", *BACKWARD))).subs(d, H / a)
    assert same(L * layer + 6 * b * s * H * V, 72 * b * s * L * H**2 * (1 + s / (6 * H) + V / (12 * L * H)))


def test_selective_recomputation_repeats_one_product_of_attention() -> None:
    """The scores, `2 B s^2 H`; not the product with V, whose result nothing in backward but the projection reads, and that is kept."""
    again = in_the_papers_letters(t * block(**SELECTIVE).sum("matmul", "recompute")).subs(d, H / a)
    assert same(again, 2 * b * s**2 * H)
