"""Operations and collectives on arrays: against hand arithmetic, and gradients against forward by the complex step."""

from __future__ import annotations

import numpy as np
import pytest
from support import example, read, run

from bpir.dialects.bp import symbol_table
from bpir.ir.diagnostic import DiagnosticError
from bpir.run.call import Array, Call, Operand
from bpir.run.check import check
from bpir.run.operations import SEMANTICS
from bpir.run.operations.elementwise import Gelu
from bpir.run.ranks.collectives import Exchange, all_gather, all_reduce, reduce_scatter
from bpir.run.ranks.mesh import Layout, Mesh
from bpir.run.sizes import choose

RANDOM = np.random.default_rng(0)


def call(*arrays: Array, weights: tuple[Array, ...] = (), says: frozenset[str] = frozenset(), **more: object) -> Call:
    """A call on arrays of two bytes an element."""
    from fractions import Fraction

    return Call([Operand(array, index, Fraction(2)) for index, array in enumerate(arrays)], weights, says, **more)  # type: ignore[arg-type]


def slope(
    kind: str, arrays: list[Array], weights: list[Array], which: int, says: frozenset[str], dy: Array, features: tuple[int, ...]
) -> Array:
    """The gradient of one operand or weight, element by element, by the complex step."""
    target = [*arrays, *weights][which]
    found = np.zeros_like(target)
    for index in np.ndindex(*target.shape):
        moved = [array.astype(complex) for array in (*arrays, *weights)]
        moved[which][index] += 1e-30j
        made = call(*moved[: len(arrays)], weights=tuple(moved[len(arrays) :]), says=says, features=features, **ROUTED)
        found[index] = np.sum(SEMANTICS[kind].forward(made)[0].imag * dy) / 1e-30
    return found


B, S, H, F, HEADS, SIZE = 2, 3, 4, 5, 4, 2
CASES = {
    "linear": ([(B, S, H)], [(H, F)], frozenset(), (F,)),
    "linear bias": ([(B, S, HEADS, SIZE)], [(HEADS, SIZE, H), (H,)], frozenset({"bias"}), (H,)),
    "layer_norm": ([(B, S, H)], [(H,), (H,)], frozenset(), ()),
    "rms_norm": ([(B, S, H)], [(H,)], frozenset(), ()),
    "gelu": ([(B, S, H)], [], frozenset(), ()),
    "silu": ([(B, S, H)], [], frozenset(), ()),
    "relu": ([(B, S, H)], [], frozenset(), ()),
    "softmax": ([(B, S, HEADS, S)], [], frozenset(), ()),
    "softmax sinks": ([(B, S, HEADS, S)], [(HEADS,)], frozenset({"sinks"}), ()),
    "layer_norm over heads": ([(B, S, HEADS, SIZE)], [(SIZE,), (SIZE,)], frozenset({"over"}), ()),
    "rms_norm over heads": ([(B, S, HEADS, SIZE)], [(SIZE,)], frozenset({"over"}), ()),
    "layer_norm without beta": ([(B, S, H)], [(H,)], frozenset({"no_beta"}), ()),
    "layer_norm without weights": ([(B, S, H)], [], frozenset({"no_weights"}), ()),
    "layer_norm for each head": ([(B, S, HEADS, SIZE)], [(HEADS, SIZE)], frozenset({"over", "per_head", "no_beta"}), ()),
    "rms_norm for each head": ([(B, S, HEADS, SIZE)], [(HEADS, SIZE)], frozenset({"over", "per_head"}), ()),
    "gelu_erf": ([(B, S, H)], [], frozenset(), ()),
    "quick_gelu": ([(B, S, H)], [], frozenset(), ()),
    "relu2": ([(B, S, H)], [], frozenset(), ()),
    "sigmoid": ([(B, S, H)], [], frozenset(), ()),
    "tanh": ([(B, S, H)], [], frozenset(), ()),
    "softcap": ([(B, S, H)], [], frozenset(), ()),
    "scale": ([(B, S, H)], [], frozenset(), ()),
    "rope": ([(B, S, HEADS, SIZE)], [], frozenset(), ()),
    "add": ([(B, S, H), (B, S, H)], [], frozenset(), ()),
    "mul": ([(B, S, H), (B, S, H)], [], frozenset(), ()),
    "batch_matmul": ([(B, S, HEADS, S), (B, S, HEADS, SIZE)], [], frozenset(), ()),
    "batch_matmul transposed": ([(B, S, HEADS, SIZE), (B, S, HEADS, SIZE)], [], frozenset({"transposed"}), ()),
    "batch_matmul one head of K": ([(B, S, HEADS, SIZE), (B, S, 1, SIZE)], [], frozenset({"transposed"}), ()),
    "batch_matmul shared heads of V": ([(B, S, HEADS, S), (B, S, 2, SIZE)], [], frozenset(), ()),
    "latent_scores": ([(B, S, HEADS, SIZE), (B, S, HEADS, 3), (B, S, HEADS, SIZE), (B, S, 3)], [], frozenset(), ()),
    "router_scores bias": ([(B, S, H)], [(H, 7), (7,)], frozenset({"bias"}), (7,)),
    "router_choice": ([(B, S, 7)], [], frozenset(), ()),
    "router_choice sigmoid": ([(B, S, 7)], [], frozenset({"scores sigmoid"}), ()),
    "experts": ([(B, S, 2, H)], [(3, H, F)], frozenset(), (2, F)),
    "experts bias": ([(B, S, 2, H, SIZE)], [(3, H, SIZE, F), (3, F)], frozenset({"bias"}), (2, F)),
    "combine": ([(B, S, 2, H), (B, S, 2)], [], frozenset(), ()),
}
ROUTED = {"sizes": {"top": 2, "experts": 3}, "own": ((0, 3, 3),)}
"""Two rows a token, three experts."""


