"""Random Transformer-like blocks of 15 to 40 operations, and the strategies that they are derived under.

Several results and readers, diamonds, two inputs, unused results, hand-written and differential attention, post-norm, names that collide
with derived ones. The same seed gives the same text; every block is a valid model for training and for inference.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import attrs

SIZES = {"B": 2, "S": 4, "c": 4, "H": 16, "F": 24, "h": 4, "d": 4, "e": 4, "t": 2}
"""Small numbers for the symbols of a block, admissible for it at `t` = 1, 2 and 4."""

TRAINING = (
    "tensor=1 recompute=attention",
    "tensor=2 recompute=full",
    "tensor=t communication=all_reduce",
    "tensor=t communication=reduce_scatter_all_gather recompute=attention",
    "tensor=2 communication=reduce_scatter_all_gather all_gather_redo=true",
    "tensor=t communication=reduce_scatter_all_gather recompute=full",
)
"""Six strategies of training, as options of `distribute-training`."""

INFERENCE = tuple(f"phase={phase} tensor={tensor} context=c" for phase in ("prefill", "decode") for tensor in ("1", "2", "t"))
"""Six workloads and strategies of inference, as options of `distribute-inference`."""

NARROW, WIDE, HEADS = "[H]", "[F]", "[h x d]"
UNARY = ("gelu", "relu", "silu", "dropout")
NORMS = ("layer_norm", "rms_norm")
PARTS = (  # the last name of a layer: those of a derivation too, so that names collide
    *("norm", "expand", "contract", "query", "key", "core", "residual", "mix", "gate"),
    *("fork", "qkv_fork", "input_collective", "output_collective", "query_key", "softmax", "kv_append"),
)


def random_block(seed: int, fewest: int = 15, most: int = 40, unused: float = 0.04) -> str:
    """The text of a module with one random block.

    Args:
        fewest, most: of operations.
        unused: how many blocks, of one, have an operation that reaches no result; training refuses these.
    """
    return _Drawing(Random(seed), fewest, most, unused).text()


@attrs.define
class _Drawing:
    """A block while it is drawn: its lines, its values by shape, and those that nothing reads yet."""

    random: Random
    fewest: int
    most: int
    unused: float
    lines: list[str] = attrs.field(factory=list)
    values: dict[str, str] = attrs.field(factory=dict)
    unread: list[str] = attrs.field(factory=list)
    layers: set[str] = attrs.field(factory=set)
    dead: set[str] = attrs.field(factory=set)

    def text(self) -> str:
        inputs = ["%x", "%y"][: self.random.choice((1, 1, 2))]
        self.values = dict.fromkeys(inputs, NARROW)
        self.unread = list(inputs)
        wanted = self.random.randint(self.fewest + 2, self.most - 2)
        dead_at = self.random.randint(1, wanted) if self.random.random() < self.unused else None
        while self._length() < wanted:
            self.random.choice(self._patterns(wanted - self._length()))()
            if dead_at is not None and len(self.lines) >= dead_at:
                self.dead.add(self.unary(self.source(NARROW, WIDE)))
                dead_at = None
        results = self._close()
        typed = ", ".join(f"{name}: !bp.tensor<B x S x H, e>" for name in inputs)
        head = "module @drawn {\n  bp.symbols B, S, c, H, F, h, d, t, e where t | h, t | F, t | H, t | S, t | c\n"
        body = "\n".join(f"    {line}" for line in [*self.lines, f"model.return {', '.join(results)}"])
        return f"{head}  model.block @block({typed}) {{\n{body}\n  }}\n}}\n"

    def _length(self) -> int:
        """The number of operations, with those that bring all values together at the end."""
        wide = sum(self.values[name] != NARROW for name in self._ends())
        return len(self.lines) + wide + max(len(self._ends()) - 1, 0)

    def _patterns(self, room: int) -> list[Callable[[], object]]:
        """The patterns for which so many more operations leave room, with those that their values need at the end."""
        sizes: list[tuple[int, Callable[[], object]]] = [
            *((1, self.step), (1, self.step), (2, self.join), (3, self.diamond), (2, self.middle), (3, self.several)),
            *((3, self.mlp), (5, self.gated), (5, self.post_norm), (5, self.fused), (10, self.by_hand), (16, self.differential)),
            (3, self.odd_softmax),
        ]
        return [pattern for size, pattern in sizes if size <= max(room - 1, 1)]

    # --- one operation

    def layer(self) -> str:
        """A name that no other layer has: grouped, or without a dot."""
        group = self.random.choice(("attention", "mlp", f"g{self.random.randint(0, 3)}"))
        name = f"{group}.{self.random.choice(PARTS)}"
        if self.random.random() < 0.1:
            name = f"l{len(self.lines)}"
        while name in self.layers:
            name += str(len(self.lines))
        self.layers.add(name)
        return name

    def add(self, kind: str, operands: list[str], shapes: list[str], tail: str = "") -> list[str]:
        results = [f"%v{len(self.lines)}" + (f"_{index}" if len(shapes) > 1 else "") for index in range(len(shapes))]
        self.lines.append(f'{", ".join(results)} = model.{kind} "{self.layer()}" {", ".join(operands)}{tail}')
        self.unread = [name for name in self.unread if name not in operands]
        self.unread += results
        self.values.update(zip(results, shapes, strict=True))
        return results

    def source(self, *shapes: str) -> str:
        """A value of one of the shapes: an unread one, a late one, or any."""
        fitting = [name for name, shape in self.values.items() if shape in shapes and name not in self.dead]
        unread = [name for name in fitting if name in self.unread]
        pools = [fitting, fitting[-4:], unread or fitting]
        return self.random.choice(self.random.choice(pools))

    def unary(self, operand: str) -> str:
        return self.add(self.random.choice(UNARY), [operand], [self.values[operand]])[0]

    def norm(self, operand: str) -> str:
        return self.add(self.random.choice(NORMS), [operand], [NARROW])[0]

    def linear(self, operand: str, *shapes: str) -> list[str]:
        bias = self.random.choice(("", " bias"))
        return self.add("linear", [operand], list(shapes), f"{bias} : {', '.join(shapes)}")

    def binary(self, left: str, right: str) -> str:
        return self.add(self.random.choice(("add", "add", "mul")), [left, right], [self.values[left]])[0]

    # --- a few

    def step(self) -> None:
        operand = self.source(NARROW, WIDE)
        if self.values[operand] == NARROW and self.random.random() < 0.4:
            self.norm(operand)
        else:
            self.unary(operand)

    def join(self) -> None:
        """Two values of one shape, or one value twice."""
        left = self.source(NARROW, WIDE, HEADS)
        self.binary(left, self.source(self.values[left]))

    def diamond(self) -> None:
        top = self.source(NARROW, WIDE)
        self.binary(self.unary(top), self.unary(top))

    def middle(self) -> None:
        """A linear between whole values, or one down from what is sharded."""
        self.linear(self.source(NARROW, WIDE, HEADS), NARROW)

    def several(self) -> None:
        """A linear with several results."""
        if self.random.random() < 0.7:
            self.linear(self.source(NARROW), *self.random.choice(((WIDE, WIDE), (WIDE, NARROW), (HEADS, HEADS), (NARROW, NARROW))))
        else:
            self.linear(self.source(WIDE, NARROW), NARROW, NARROW)

    def mlp(self) -> str:
        return self.linear(self.unary(self.linear(self.source(NARROW), WIDE)[0]), NARROW)[0]

    def gated(self) -> str:
        operand = self.source(NARROW)
        if self.random.random() < 0.5:
            gate, up = self.linear(operand, WIDE, WIDE)
        else:
            gate, up = self.linear(operand, WIDE)[0], self.linear(operand, WIDE)[0]
        return self.linear(self.add("mul", [self.unary(gate), up], [WIDE])[0], NARROW)[0]

    def post_norm(self) -> None:
        operand = self.source(NARROW)
        inner = self.linear(self.unary(self.linear(operand, WIDE)[0]), NARROW)[0]
        self.norm(self.add("add", [inner, operand], [NARROW])[0])

    def odd_softmax(self) -> None:
        """A softmax that is no attention's."""
        found = self.add("softmax", [self.source(NARROW)], [NARROW])[0]
        if self.random.random() < 0.5:
            self.linear(self.linear(found, WIDE)[0], NARROW)

    # --- attention

    def heads(self, count: int) -> list[str]:
        """Projections of one value by one linear, of one by several, or of several."""
        how = self.random.random()
        if how < 0.4:
            return self.linear(self.source(NARROW), *[HEADS] * count)
        operand = self.source(NARROW)
        return [self.linear(operand if how < 0.7 else self.source(NARROW), HEADS)[0] for _ in range(count)]

    def fused(self) -> None:
        query, key, value = self.heads(3)
        dropout = self.random.choice(("", " dropout"))
        self.linear(self.add("attention", [query, key, value], [HEADS], f" context c{dropout}")[0], NARROW)

    def appended(self, key: str, value: str) -> list[str]:
        return self.add("kv_append", [key, value], ["cache", "cache"], " context c")

    def probabilities(self, query: str, key: str) -> str:
        """Scores, perhaps something element by element, softmax, perhaps dropout."""
        scores = self.add("batch_matmul", [query, key], ["scores"], " transposed")[0]
        if self.random.random() < 0.3:
            scores = self.unary(scores)
        found = self.add("softmax", [scores], ["scores"])[0]
        return self.add("dropout", [found], ["scores"])[0] if self.random.random() < 0.4 else found

    def by_hand(self) -> None:
        query, key, value = self.heads(3)
        key, value = self.appended(key, value)
        found = self.probabilities(query, key)
        self.linear(self.add("batch_matmul", [found, value], [HEADS])[0], NARROW)

    def differential(self) -> None:
        """Two maps of scores over one V: over one K, or each over its own."""
        if self.random.random() < 0.5:
            query, second, key, value = self.heads(4)
            key, value = self.appended(key, value)
            maps = [self.probabilities(query, key), self.probabilities(second, key)]
        else:
            query, key, value = self.heads(3)
            key, value = self.appended(key, value)
            maps = [self.probabilities(query, key), self.probabilities(query, key)]
        mixed = self.binary(*maps)
        self.linear(self.add("batch_matmul", [mixed, value], [HEADS])[0], NARROW)

    # --- the end

    def _close(self) -> list[str]:
        """The results: what nothing reads is led down to the width of the block, and added up to three values at most."""
        for name in list(self.unread):
            if self.values[name] != NARROW and name not in self.dead:
                self.linear(name, NARROW)
        count = self.random.choice((1, 1, 2, 3))
        while len(self._ends()) > count or (self._ends() == ["%x"]):
            left, right = (self._ends() * 2)[:2]
            self.add("add", [left, right], [NARROW])
        results = self._ends()
        if self.random.random() < 0.15:
            results.append(self.random.choice([name for name, shape in self.values.items() if shape == NARROW and name not in results]))
        return [name for name in results if name not in self.dead]

    def _ends(self) -> list[str]:
        return [name for name in self.unread if name not in self.dead]
