"""The rule books of the verifiers, in the order in which lists show them."""

from __future__ import annotations

from bpir.ir.rulebook import RuleBook

DIALECT, LEVEL, KIND = "DIALECT", "LEVEL", "KIND"
"""In a prefix: every dialect, every one that is of a level, and every kind of target."""

BP = RuleBook("bp")
PLACES = RuleBook(DIALECT)
FORBIDDEN = RuleBook(LEVEL)
MODEL = RuleBook("model")
NETWORK = RuleBook("network")
DIST = RuleBook("dist")
PLAN = RuleBook("plan")
CONCRETE = RuleBook("concrete")
INFERENCE = RuleBook("distribute-inference")
TRAINING = RuleBook("distribute-training")
STAGES = RuleBook("stages")
PLANNING = RuleBook("plan-inference", "plan-training")
BINDING = RuleBook(f"bind-{KIND}")

BOOKS = (BP, PLACES, FORBIDDEN, MODEL, NETWORK, DIST, PLAN, CONCRETE, INFERENCE, TRAINING, STAGES, PLANNING, BINDING)
"""Every book; the rules of a kind of target are those of its extension (`TargetExtension.rules`)."""
