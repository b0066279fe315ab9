"""How lit runs the file tests: the tools of this environment, and either FileCheck.

`lit lit_tests` uses the `filecheck` package; `lit -Dfilecheck=FileCheck-19 lit_tests` uses LLVM's. The tools are called as
functions (`helpers/in_process.py`); with `-Dprocesses=1` every command is a process. Tests that need LLVM's `mlir-opt` say
`REQUIRES: mlir-opt`, those of traces `REQUIRES: protobuf`.
"""

import importlib.util
import os
import shutil
import sys

import lit.formats

here = os.path.dirname(os.path.abspath(__file__))
helpers = os.path.join(here, "helpers")
tools = os.path.dirname(sys.executable)
sys.path.insert(0, helpers)

from in_process import InProcess  # noqa: E402

parameters = lit_config.params  # noqa: F821  (lit defines the name)
config = config  # noqa: F821

config.name = "bpir"
config.suffixes = [".bpir", ".mlir", ".test"]
config.excludes = ["Output", "Inputs", "helpers"]
config.test_source_root = here
config.environment["PATH"] = os.pathsep.join([tools, config.environment.get("PATH", "")])
config.environment.pop("NO_COLOR", None)

if parameters.get("processes", "0") in ("0", ""):
    filecheck = parameters.get("filecheck", "filecheck")
    config.test_format = InProcess(filecheck)
    config.substitutions += [("%not", "refuses"), ("%repeat", "repeat")]
else:
    filecheck = parameters.get("filecheck", os.path.join(tools, "filecheck"))
    config.test_format = lit.formats.ShTest(execute_external=False)
    config.substitutions += [
        (r"\bFileCheck\b", filecheck),
        ("%not", f"{sys.executable} {os.path.join(helpers, 'refuses.py')}"),
        ("%repeat", f"{sys.executable} {os.path.join(helpers, 'repeat.py')}"),
    ]
config.test_exec_root = os.path.join(here, "Output", os.path.basename(filecheck))
config.substitutions.append(("%examples", os.path.join(os.path.dirname(here), "examples")))

mlir_opt = shutil.which("mlir-opt-19")
if mlir_opt:
    config.available_features.add("mlir-opt")
    config.substitutions.append(("%mlir-opt", mlir_opt))

if importlib.util.find_spec("google") and importlib.util.find_spec("google.protobuf"):
    config.available_features.add("protobuf")
