"""Arrow's compute kernels as `pc`.

pyarrow makes them when it is imported, so that type checkers see none of them: here, in one place,
they are declared as what they are to a checker, anything.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow.compute

pc: Final[Any] = pyarrow.compute
