"""`%repeat COUNT TEXT COUNT TEXT...`: writes each text so many times; for inputs too large to stand in a file."""

import sys

for count, text in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    sys.stdout.write(int(count) * text)
