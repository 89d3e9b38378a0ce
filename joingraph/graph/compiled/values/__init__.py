"""Arrow columns <-> rows of 64-bit words; strings are words by the string pool."""
