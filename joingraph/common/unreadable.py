"""What json, struct, base64 and pyarrow raise for bytes that are not what they should be.

Stored bytes are checked by their checksums first; a forger of those too meets these.
"""

from __future__ import annotations

import struct

import pyarrow as pa

UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RecursionError),
    *(TypeError, ValueError, struct.error, pa.ArrowException),
)
