"""Writes files to measure on: generic operations of about 250 bytes with work attributes, and custom-form plans of repeated blocks.

python benchmarks/generate.py generic 10000 [--distinct]    ... named 10000    ... model 100
"""

from __future__ import annotations

import argparse
import sys

IMPLEMENTED = ("adam", "all_reduce", "elementwise", "fork", "fused_attention", "matrix_multiply", "normalization", "softmax")


def generic(count: int, distinct: bool) -> str:
    """`count` operations of an unregistered dialect in generic form; 100 work attributes in turn, or one new formula each."""
    lines = ['%0 = "ext.input"() : () -> !ext.tensor<B, S, H>']
    for index in range(1, count):
        formula = index if distinct else index % 100
        work = f"ops = {2 * formula + 2}*B*S*H*d*h/t + {formula + 3}*B*S*h/t, read = {formula + 1}*B*S*H*e + H*d*e*h/t, write = B*S*d*e*h/t"
        lines.append(
            f'%{index} = "ext.task"(%{index - 1}) {{axis = "tensor", index = {index % 64} : i64, layer = "block.{index % 24}.mlp", '
            f"phase = @forward, work = #bp.work<{work}>}} : (!ext.tensor<B, S, H>) -> !ext.tensor<B, S, H>"
        )
    return "\n".join(lines) + "\n"


def named(count: int) -> str:
    """`count` operations of which each has a name, a number and a list of symbols of its own, and reads parameters that many read."""
    lines = [
        '%w0 = "ext.parameter"() {name = "w0"} : () -> !ext.tensor<H, F>',
        '%w1 = "ext.parameter"() {name = "w1"} : () -> !ext.tensor<F, H>',
    ]
    lines += ['%b = "ext.parameter"() {name = "b"} : () -> !ext.tensor<H>', '%0 = "ext.input"() : () -> !ext.tensor<B, S, H>']
    for index in range(1, count - 3):
        formula = index % 100
        work = f"ops = {2 * formula + 2}*B*S*H*d*h/t, read = {formula + 1}*B*S*H*e, write = B*S*d*e*h/t"
        after = f"@block.{index - 1}.a, @block.{index - 1}.b, @block.{index // 2}.c"
        weight = "F, H" if index % 2 else "H, F"
        lines.append(
            f'%{index} = "ext.task"(%{index - 1}, %w{index % 2}, %b) {{name = "block.{index}.mlp.expand", after = [{after}], '
            f"index = {index} : i64, phase = @forward, work = #bp.work<{work}>}} : "
            f"(!ext.tensor<B, S, H>, !ext.tensor<{weight}>, !ext.tensor<H>) -> !ext.tensor<B, S, H>"
        )
    return "\n".join(lines) + "\n"


def model(layers: int) -> str:
    """A block of `layers` Transformer layers in custom form: 51 tasks of training each."""
    out = [
        "module @repeated {",
        "  bp.symbols B, S, H, F, h, d, t, e where t | h, t | F, t | H",
        "  bind.strategy @tp {tensor = t, communication = all_reduce, recompute = none}",
        "  bind.deployment @node {devices = t}",
        "  bind.target @machine queue {abi = 1, alignment = 64}",
        f"    implements {{{', '.join(f'{name} = {chr(34)}m.{name}{chr(34)}' for name in IMPLEMENTED)}}}",
        "  model.block @block(%x0: !bp.tensor<B x S x H, e>) {",
    ]
    for layer in range(layers):
        a, m = f"layer{layer}.attention", f"layer{layer}.mlp"
        i = layer
        out += [
            f'    %n{i} = model.layer_norm "{a}.layer_norm" %x{i}',
            f'    %q{i} = model.linear "{a}.query" %n{i} : [h x d]',
            f'    %k{i} = model.linear "{a}.key" %n{i} : [h x d]',
            f'    %v{i} = model.linear "{a}.value" %n{i} : [h x d]',
            f'    %o{i} = model.attention "{a}.core" %q{i}, %k{i}, %v{i} dropout',
            f'    %y{i} = model.linear "{a}.output_projection" %o{i} : [H]',
            f'    %r{i} = model.add "{a}.residual" %y{i}, %x{i}',
            f'    %m{i} = model.layer_norm "{m}.layer_norm" %r{i}',
            f'    %u{i} = model.linear "{m}.expand" %m{i} : [F]',
            f'    %g{i} = model.gelu "{m}.gelu" %u{i}',
            f'    %w{i} = model.linear "{m}.contract" %g{i} : [H]',
            f'    %x{i + 1} = model.add "{m}.residual" %w{i}, %r{i}',
        ]
    out += [f"    model.return %x{layers}", "  }", "}"]
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("generic", "named", "model"))
    parser.add_argument("count", type=int)
    parser.add_argument("--distinct", action="store_true")
    args = parser.parse_args()
    made = {"named": named, "model": model}.get(args.kind)
    sys.stdout.write(made(args.count) if made is not None else generic(args.count, args.distinct))


if __name__ == "__main__":
    main()