@pytest.mark.parametrize("case", CASES)
def test_every_gradient_rule_by_the_complex_step(case: str) -> None:
    """Each element of each gradient, to nearly all digits."""
    shapes, weight_shapes, says, features = CASES[case]
    kind = case.split()[0]
    semantics = SEMANTICS[kind]
    arrays, weights = ([RANDOM.standard_normal(shape) for shape in group] for group in (shapes, weight_shapes))
    made = call(*arrays, weights=tuple(weights), says=says, features=features, **ROUTED)
    (result,) = semantics.forward(made)
    dy = RANDOM.standard_normal(result.shape)
    known = {**{f"operand {index}": array for index, array in enumerate(arrays)}, "result 0": result}
    reads, of_weights = ([known[str(read)] for read in each] for each in (semantics.gradient_reads, semantics.weight_gradient_reads))
    gradients = semantics.gradient(call(dy, *reads, weights=tuple(weights), says=says, **ROUTED))
    if weights:
        gradients += semantics.weight_gradient(call(dy, *of_weights, says=says, **ROUTED))
    assert len(gradients) == len(arrays) + len(weights)
    for which, gradient in enumerate(gradients):
        expected = slope(kind, arrays, weights, which, says, dy, features)
        np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-12)


def test_a_mixture_of_experts_by_hand() -> None:
    """Row `i` goes to expert `i` modulo 3; two rows a token, so token 0 has the experts 0 and 1, token 1 the experts 2 and 0."""
    x, gate, up = (RANDOM.standard_normal(shape) for shape in ((1, 2, H), (H, 3), (3, H, F)))
    (route,) = SEMANTICS["router"].forward(call(x, weights=(gate,), sizes={"top": 2, "experts": 3}))
    (rows,) = SEMANTICS["dispatch"].forward(call(x, route))
    made = call(rows, weights=(up,), own=((0, 3, 3),), features=(2, F))
    (wide,) = SEMANTICS["experts"].forward(made)
    (found,) = SEMANTICS["combine"].forward(call(wide, route))
    for token, chosen in enumerate(((0, 1), (2, 0))):
        scores = np.exp(x[0, token] @ gate)
        expected = sum(scores[i] * (x[0, token] @ up[i]) for i in chosen) / sum(scores[i] for i in chosen)
        np.testing.assert_allclose(found[0, token], expected, rtol=1e-12)
    assert made.meter.matmul == 2 * 4 * H * F


