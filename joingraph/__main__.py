"""`python -m joingraph` is the same as `joingraph`."""

from __future__ import annotations

from joingraph.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
