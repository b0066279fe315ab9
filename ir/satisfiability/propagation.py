"""Constraints shrink the domains of their variables until none does: bounds, and remainders."""

from __future__ import annotations

from heapq import heappop, heappush
from math import comb, gcd

from bpir.ir.effort import Effort
from bpir.ir.satisfiability.constraints import Constraint, Extreme, Linear, Problem, Product
from bpir.ir.satisfiability.domains import BITS, Domains, Empty

_ROUNDS = 12  # times that a run looks at one constraint: bounds that grow without end stop there
_EXPANDED = 8  # exponents up to which a power is expanded: (r + m*k)**n is r**n modulo m, and often modulo more
Bounds = tuple[int | None, int | None]


class Propagator:
    """The domains of a problem's variables, and the constraints that shrink them; some may hold for a while only."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.problem = problem
        self.effort = effort
        self.domains = Domains(problem.lower, problem.upper)
        self.constraints: list[Constraint] = []
        self._watchers: list[list[int]] = [[] for _ in problem.lower]
        for constraint in problem.constraints:
            self.push(constraint)

    def push(self, constraint: Constraint) -> None:
        """Add a constraint."""
        for v in dict.fromkeys(constraint.variables):
            self._watchers[v].append(len(self.constraints))
        self.constraints.append(constraint)

    def pop(self) -> None:
        """Take away the constraint that was added last."""
        for v in dict.fromkeys(self.constraints.pop().variables):
            self._watchers[v].pop()

    def run(self, everything: bool = False) -> None:
        """Shrink domains by the constraints that watch what changed, or by all.

        Raises:
            Empty: no number is left for a variable.
            Exhausted: the effort is spent.
        """
        changed = self.domains.changed
        waiting = set(range(len(self.constraints)) if everything else (i for v in changed for i in self._watchers[v]))
        changed.clear()
        looked: dict[int, int] = {}
        # In rounds, forwards and backwards in turn: a chain is done in two, in whichever order it is declared.
        sign = 1
        queue, later = sorted(waiting), list[int]()
        while queue or later:
            if not queue:
                sign = -sign
                queue, later = sorted(sign * i for i in later), []
            index = sign * heappop(queue)
            waiting.discard(index)
            times = looked[index] = looked.get(index, 0) + 1
            if times > _ROUNDS:
                continue
            constraint = self.constraints[index]
            self._shrink(constraint)
            for i in [i for v in changed for i in self._watchers[v]]:
                if i not in waiting:
                    waiting.add(i)
                    if sign * i > sign * index:
                        heappush(queue, sign * i)
                    else:
                        later.append(i)
            changed.clear()

    def _shrink(self, constraint: Constraint) -> None:
        """Shrink the domains of a constraint's variables."""
        self.effort.spend(10 + 3 * len(constraint.variables))
        if isinstance(constraint, Linear):
            self._linear(constraint)
        elif isinstance(constraint, Product):
            if any(n > _EXPANDED for _, n in constraint.factors):
                self.effort.spend(100)  # numbers of many digits
            self._product(constraint)
        else:
            self._extreme(constraint)

    # Linear forms

    def _linear(self, c: Linear) -> None:
        self._bounded(c, 1)
        if c.equality:
            self._bounded(c, -1)
            self._congruent(c)

    def _bounded(self, c: Linear, sign: int) -> None:
        """The sum, times the sign, is at least zero: what is left for each variable if the others are as large as they can be."""
        domains = self.domains
        most, open_ = sign * c.constant, 0
        parts: list[int | None] = []
        for k, v in c.terms:
            k *= sign
            bound = domains.upper[v] if k > 0 else domains.lower[v]
            if bound is None:
                open_ += 1
                parts.append(None)
            else:
                parts.append(k * bound)
                most += k * bound
        if not open_ and most < 0:
            raise Empty
        if open_ > 1:
            return
        for (k, v), part in zip(c.terms, parts, strict=True):
            if open_ and part is not None:
                continue
            k *= sign
            rest = most if part is None else most - part
            if k > 0:
                domains.at_least(v, -(rest // k))
            else:
                domains.at_most(v, rest // -k)

    def _congruent(self, c: Linear) -> None:
        residues = [self.domains.residue(v) for _, v in c.terms]
        total = c.constant + sum(k * r for (k, _), (_, r) in zip(c.terms, residues, strict=True))
        moduli = [k * m for (k, _), (m, _) in zip(c.terms, residues, strict=True)]
        after = [0]
        for m in reversed(moduli):
            after.append(gcd(after[-1], m))
        after.pop()
        if (total % gcd(after[-1], moduli[0]) if gcd(after[-1], moduli[0]) else total) != 0:
            raise Empty
        before = 0
        for (k, v), (m, r), own in zip(c.terms, residues, moduli, strict=True):
            others = gcd(before, after.pop())
            before = gcd(before, own)
            if m == 0 or abs(others) == 1:
                continue
            # k*v = k*r - total modulo the others
            if others == 0:
                value, left = divmod(k * r - total, k)
                if left:
                    raise Empty
                self.domains.congruent(v, 0, value)
                continue
            common = gcd(k, others)
            target = k * r - total
            if target % common:
                raise Empty
            step = others // common
            if step > 1:
                self.domains.congruent(v, step, target // common * pow(k // common, -1, step) % step)

    # Products

    def _product(self, c: Product) -> None:
        domains = self.domains
        powers = [self._power(v, n) for v, n in c.factors]
        low, high = _times(powers)
        if low is not None:
            domains.at_least(c.result, low)
        if high is not None:
            domains.at_most(c.result, high)
        self._product_residue(c)
        after: list[Bounds] = [(1, 1)]
        for bounds in reversed(powers):
            after.append(_times([bounds, after[-1]]))
        before: Bounds = (1, 1)
        for (v, n), own in zip(c.factors, powers, strict=True):
            after.pop()
            others = _times([before, after[-1]])
            before = _times([before, own])
            self._factor(v, n, (domains.lower[c.result], domains.upper[c.result]), others)
        if len(c.factors) == 1 or not domains.fixed(c.result):
            self._quotient_residue(c)

    def _power(self, v: int, n: int) -> Bounds:
        low, high = self.domains.lower[v], self.domains.upper[v]
        if n == 1:
            return low, high
        low_power = None if low is None or low.bit_length() * n > BITS else low**n
        high_power = None if high is None or high.bit_length() * n > BITS else high**n
        if low is not None and low >= 0:
            return (0 if low_power is None else low_power), high_power
        if n % 2:
            return low_power, high_power
        return 0, None if low_power is None or high_power is None else max(low_power, high_power)

    def _factor(self, v: int, n: int, result: Bounds, others: Bounds) -> None:
        """Bounds of `v` where `v**n` times the others is the result."""
        least, most = others
        if least is None or least < 1:
            self._factor_beside_any(v, n, result[0], result[1], others)
        elif n % 2 or self.domains.at_least_zero(v):
            self._factor_beside_positive(v, n, result, least, most)

    def _factor_beside_any(self, v: int, n: int, low: int | None, high: int | None, others: Bounds) -> None:
        """Bounds of `v` where the others may be zero or negative: by their sign, if the result is positive."""
        least, most = others
        positive = low is not None and low > 0
        if least == most == 0 and (positive or (high is not None and high < 0)):
            raise Empty
        if not positive or least is None or most is None:
            return
        assert low is not None
        if least == 0 and most != 0 and self.domains.at_least_zero(v):
            self.domains.at_least(v, _root_up(-(-low // most), n))
        elif most <= -1 and n == 1:
            self.domains.at_most(v, -1)

    def _factor_beside_positive(self, v: int, n: int, result: Bounds, least: int, most: int | None) -> None:
        """Bounds of `v` where the others are positive, and `v` is not negative if `n` is even."""
        domains = self.domains
        low, high = result
        if low is not None:
            if low > 0:
                bound = 1 if most is None else -(-low // most)
                domains.at_least(v, _root_up(bound, n))
            elif n == 1:
                domains.at_least(v, -(-low // least))
        if high is not None:
            if high >= 0:
                domains.at_most(v, root_down(high // least, n))
            elif n == 1:
                domains.at_most(v, -1 if most is None else high // most)

    def _product_residue(self, c: Product) -> None:
        modulus, remainder = 0, 1
        for v, n in c.factors:
            m, r = self.domains.residue(v)
            if m == 1:
                m, r = 1, 0
            if max(m.bit_length(), r.bit_length()) * n + remainder.bit_length() > BITS:
                return
            # (r + m*k)**n = r**n modulo the other terms of its expansion
            power = r**n
            step = m
            if m and n <= _EXPANDED:
                step = 0
                for k in range(1, n + 1):
                    step = gcd(step, comb(n, k) * r ** (n - k) * m**k)
                    if step == 1:
                        break
            modulus, remainder = gcd(gcd(modulus * power, remainder * step), modulus * step), remainder * power
            if modulus:
                remainder %= modulus
        if modulus != 1:
            self.domains.congruent(c.result, modulus, remainder % modulus if modulus else remainder)

    def _quotient_residue(self, c: Product) -> None:
        """The only factor that is not fixed, by the remainder of the result."""
        open_ = [(v, n) for v, n in c.factors if not self.domains.fixed(v)]
        if len(open_) != 1 or open_[0][1] != 1:
            return
        scale = 1
        for v, n in c.factors:
            value = self.domains.lower[v]
            if v != open_[0][0] and value is not None:
                if value.bit_length() * n > BITS:
                    return
                scale *= value**n
        modulus, remainder = self.domains.residue(c.result)
        if not scale or not modulus:
            return
        common = gcd(scale, modulus)
        if remainder % common:
            raise Empty
        step = modulus // common
        if step > 1:
            self.domains.congruent(open_[0][0], step, remainder // common * pow(scale // common, -1, step) % step)

    # Largest and smallest

    def _extreme(self, c: Extreme) -> None:
        """The largest is at least each argument, and one of them; of the smallest the same holds with all signs turned."""
        domains = self.domains
        lows, highs, at_least, at_most, largest = domains.lower, domains.upper, domains.at_least, domains.at_most, max
        if not c.largest:
            lows, highs, at_least, at_most, largest = highs, lows, at_most, at_least, min
        ends = [highs[a] for a in c.arguments]
        low, high = lows[c.result], highs[c.result]
        known = [b for a in c.arguments if (b := lows[a]) is not None]
        if known:
            at_least(c.result, largest(known))
        if None not in ends:
            at_most(c.result, largest(b for b in ends if b is not None))
        if high is not None:
            for a in c.arguments:
                at_most(a, high)
        if low is not None:
            self._only([a for a, b in zip(c.arguments, ends, strict=True) if b is None or largest(b, low) == b], c.result)

    def _only(self, able: list[int], result: int) -> None:
        """The arguments that can be the result: one alone is."""
        if not able:
            raise Empty
        if len(able) > 1:
            return
        domains = self.domains
        for one, other in ((able[0], result), (result, able[0])):
            low, high = domains.lower[one], domains.upper[one]
            if low is not None:
                domains.at_least(other, low)
            if high is not None:
                domains.at_most(other, high)
            domains.congruent(other, *domains.residue(one))


def _times(factors: list[Bounds]) -> Bounds:
    """Bounds of the product of numbers with these bounds."""
    low: int | None = 1
    high: int | None = 1
    for a, b in factors:
        if low is not None and low >= 0 and a is not None and a >= 0:
            low *= a
            high = None if high is None or b is None else high * b
        else:
            low, high = _ends(low, high, a, b)
        if low is None:
            return None, None
        if low.bit_length() > BITS or (high is not None and high.bit_length() > BITS):
            return (0 if low >= 0 else None), None
    return low, high


def _ends(low: int | None, high: int | None, a: int | None, b: int | None) -> Bounds:
    """The least and the largest product of a number of each interval; none where one has no end."""
    if low is None or high is None or a is None or b is None:
        return None, None
    ends = (low * a, low * b, high * a, high * b)
    return min(ends), max(ends)


def root_down(value: int, n: int) -> int:
    """The largest integer whose power is not above the value, which is not negative."""
    if n == 1 or value < 2:
        return value
    root = 1 << -(-value.bit_length() // n)
    while True:  # Newton's method, from above
        lower = ((n - 1) * root + value // root ** (n - 1)) // n
        if lower >= root:
            return root
        root = lower


def _root_up(value: int, n: int) -> int:
    """The smallest positive integer whose power is not below the value."""
    if n == 1:
        return value
    root = root_down(max(value, 1), n)
    return root if root**n >= value else root + 1
