"""`%not COMMAND...`: succeeds if the command refuses its input in an orderly way.

LLVM's `not` is content with any failure; here the command must exit with 1 and neither show a traceback nor report an
internal error. `%not --status=2 COMMAND...` demands another status.
"""

import os
import subprocess
import sys


def demanded(arguments: list[str]) -> tuple[int, list[str]]:
    """The exit status that is demanded, and the command."""
    if arguments and arguments[0].startswith("--status="):
        return int(arguments[0].removeprefix("--status=")), arguments[1:]
    return 1, arguments


def complaint(status: int, errors: bytes, expected: int) -> str:
    """Why a command with this exit status and these errors did not refuse its input in an orderly way; else nothing."""
    if b"Traceback" in errors or b"internal error" in errors:
        return "%not: the command crashed\n"
    if status != expected:
        return f"%not: expected exit status {expected}, found {status}\n"
    return ""


def main(arguments: list[str]) -> int:
    expected, command = demanded(arguments)
    if os.path.sameopenfile(1, 2):  # `2>&1`: what is written to both stays in its order
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        errors = done.stdout
    else:
        done = subprocess.run(command, stderr=subprocess.PIPE)
        errors = done.stderr
    sys.stderr.buffer.write(errors)
    found = complaint(done.returncode, errors, expected)
    sys.stderr.buffer.write(found.encode())
    return int(found != "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
