"""The meanings of the names in the equations of operations of the model."""

from __future__ import annotations

from collections.abc import Mapping

from equation_names import B, H, Meanings, S, d, e, h, meaning, t, works
from formula_proof import Meaning
from support import read

from bpir.dialects.bp import ExprAttr, TensorType, product
from bpir.dialects.model.rules.conventions import Standard
from bpir.dialects.model.rules.layer_view import Choices, LayerView
from bpir.dialects.model.rules.layers import part_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import Elementwise, ModelOperation
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import ONE, ZERO, Expr, constant, maximum, symbol, total
from bpir.ir.operation import Operation, top_level
from bpir.verifiers.ssa.distinct_properties import counts_of


def choices(fused: bool) -> Choices:
    return Choices(t, ONE, False, "none", False, fused, True)


def rule_works(
    operation: Operation, sizes: Mapping[str, Expr], fused: bool = False, settings: tuple[tuple[str, ExprAttr], ...] = ()
) -> Meaning:
    """The work of the three tasks of an operation, on tensors that no axis shards."""
    rule = operation.declaration
    assert isinstance(rule, ModelOperation)
    types = [v.type for v in (*operation.operands, *operation.results)]
    tensors = [type for type in types if isinstance(type, TensorType)]
    count = len(operation.operands)
    local = part_of(rule, (*settings_of(operation), *settings), tensors[:count], tensors[count:], (True,) * count)
    view = LayerView(operation.name.partition(".")[2], rule, local)
    convention = Standard(choices(fused))
    room = list(rule.workspace(local))
    named = (("", convention.forward(view)), ("_dX", convention.activation_gradient(view)), ("_dW", convention.weight_gradient(view)))
    facts = {"w": rule.weights(local), "matmul": rule.matmul_operations(local), "scratch": rule.scratch(local)}
    facts["workspace"] = maximum(*room) if room else ZERO
    return Meaning(works({**sizes, "e": e, **facts}, *named))


def one(arguments: str, line: str) -> Operation:
    """The first operation of a block with the arguments."""
    symbols = "b, m, n, k, i, q, c, g, h, d, l, r, s, v, B, S, H, E, e"
    head = f"module {{\n  bp.symbols {symbols} where g | h, E > k\n"
    text = f"{head}  model.block @b({arguments}) {{\n    {line}\n    model.return %x\n  }}\n}}\n"
    return next(o for block in top_level(read(text)) if block.name == "model.block" for o in block.body)


def tensors(**shapes: str) -> str:
    return ", ".join(f"%{name}: !bp.tensor<{shape}, e>" for name, shape in shapes.items())


def lanes(name: str) -> Meanings:
    """Any operation of lanes that gives each operand as another tensor of its type: `n` are the elements of all operands."""
    rule = DECLARATIONS[name]
    assert isinstance(rule, ModelOperation)
    shapes = [shape for terms in rule.equation(frozenset()).lanes for shape in terms.operands]
    dims = [" x ".join(factor.removesuffix("*") for factor in shape) for shape in shapes]
    values = dict(zip(("x", "y", "z"), dims, strict=False))
    operation = one(tensors(**values), f'{", ".join(f"%r{v}" for v in values)} = {name} "l" {", ".join(f"%{v}" for v in values)}')
    size = total(product(v.type.dims) for v in operation.operands if isinstance(v.type, TensorType))
    return {"": [rule_works(operation, {"n": size})]}


def elementwise(name: str) -> Meanings:
    """Any operation element by element, whatever its factors."""
    rule = DECLARATIONS[name]
    assert isinstance(rule, Elementwise)
    counts = counts_of(rule)
    assert counts is not None
    operands = ", ".join(("%x", "%y")[: counts.operands[1]])
    operation = one(tensors(x="B x S x H", y="B x S x H"), f'%r = {name} "l" {operands}')
    sizes = {"n": B * S * H, "H": H}
    return {"": [rule_works(operation, sizes)], "with `fused_activation`": [rule_works(operation, sizes, fused=True)]}


@meaning("model.linear")
def _() -> Meanings:
    names = {"m": B * S, "n": symbol("n"), "k": symbol("k")}
    plain, biased = (one(tensors(x="B x S x n"), f'%y = model.linear "l" %x{flag} : [k]') for flag in ("", " bias"))
    return {"": [rule_works(plain, names)], "with a bias": [rule_works(biased, names)]}


