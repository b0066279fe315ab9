"""How lit runs the file tests: the tools of this environment, and either FileCheck.

`lit lit_tests` uses the `filecheck` package; `lit -Dfilecheck=FileCheck-19 lit_tests` uses LLVM's. Tests that need
LLVM's `mlir-opt` say `REQUIRES: mlir-opt`.
"""

import os
import shutil
import sys

import lit.formats

here = os.path.dirname(os.path.abspath(__file__))
tools = os.path.dirname(sys.executable)
filecheck = lit_config.params.get("filecheck", os.path.join(tools, "filecheck"))  # noqa: F821  (lit defines the name)
config = config  # noqa: F821

config.name = "bpir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".bpir", ".mlir", ".test"]
config.excludes = ["Output", "Inputs", "helpers"]
config.test_source_root = here
config.test_exec_root = os.path.join(here, "Output", os.path.basename(filecheck))

config.environment["PATH"] = os.pathsep.join([tools, config.environment.get("PATH", "")])
config.environment.pop("NO_COLOR", None)
config.substitutions.append((r"\bFileCheck\b", filecheck))
config.substitutions.append(("%not", f"{sys.executable} {os.path.join(here, 'helpers', 'refuses.py')}"))
config.substitutions.append(("%repeat", f"{sys.executable} {os.path.join(here, 'helpers', 'repeat.py')}"))
config.substitutions.append(("%examples", os.path.join(os.path.dirname(here), "examples")))

mlir_opt = shutil.which("mlir-opt-19")
if mlir_opt:
    config.available_features.add("mlir-opt")
    config.substitutions.append(("%mlir-opt", mlir_opt))
