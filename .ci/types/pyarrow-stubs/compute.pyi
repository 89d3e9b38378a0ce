"""pyarrow makes its compute functions when it is imported, so type checkers cannot see them."""

from typing import Any

def __getattr__(name: str) -> Any: ...
