"""`%not COMMAND...`: succeeds if the command refuses its input in an orderly way.

LLVM's `not` is content with any failure; here the command must exit with 1 and neither show a traceback nor report an
internal error. `%not --status=2 COMMAND...` demands another status.
"""

import subprocess
import sys


def main(arguments: list[str]) -> int:
    expected = 1
    if arguments and arguments[0].startswith("--status="):
        expected = int(arguments.pop(0).removeprefix("--status="))
    done = subprocess.run(arguments, stderr=subprocess.PIPE)
    sys.stderr.buffer.write(done.stderr)
    if b"Traceback" in done.stderr or b"internal error" in done.stderr:
        print("%not: the command crashed", file=sys.stderr)
        return 1
    if done.returncode != expected:
        print(f"%not: expected exit status {expected}, found {done.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