def test_latent_attention_absorbed_is_the_same_function() -> None:
    """And of one head with one visible token it is the value that the latent gives, whatever the scores."""
    batch, tokens, visible, heads, latent, size, turned, values = 2, 3, 5, 4, 6, 3, 2, 5
    shapes = ((batch, tokens, heads, size), (batch, tokens, heads, turned), (batch, visible, latent), (batch, visible, turned))
    arrays = [RANDOM.standard_normal(shape) for shape in shapes]
    weights = tuple(RANDOM.standard_normal((latent, heads, width)) for width in (size, values))
    forward = SEMANTICS["latent_attention"].forward
    expanded, absorbed = (call(*arrays, weights=weights, says=says) for says in (frozenset[str](), frozenset({"absorbed"})))
    np.testing.assert_allclose(forward(expanded)[0], forward(absorbed)[0], rtol=1e-10)
    every, made = 2 * batch * heads, size + values
    assert expanded.meter.matmul == every * (visible * latent * made + tokens * visible * (made + turned))
    assert absorbed.meter.matmul == every * (tokens * latent * made + tokens * visible * (2 * latent + turned))
    (alone,) = forward(call(arrays[0], arrays[1], arrays[2][:, :1], arrays[3][:, :1], weights=weights))
    np.testing.assert_allclose(alone, np.broadcast_to(np.einsum("bcl,lhv->bchv", arrays[2][:, :1], weights[1]), alone.shape), rtol=1e-10)


def test_no_kind_is_left_out() -> None:
    """Every operation with a gradient is tested above, or is made of tested parts; dropout and dispatch are linear."""
    parts = {"attention", "kv_append", "transformer_block", "dropout", "last_token", "router", "latent_attention"} | LOSS | {"dispatch"}
    assert {case.split()[0] for case in CASES} | TABLES | parts == set(SEMANTICS)


LOSS = {"cross_entropy", "row_maximum", "row_exponentials", "row_logarithm"}
"""Computed by hand below, and as one by the complex step in tests/run/test_run_whole.py."""
TABLES = {"embedding", "positions"}
"""Their rows are looked up: of the gradient of a table a row is a sum over the tokens that have it, counted below by hand."""


def test_tables_by_hand() -> None:
    """Rows 2 and 3 of four lie on the second of two ranks: it gives 0 for token 1, and adds the gradients of both tokens 3."""
    table = np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    ids = np.array([[3, 1, 7]])  # 7 is row 3: numbers are taken modulo the rows
    part = call(ids, weights=(table[2:],), own=[(2, 2, 4)])
    (found,) = SEMANTICS["embedding"].forward(part)
    assert found.tolist() == [[[3.0, 3.5], [0.0, 0.0], [3.0, 3.5]]]
    assert part.meter.weights == 4
    dy = np.array([[[1.0, 2.0], [5.0, 7.0], [10.0, 20.0]]])
    (gradient,) = SEMANTICS["embedding"].weight_gradient(call(dy, ids, own=[(2, 2, 4)]))
    assert gradient.tolist() == [[0.0, 0.0], [11.0, 22.0]]
    x = np.zeros((2, 2, 2))
    later = [Operand(array, position=2) for array in (x, np.ones((2, 2, 2)))]  # of a rank of sequence parallelism that begins at token 2
    (moved,) = SEMANTICS["positions"].forward(Call(later[:1], (table,), own=[(0, 4, 4)]))
    assert moved[1].tolist() == [[2.0, 2.5], [3.0, 3.5]]
    (of_table,) = SEMANTICS["positions"].weight_gradient(Call(later[1:], own=[(0, 4, 4)]))
    assert of_table.tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0], [2.0, 2.0]]  # both sequences


