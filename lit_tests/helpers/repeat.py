"""`%repeat COUNT TEXT COUNT TEXT...`: writes each text so many times; for inputs too large to be in a file."""

import sys


def main(arguments: list[str]) -> None:
    for count, text in zip(arguments[::2], arguments[1::2], strict=True):
        sys.stdout.write(int(count) * text)


if __name__ == "__main__":
    main(sys.argv[1:])
