"""`python -m benchmarks`, which `make bench ARGS="..."` runs."""

from __future__ import annotations

import sys

from benchmarks.harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