@meaning("model.embedding")
def _() -> list[Meaning]:
    operation = one("%x: !bp.tensor<B x S, i32>", '%y = model.embedding "l" %x : [n] -> !bp.tensor<B x S x H, e>')
    return [rule_works(operation, {"m": B * S, "H": H, "V": symbol("n"), "i": constant(4)})]


def loss(line: str) -> list[Meaning]:
    """Of `r` tokens `n` logits of the width `e`, with labels of 4 bytes."""
    arguments = tensors(x="B x S x n") + ", %l: !bp.tensor<B x S, i32>"
    arguments += ", %m: !bp.tensor<B x S x 1, f32>, %s: !bp.tensor<B x S x 2, f32>"
    return [rule_works(one(arguments, line), {"r": B * S, "n": B * S * symbol("n"), "i": constant(4)})]


for _line in (
    '%y = model.cross_entropy "l" %x, %l',
    '%y = model.row_maximum "l" %x',
    '%y = model.row_exponentials "l" %x, %m, %l',
    '%y = model.row_logarithm "l" %m, %s',
):
    meaning(_line.split()[2])(lambda line=_line: loss(line))


@meaning("model.positions")
def _() -> list[Meaning]:
    operation = one(tensors(x="b x q x H"), '%y = model.positions "l" %x : [n]')
    return [rule_works(operation, {"b": symbol("b"), "q": symbol("q"), "H": H, "P": symbol("n")})]


@meaning("model.attention")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x d", y="b x c x g x d", z="b x c x g x d")
    sizes = {name: symbol(name) for name in "bqchgdn"}
    counted = (("pairs", ExprAttr(symbol("n"))),)

    def attention(flag: str) -> Meaning:
        return rule_works(one(arguments, f'%o = model.attention "l" %x, %y, %z{flag}'), sizes, settings=counted)

    dense = rule_works(one(arguments, '%o = model.attention "l" %x, %y, %z'), {**sizes, "n": symbol("q") * symbol("c")})
    return {"": [attention(""), dense], "with `softcap`": [attention(" softcap")], "with `sinks`": [attention(" sinks")]}


@meaning("model.softmax")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x c")
    rows = symbol("b") * symbol("q") * symbol("h")
    sizes = {"r": rows, "h": symbol("h"), "n": rows * symbol("c")}
    plain, sinks = (one(arguments, f'%o = model.softmax "l" %x{flag}') for flag in ("", " sinks"))
    return {"": [rule_works(plain, sizes)], "with `sinks`": [rule_works(sinks, sizes)]}


def normalization(name: str) -> Meanings:
    over, each = (one(tensors(x="B x S x h x d"), f'%r = {name} "l" %x over d{flag}') for flag in ("", " per_head"))
    whole = {flag: one(tensors(x="B x S x H"), f'%r = {name} "l" %x{flag}') for flag in _NORMS[name]}
    sizes = {"n": B * S * H, "H": H}
    heads = {"n": B * S * h * d, "H": d}
    return {
        "": [rule_works(whole[""], sizes), rule_works(over, heads), rule_works(each, {**heads, "H": h * d})],
        **{f"with `{flag.strip()}`": [rule_works(operation, sizes)] for flag, operation in whole.items() if flag},
    }


_NORMS = {"model.layer_norm": ("", " no_beta", " no_weights"), "model.rms_norm": ("",)}


for _norm in _NORMS:
    meaning(_norm)(lambda name=_norm: normalization(name))


@meaning("model.latent_attention")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x n", y="b x q x h x r", z="b x c x l", w="b x c x r")
    plain, absorbed = (one(arguments, f'%o = model.latent_attention "l" %x, %y, %z, %w values v{flag}') for flag in ("", " absorbed"))
    sizes = {**{name: symbol(name) for name in "bqchnrlv"}, "p": symbol("q") * symbol("c")}
    return {"": [rule_works(plain, sizes)], "absorbed": [rule_works(absorbed, sizes)]}


@meaning("model.kv_append")
def _() -> list[Meaning]:
    operation = one(tensors(x="b x q x h x d", y="b x q x h x d"), '%o, %p = model.kv_append "l" %x, %y context c')
    return [rule_works(operation, {n: symbol(n) for n in "bqhd"})]