def test_a_wrong_gradient_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model and ranks agree in a wrong rule; the complex step does not."""
    monkeypatch.setattr(Gelu, "derivative", lambda self, x: np.where(x.real > 0, 1.0, 0.1))
    model = example("mlp")
    (found,) = check(model, run(model, "distribute-training{tensor=t}"), {"B": 2, "S": 3, "H": 4, "F": 16, "t": 2, "e": 2})
    assert found.phases["backward"] < 1e-9
    assert found.gradients is not None and found.gradients > 1e-3
    assert "the semantics are wrong" in found.against[0].message


def test_attention_by_hand() -> None:
    """One query that sees two tokens whose scores are ln 3 and 0: three quarters of the first V, one of the second."""
    query = np.array([1.0, 0.0]).reshape(1, 1, 1, 2)
    key = np.array([[np.log(3.0), 7.0], [0.0, 9.0]]).reshape(1, 2, 1, 2)
    value = np.array([[4.0, 0.0], [8.0, 4.0]]).reshape(1, 2, 1, 2)
    made = call(query, key, value)
    (result,) = SEMANTICS["attention"].forward(made)
    np.testing.assert_allclose(result.reshape(-1), [5.0, 1.0])
    assert made.meter.matmul == 2 * 2 * 2 + 2 * 2 * 2  # two dot products of two, and two sums of two
    assert made.meter.bytes_read == 2 * (2 + 4 + 4)
    assert made.meter.scratch == 2 * 2


def test_a_loss_by_hand() -> None:
    """Logits ln 1, ln 2, ln 5 and the label 2, on two ranks of two: of the sum 8 the target is 5. The fourth column is padding."""
    logits = np.log(np.array([[[1.0, 2.0, 5.0, 1.0]]]))
    labels = np.array([[2]])
    parts = []
    highest = np.full((1, 1, 1), np.log(5.0))
    for rank in (0, 1):
        part = Operand(logits[..., 2 * rank : 2 * rank + 2], first=2 * rank, size=3)
        (largest,) = SEMANTICS["row_maximum"].forward(Call([part]))
        assert largest.item() == np.log([2.0, 5.0])[rank]
        (sums,) = SEMANTICS["row_exponentials"].forward(Call([part, Operand(highest), Operand(labels)]))
        parts.append(sums)
        dy = Operand(np.array([[[5 / 8, -1.0]]]))  # of the logarithm: the maximum's power over the sum, and the target
        (gradient,) = SEMANTICS["row_exponentials"].gradient(Call([dy, part, Operand(highest), Operand(labels)]))
        np.testing.assert_allclose(gradient.reshape(-1), [[1 / 8, 2 / 8], [5 / 8 - 1, 0.0]][rank])
    np.testing.assert_allclose(sum(parts).reshape(-1), [8 / 5, np.log(5.0)])
    (found,) = SEMANTICS["row_logarithm"].forward(Call([Operand(highest), Operand(sum(parts))]))
    np.testing.assert_allclose(found.item(), np.log(8 / 5))


def test_scores_that_count() -> None:
    """Three new tokens behind two of the cache see 3, 4 and 5 of 5; a window of 4 leaves 3, 4 and 4; half of 15 is 8."""
    query, key = np.ones((1, 3, 1, 2)), np.ones((1, 5, 1, 2))
    counted = {}
    for causal, window in (("", None), ("exact", None), ("exact", 4), ("half", None)):
        made = call(query, key, key, causal=causal, window=window)
        SEMANTICS["attention"].forward(made)
        counted[causal, window] = made.meter.matmul / (2 * 2 + 2 * 2)
    assert counted == {("", None): 15, ("exact", None): 12, ("exact", 4): 11, ("half", None): 8}


def test_a_sink_takes_its_share() -> None:
    """A score and a sink that are alike leave half of V."""
    query, key = np.zeros((1, 1, 1, 2)), np.zeros((1, 1, 1, 2))
    made = call(query, key, np.array([6.0, 2.0]).reshape(1, 1, 1, 2), weights=(np.zeros(1),), says=frozenset({"sinks"}))
    (result,) = SEMANTICS["attention"].forward(made)
    assert result.reshape(-1).tolist() == [3.0, 1.0]


def test_a_cache_of_a_window() -> None:
    """It holds three tokens: one more pushes out the first; of five new ones all are visible."""
    cache = np.arange(3.0).reshape(1, 3, 1, 1)
    one, five = np.full((1, 1, 1, 1), 9.0), np.arange(10.0, 15.0).reshape(1, 5, 1, 1)
    assert [array.reshape(-1).tolist() for array in SEMANTICS["kv_append"].forward(call(one, one, cache, cache))] == [[0.0, 1.0, 9.0]] * 2
    assert SEMANTICS["kv_append"].forward(call(five, five, cache, cache))[0].reshape(-1).tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]


def test_bytes_of_a_value_that_is_read_twice() -> None:
    """Every distinct operand is read once."""
    x = RANDOM.standard_normal((2, 3, 4))
    made = Call([Operand(x, "x", call(x).operands[0].width)] * 2)
    SEMANTICS["mul"].forward(made)
    assert made.meter.bytes_read == 2 * 24


MESH = Mesh({"data": 2, "tensor": 2})


def test_ranks_of_a_mesh() -> None:
    """The last axis runs fastest: rank 2 is (1, 0)."""
    assert MESH.coordinates(2) == {"data": 1, "tensor": 0}
    assert MESH.group(2, ["tensor"]) == [2, 3]
    assert MESH.group(3, ["data"]) == [1, 3]
    both = Layout((8,), (("data", "tensor"),))
    assert [MESH.ranges(both, rank) for rank in MESH.ranks] == [((0, 2),), ((2, 4),), ((4, 6),), ((6, 8),)]
    turned = Layout((8,), (("tensor", "data"),))
    assert [MESH.ranges(turned, rank) for rank in MESH.ranks] == [((0, 2),), ((4, 6),), ((2, 4),), ((6, 8),)]


def test_collectives_by_hand() -> None:
    """Rank r holds [r, 10 r] as a column; sums and orders are those of the axes."""
    arrays = [np.array([[rank], [10 * rank]]) for rank in MESH.ranks]
    over = lambda *axes: Exchange(MESH, arrays, axes)  # noqa: E731
    assert all_reduce(over(("tensor",)), 0).tolist() == [[0 + 1], [10]]
    assert all_reduce(over(("data",)), 0).tolist() == [[0 + 2], [20]]
    assert reduce_scatter(over(("tensor",), ()), 3).tolist() == [[10 * (2 + 3)]]
    assert all_gather(over((), ("data",)), 1).tolist() == [[1, 3], [10, 30]]
    assert all_gather(over((), ("tensor", "data")), 0).tolist() == [[0, 2, 1, 3], [0, 20, 10, 30]]
    assert all_gather(over(("data",), ("tensor",)), 3).tolist() == [[0, 1], [0, 10], [2, 3], [20, 30]]


SYMBOLS = """
module @m {{
  bp.symbols B, S, H, F, h, d, t, e {where}
  bind.strategy @tp {{tensor = t}}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {{
    %u = model.linear "mlp.expand" %x : [F]
    %v = model.linear "mlp.heads" %u : [h x d]
    %y = model.linear "mlp.contract" %v : [H]
    model.return %y
  }}
}}
"""


@pytest.mark.parametrize(
    "where", ["", "where H = h*d, F = 4*H", "where t | h, t | F, H > 3*F", "where h = H/d, 2*t | F", "where F*h = 60, B > 5"]
)
def test_numbers_are_chosen(where: str) -> None:
    """They satisfy the relations; sizes differ where nothing says otherwise, so that exchanged axes are noticed."""
    model = read(SYMBOLS.format(where=where))
    chosen = choose(model, model, {"S": 7}).numbers.values
    assert chosen["S"] == 7
    assert all(relation.holds(chosen) for relation in symbol_table(model).relations)
    if not where:
        assert len({chosen[name] for name in "BSHFhd"}) == 6 and min(chosen[name] for name in "BSHFhd") > 2


@pytest.mark.parametrize(
    ("where", "given", "said"),
    [
        ("where H = h*d", {"H": 7, "h": 2}, "found no small numbers"),
        ("where H = h*d", {"H": 7, "h": 2, "d": 3}, "'H = d*h' does not hold with H = 7, d = 3, h = 2"),
        ("", {"heads": 2}, "the files declare no such symbol"),
    ],
)
def test_numbers_that_cannot_be(where: str, given: dict[str, int], said: str) -> None:
    model = read(SYMBOLS.format(where=where))
    with pytest.raises(DiagnosticError) as caught:
        choose(model, model, given)
    assert said in caught.value.diagnostics[0].message


def test_the_search_is_bounded() -> None:
    """Twenty sizes of which no two may be what one equation wants: given up after so many steps, not after so much time."""
    names = [f"s{index}" for index in range(20)]
    text = f"module @m {{\n bp.symbols {', '.join(names)} where {' + '.join(names)} = 20000\n bp.assume s0 > 1\n}}\n"
    module = read(text)
    with pytest.raises(DiagnosticError, match="found no small numbers"):
        choose(module, module, {})
