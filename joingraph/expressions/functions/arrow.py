"""Arrow's compute kernels as `pc`, and the truth values as scalars.

pyarrow makes them when it is imported, so that type checkers see none of them: here, in one place,
they are declared as what they are to a checker, anything.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

pc: Final[Any] = pyarrow.compute

# With a type: guessing one from a Python value costs more than most kernels on a small batch.
TRUE: Final = pa.scalar(True, pa.bool_())
FALSE: Final = pa.scalar(False, pa.bool_())