@meaning("model.batch_matmul")
def _() -> Meanings:
    sizes = {"b": symbol("b") * symbol("i"), **{n: symbol(n) for n in "mnk"}}
    plain = one(tensors(x="b x m x i x k", y="b x k x i x n"), '%o = model.batch_matmul "l" %x, %y')
    turned = one(tensors(x="b x m x i x k", y="b x n x i x k"), '%o = model.batch_matmul "l" %x, %y transposed')
    fewer = one(tensors(x="b x m x i x k", y="b x n x i x k"), '%o = model.batch_matmul "l" %x, %y transposed pairs q')
    return {
        "": [rule_works(plain, sizes), rule_works(turned, sizes)],
        "with `transposed pairs p`": [rule_works(fewer, {**sizes, "p": symbol("q")})],
    }


@meaning("model.rope")
def _() -> list[Meaning]:
    """Of two operands that differ in heads; all of a head is turned, or `k` elements of it."""
    arguments = tensors(x="B x S x h x d", y="B x S x g x d")
    whole, part = (one(arguments, f'%o, %p = model.rope "l" %x, %y{dims}') for dims in ("", " dims k"))
    heads = B * S * (h + symbol("g"))
    return [rule_works(whole, {"n": heads * d, "m": heads * d}), rule_works(part, {"n": heads * d, "m": heads * symbol("k")})]


EXPERTS = {"m": B * S, "H": H, "E": symbol("E"), "k": symbol("k")}
ROUTED = "%x: !bp.tensor<B x S x H, e>, %z: !bp.tensor<B x S x k, f32>"


@meaning("model.router")
def _() -> Meanings:
    plain, sigmoid, biased = (
        one(tensors(x="B x S x H"), f'%r = model.router "l" %x{form}')
        for form in (" top k of E", " top k of E scores sigmoid", " bias top k of E scores softmax")
    )
    return {
        "": [rule_works(plain, EXPERTS)],
        "with sigmoid": [rule_works(sigmoid, EXPERTS)],
        "with a bias": [rule_works(biased, EXPERTS)],
    }


@meaning("model.router_scores")
def _() -> Meanings:
    plain, biased = (one(tensors(x="B x S x H"), f'%r = model.router_scores "l" %x{form} of E') for form in ("", " bias"))
    return {"": [rule_works(plain, EXPERTS)], "with a bias": [rule_works(biased, EXPERTS)]}


@meaning("model.router_choice")
def _() -> Meanings:
    plain, sigmoid = (
        one("%x: !bp.tensor<B x S x E, f32>", f'%r = model.router_choice "l" %x top k{form}') for form in ("", " scores sigmoid")
    )
    return {"": [rule_works(plain, EXPERTS)], "with sigmoid": [rule_works(sigmoid, EXPERTS)]}


@meaning("model.latent_scores")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x n", y="b x q x h x r", z="b x c x h x n", w="b x c x r")
    plain, fewer = (one(arguments, f'%o = model.latent_scores "l" %x, %y, %z, %w{pairs}') for pairs in ("", " pairs g"))
    sizes = {name: symbol(name) for name in "bqchnr"}
    return {"": [rule_works(plain, sizes)], "with `pairs p`": [rule_works(fewer, {**sizes, "p": symbol("g")})]}


@meaning("model.dispatch")
def _() -> list[Meaning]:
    return [rule_works(one(ROUTED, '%r = model.dispatch "l" %x, %z'), EXPERTS)]


@meaning("model.experts")
def _() -> Meanings:
    names = {"r": B * S * symbol("k"), "E": symbol("E"), "n": H, "p": symbol("n")}
    plain, biased = (one(tensors(x="B x S x k x H"), f'%r = model.experts "l" %x{flag} of E : [n]') for flag in ("", " bias"))
    return {"": [rule_works(plain, names)], "with a bias": [rule_works(biased, names)]}


@meaning("model.combine")
def _() -> list[Meaning]:
    arguments = "%x: !bp.tensor<B x S x k x H, e>, %z: !bp.tensor<B x S x k, f32>"
    return [rule_works(one(arguments, '%r = model.combine "l" %x, %z'), EXPERTS)]
