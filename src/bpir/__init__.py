"""bpir: readable, exact and proved symbolic work for Transformer training and inference.

    module = bpir.load("examples/gpt3_175b.bpir")
    plan = module.run("distribute-inference{tensor=8},plan-inference")
    print(plan.report(B=1, c=2048))

What is here is imported when it is first used, so `import bpir` costs next to nothing.
"""

__version__ = "0.1.0"
__all__ = ["DiagnosticError", "DiagnosticWarning", "Module", "Report", "Verdict", "load", "parse"]

TYPE_CHECKING = False  # to import `typing` for it would be most of the cost
if TYPE_CHECKING:
    from bpir.api.module import DiagnosticWarning, Module, load, parse
    from bpir.api.report import Report
    from bpir.api.verdict import Verdict
    from bpir.ir.diagnostic import DiagnosticError

_WHERE = {
    "DiagnosticError": "ir.diagnostic",
    "DiagnosticWarning": "api.module",
    "Module": "api.module",
    "Report": "api.report",
    "Verdict": "api.verdict",
    "load": "api.module",
    "parse": "api.module",
}

if not TYPE_CHECKING:  # or a checker takes every name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module 'bpir' has no attribute '{name}'")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"bpir.{_WHERE[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
